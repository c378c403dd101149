package helpers

import (
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// Session probes are called at a function's entry and at its return; they can find out which, and
// have eight bytes of storage between the two calls (kernel/trace/bpf_trace.c).
var sessionKfuncs = []kfuncRow{
	{Name: "bpf_session_is_return", Do: sessionIsReturn},
	{Name: "bpf_session_cookie", Wide: true, Do: sessionCookie},
}

func sessionIsReturn(c *Call) (uint64, *vm.Action) {
	return boolRet(c.Run.SessionReturn), nil
}

func sessionCookie(c *Call) (uint64, *vm.Action) {
	if c.Run.sessionCookie == 0 {
		r, err := c.Mem.Alloc(8, mem.Region{Kind: mem.Scratch, Name: "session cookie"})
		if err != nil {
			return 0, notSimulated("memory for a session cookie")
		}
		if ctx := c.Run.Context; ctx != nil {
			ctx.Keep(r)
		}
		c.Run.sessionCookie = r.Base
	}
	return c.Run.sessionCookie, nil
}
