package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var sockAddrKfuncs = []kfuncRow{
	{Name: "bpf_sock_addr_set_sun_path", Args: []proto.Arg{argCtx, argMem, argSize}, Do: setSunPath, Note: "recorded as an event"},
}

// setSunPath sets the path in a unix socket's address (bpf_sock_addr_set_sun_path).
func setSunPath(c *Call) (uint64, *vm.Action) {
	ctx := c.contextAt(c.Args[0])
	if ctx == nil || ctx.Type != "bpf_sock_addr" {
		return 0, badArg("%#x is not the context of a sock_addr program", c.Args[0])
	}
	path := c.In(1)
	const longest = 108 // UNIX_PATH_MAX
	if s := ctx.Socket(); s == nil || s.Family() != afUnix || len(path) == 0 || len(path) > longest {
		return errnoRet(uapi.EINVAL), nil
	}
	return 0, c.Run.emit(Event{Kind: SunPath, Detail: cString(path), Data: append([]byte(nil), path...)})
}
