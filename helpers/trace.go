package helpers

import (
	"strings"

	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var traceHelpers = []Helper{
	{ID: uapi.FuncTracePrintk, Topic: "trace", Args: []Arg{ArgMem, ArgSize, ArgAny, ArgAny, ArgAny}, Fn: tracePrintk},
	{ID: uapi.FuncTraceVprintk, Topic: "trace", Args: []Arg{ArgMem, ArgSize, ArgMem, ArgSize}, Fn: traceVprintk},
}

// maxTraceLine is MAX_TRACE_PRINTK_BUF, the space of one trace line with its NUL.
const maxTraceLine = 1024

func tracePrintk(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	return envOf(t).tracef(a[0], a[1]&0xffffffff, a[2:5])
}

func traceVprintk(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	data, f := e.read(a[2], a[3]&0xffffffff)
	if f != nil {
		return 0, f
	}
	args, errno := formatArgs(e.order(), data)
	if errno != 0 {
		return errnoRet(errno), nil
	}
	return e.tracef(a[0], a[1]&0xffffffff, args)
}

// tracef formats one line for the trace pipe and returns its length. The format must end
// with a NUL inside the size given.
func (e *Env) tracef(addr, size uint64, args []uint64) (uint64, *vm.Action) {
	raw, f := e.read(addr, size)
	if f != nil {
		return 0, f
	}
	format := cString(raw)
	if len(format) == len(raw) {
		return errnoRet(uapi.EINVAL), nil
	}
	text, errno := formatBPF(e, format, append([]uint64(nil), args...))
	if errno != 0 {
		return errnoRet(errno), nil
	}
	n := len(text)
	if len(text) >= maxTraceLine {
		text = text[:maxTraceLine-1]
	}
	// The trace pipe ends every line itself.
	e.Run.Trace = append(e.Run.Trace, strings.TrimSuffix(text, "\n"))
	return uint64(n), e.Run.keeps(len(text))
}
