package helpers

import (
	"strings"

	"github.com/bpfrun/bpfrun/helpers/printf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var traceHelpers = []row{
	{ID: uapi.FuncTracePrintk, Do: tracePrintk},
	{ID: uapi.FuncTraceVprintk, Do: traceVprintk},
}

// maxTraceLine is MAX_TRACE_PRINTK_BUF, the size in bytes of a trace line with its NUL.
const maxTraceLine = 1024

func tracePrintk(c *Call) (uint64, *vm.Action) {
	return c.tracef(c.Args[0], c.Args[1]&0xffffffff, c.Args[2:5])
}

func traceVprintk(c *Call) (uint64, *vm.Action) {
	data := c.In(2)
	args, errno := printf.Args(c.guest.Order(), data)
	if errno != 0 {
		return errnoRet(errno), nil
	}
	return c.tracef(c.Args[0], c.Args[1]&0xffffffff, args)
}

// tracef formats one line for the trace pipe and returns its length. The format must end with a NUL
// within the given size.
func (c *Call) tracef(addr, size uint64, args []uint64) (uint64, *vm.Action) {
	raw, f := c.guest.Read(addr, size)
	if f != nil {
		return 0, f
	}
	format := cString(raw)
	if len(format) == len(raw) {
		return errnoRet(uapi.EINVAL), nil
	}
	text, errno := c.print.Print(format, args)
	if errno != 0 {
		return errnoRet(errno), nil
	}
	n := len(text)
	if len(text) >= maxTraceLine {
		text = text[:maxTraceLine-1]
	}
	// The trace pipe terminates every line itself.
	c.Run.Trace = append(c.Run.Trace, strings.TrimSuffix(text, "\n"))
	return uint64(n), c.Run.keeps(len(text))
}
