//go:build linux && (amd64 || arm64)

package exec

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() { tools["time"] = timeTool }

// timeTool prints by how many seconds what a program reads differs from what it reads itself: of
// the monotonic clock and of the time since boot.
func timeTool() error {
	ring, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: 4096})
	if err != nil {
		return err
	}
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "times", Type: ebpf.RawTracepoint, License: "GPL", Instructions: asm.Instructions{
		asm.FnKtimeGetNs.Call(), asm.StoreMem(asm.RFP, -16, asm.R0, asm.DWord),
		asm.FnKtimeGetBootNs.Call(), asm.StoreMem(asm.RFP, -8, asm.R0, asm.DWord),
		asm.LoadMapPtr(asm.R1, ring.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, -16),
		asm.Mov.Imm(asm.R3, 16), asm.Mov.Imm(asm.R4, 0),
		asm.FnRingbufOutput.Call(), asm.Mov.Imm(asm.R0, 0), asm.Return(),
	}})
	if err != nil {
		return err
	}
	l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: "sched_switch", Program: prog})
	if err != nil {
		return err
	}
	defer l.Close()
	r, err := ringbuf.NewReader(ring)
	if err != nil {
		return err
	}
	for range 2 {
		rec, err := r.Read()
		if err != nil {
			return err
		}
		own := hostTimes()
		for i, mine := range []uint64{own.Mono, own.Boot} {
			theirs := binary.NativeEndian.Uint64(rec.RawSample[8*i:])
			fmt.Print(time.Duration(int64(theirs)-int64(mine)).Round(10*time.Second).Seconds(), " ")
		}
	}
	fmt.Println()
	return nil
}

// TestProgramsSeeTheToolsTime: with the host's clock what programs and the tool read is the same
// time, and time that events let pass comes on top.
func TestProgramsSeeTheToolsTime(t *testing.T) {
	const events = "sched_switch\npass 100s\nsched_switch\n"
	r := start(t, "time", events, func(c *Config) { c.RealClock = true })
	require.Zero(t, r.code, "%s%s", r.out, r.notes)
	assert.Equal(t, "0 0 100 100", strings.TrimSpace(r.out))

	r = start(t, "time", events)
	require.Zero(t, r.code, "%s%s", r.out, r.notes)
	assert.NotEqual(t, "0 0 100 100", strings.TrimSpace(r.out), "simulated time is that of a machine booted an hour ago")
}
