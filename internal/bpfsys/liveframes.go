package bpfsys

import (
	"fmt"
	"time"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
)

// Limits of test runs of live frames (net/bpf/test_run.c): frames of one batch, and what describes
// a frame takes from its page.
const (
	liveBatch    = 256
	livePageHead = 112
)

// Verdicts of XDP programs.
const (
	xdpPass, xdpTx, xdpRedirect = 2, 3, 4
)

// checkLive checks what is special about the attributes of BPF_F_TEST_XDP_LIVE_FRAMES
// (bpf_prog_test_run_xdp).
func checkLive(a bpfattr.Test, most uint32) uapi.Errno {
	switch {
	case a.BatchSize() > liveBatch:
		return uapi.E2BIG
	case a.CtxIn() != 0 && (a.DataOut() != 0 || a.CtxOut() != 0), a.DataSizeIn() > most-livePageHead:
		return uapi.EINVAL
	}
	return 0
}

// testLiveFrames runs a program on frames that the device then has really received: each is a copy
// of the input. Those that pass go to the tc programs of the device; frames that are sent or
// redirected leave the simulated kernel (bpf_test_run_xdp_live). The verdicts are not reported.
func (s *System) testLiveFrames(c Caller, a bpfattr.Test, p *Prog, in machine.Input) Result {
	const loopback = 1
	repeat := min(max(a.Repeat(), 1), maxRepeat)
	device := Device{c.Netns(), loopback}
	if len(in.Context) >= 16 && le.Uint32(in.Context[12:]) != 0 { // ingress_ifindex
		device.Index = le.Uint32(in.Context[12:])
	}
	frame := in.Packet
	start := time.Now()
	for i := range repeat {
		in.Packet = append([]byte(nil), frame...)
		res, err := s.run(c, p, in)
		if err != nil {
			return s.testFailed(p, err)
		}
		switch uint32(res.Ret) {
		case xdpPass:
			_, _ = s.fireOn(Event{Hook: uapi.AttachTcxIngress.String(), Packet: res.DataOut, CPU: in.CPU}, func(h *attachment, _ string) bool {
				return h.place == device.on(uapi.AttachTcxIngress)
			})
		case xdpTx, xdpRedirect:
			s.note("frames that a test run of live frames sends or redirects leave the simulated kernel: programs of devmaps and cpumaps do not see them")
		}
		if i%64 == 63 && c.Interrupted() {
			return fail(uapi.EINTR)
		}
		if time.Since(start) > maxRun {
			return Result{Errno: uapi.EINTR, Note: "the repetitions of a test run took too long and were stopped"}
		}
	}
	duration := uint32(min(time.Since(start)/time.Duration(repeat), 1<<31))
	if !a.PutRetval(0) || !a.PutDuration(duration) {
		return fail(uapi.EFAULT)
	}
	r := Result{}
	if a.Repeat() > maxRepeat {
		r.Note = fmt.Sprintf("a test run of %d repetitions was cut to %d", a.Repeat(), maxRepeat)
	}
	r.Errno = give(c, frame, a.DataOut(), a.DataSizeOut(), a.PutDataSizeOut)
	return r
}
