package helpers

import (
	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// Session probes are called at the entry of a function and at its return; they can tell which it is and keep eight bytes between the two
// (kernel/trace/bpf_trace.c).
var sessionKfuncs = []Kfunc{
	{Name: "bpf_session_is_return", Topic: "tracing", Fn: sessionIsReturn},
	{Name: "bpf_session_cookie", Wide: true, Topic: "tracing", Fn: sessionCookie},
}

func sessionIsReturn(t *vm.Thread, _ *[5]uint64) (uint64, *vm.Action) {
	return boolRet(envOf(t).Run.SessionReturn), nil
}

func sessionCookie(t *vm.Thread, _ *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	if e.Run.sessionCookie == 0 {
		r, err := e.Mem.Alloc(8, mem.Region{Kind: mem.Scratch, Name: "session cookie"})
		if err != nil {
			return 0, notSimulated("memory for a session cookie")
		}
		if c := e.Run.Context; c != nil {
			c.Keep(r)
		}
		e.Run.sessionCookie = r.Base
	}
	return e.Run.sessionCookie, nil
}
