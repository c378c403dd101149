package gotest

import (
	"errors"
	"testing"

	"github.com/bpfrun/bpfrun/bpftest"
)

// kernels are the kernels that this tool supports. A project's own tests name releases ("5.10",
// "6.12-arm64") that bpfrun kernels list knows; here they are files, so that the example runs
// everywhere.
var kernels = []string{
	"../../testdata/btf/linux-5.10.262-amd64-cloud.btf.xz",
	"../../testdata/btf/linux-7.2.13-amd64.btf.xz",
	"embedded",
}

// execEvent is struct event of ../exec/exec.bpf.c.
type execEvent struct {
	Pid, Ppid, Uid, OldPid uint32
	When                   uint64
	Comm                   [16]byte
	Filename               [64]byte
}

// TestExec: the tool reports who started what, on every kernel.
func TestExec(t *testing.T) {
	bpftest.Matrix(t, kernels, func(t *testing.T, k *bpftest.Target) {
		t.Parallel()
		obj := k.Load("../exec/exec.bpf.o")
		shell := obj.Task(bpftest.Fields{"pid": 800, "tgid": 800, "comm": "bash"})
		curl := obj.Task(bpftest.Fields{
			"pid": 4242, "tgid": 4242, "comm": "curl", "real_parent": shell, "cred": bpftest.Fields{"uid.val": 1000},
		})
		res := obj.Program("on_exec").Run(bpftest.Input{Current: curl, Args: bpftest.Fields{"filename": "/usr/bin/curl"}})

		events := bpftest.Records[execEvent](res, "events")
		if len(events) != 1 {
			t.Fatalf("%d events", len(events))
		}
		e := events[0]
		if e.Pid != 4242 || e.Ppid != 800 || e.Uid != 1000 || bpftest.CString(e.Filename[:]) != "/usr/bin/curl" {
			t.Errorf("event %+v", e)
		}
		if n := bpftest.Value[uint64](obj.Map("execs_by_uid"), uint32(1000)); n != 1 {
			t.Errorf("%d executions counted", n)
		}
	})
}

// TestExecWithoutRoom: a full ring buffer loses the record, not the count.
func TestExecWithoutRoom(t *testing.T) {
	obj := bpftest.New(t).Load("../exec/exec.bpf.o")
	res := obj.Program("on_exec").Run(bpftest.Input{
		Helpers: map[string]bpftest.Answer{"bpf_ringbuf_reserve": bpftest.Returns(0)},
	})
	if len(res.Records) != 0 || len(bpftest.Elements[uint32, uint64](obj.Map("execs_by_uid"))) != 1 {
		t.Errorf("records %v", res.Records)
	}
}

// TestHookIsThere: kernels without the hook are skipped, with the reason.
func TestHookIsThere(t *testing.T) {
	bpftest.Matrix(t, kernels, func(t *testing.T, k *bpftest.Target) {
		prog := k.Load("../tp_btf/tp_btf.bpf.o").Program("on_wakeup")
		if err := prog.Err(); errors.Is(err, bpftest.ErrAbsent) {
			t.Skip(err)
		}
		prog.Run()
	})
}
