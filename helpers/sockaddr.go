package helpers

import (
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var sockAddrKfuncs = []Kfunc{
	{Name: "bpf_sock_addr_set_sun_path", Topic: "sockets", Args: []Arg{ArgCtx, ArgMem, ArgSize}, Fn: setSunPath, Note: "recorded as an event"},
}

// setSunPath changes the path of a unix socket's address (bpf_sock_addr_set_sun_path).
func setSunPath(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	c := e.contextAt(a[0])
	if c == nil || c.Type != "bpf_sock_addr" {
		return 0, badArg("%#x is not the context of a sock_addr program", a[0])
	}
	path, f := e.read(a[1], a[2]&0xffffffff)
	if f != nil {
		return 0, f
	}
	const longest = 108 // UNIX_PATH_MAX
	if s := c.Socket(); s == nil || s.Family() != afUnix || len(path) == 0 || len(path) > longest {
		return errnoRet(uapi.EINVAL), nil
	}
	return 0, e.Run.emit(Event{Kind: "sun-path", Detail: cString(path), Data: append([]byte(nil), path...)})
}
