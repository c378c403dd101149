package helpers

import (
	"fmt"

	"github.com/bpfrun/bpfrun/helpers/printf"
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
	"github.com/bpfrun/bpfrun/vm"
)

// schedExitRows are the kfuncs with which schedulers end, or describe themselves.
func schedExitRows() []kfuncRow {
	return []kfuncRow{
		ofSched("scx_bpf_error_bstr", false, func(c *Call, s *Schedule) (uint64, *vm.Action) {
			text, f := c.formatted(s, 0)
			if text != nil {
				s.Fail(*text)
			}
			return 0, f
		}, argPtr, argMem, argSize),
		ofSched("scx_bpf_exit_bstr", false, func(c *Call, s *Schedule) (uint64, *vm.Action) {
			text, f := c.formatted(s, 1)
			if text != nil {
				s.Unregister(int64(c.Args[0]), *text)
			}
			return 0, f
		}, argAny, argPtr, argMem, argSize),
		ofSched("scx_bpf_dump_bstr", false, func(c *Call, s *Schedule) (uint64, *vm.Action) {
			text, f := c.formatted(s, 0)
			if text != nil {
				s.Dump(*text)
			}
			return 0, f
		}, argPtr, argMem, argSize),
		ofSched("scx_bpf_events", false, schedEvents, argOut, argSize),
	}
}

// schedEvents copies the kernel's struct scx_event_stats, or as much of it as there is room for; it
// leaves what room is beyond it.
func schedEvents(c *Call, s *Schedule) (uint64, *vm.Action) {
	l := c.Kernel.LayoutNamed("scx_event_stats")
	if l == nil {
		return 0, notSimulated("the kernel's types have no scx_event_stats")
	}
	b := make([]byte, l.Size)
	for i := range l.Type.Members {
		name := l.Type.Members[i].Name
		if f, _, err := l.Place(name); err == nil && f.Size == 8 && f.Off+8 <= l.Size {
			c.guest.Order().PutUint64(b[f.Off:], s.Count(sched.Counter(name)))
		}
	}
	return 0, c.guest.Write(c.Args[0], b[:min(c.Args[1], l.Size)])
}

// formatted returns the text of a format with its data in the next two arguments; nil if the
// scheduler ends because they are wrong (bstr_format).
func (c *Call) formatted(s *Schedule, arg int) (*string, *vm.Action) {
	format, f := c.constString(c.Args[arg])
	if f != nil {
		return nil, f
	}
	args, errno := printf.Args(c.guest.Order(), c.In(arg+1))
	var text string
	if errno == 0 {
		text, errno = c.print.Print(format, args)
	}
	if errno != 0 {
		s.Denied(fmt.Sprintf("format preparation failed (%d)", errno.Neg()))
		return nil, nil
	}
	return &text, nil
}
