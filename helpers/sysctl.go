package helpers

import (
	"strings"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var sysctlHelpers = []row{
	{ID: uapi.FuncSysctlGetName, Do: onSysctl(sysctlGetName)},
	{ID: uapi.FuncSysctlGetCurrentValue, Do: onSysctl(sysctlGetCurrent)},
	{ID: uapi.FuncSysctlGetNewValue, Do: onSysctl(sysctlGetNew)},
	{ID: uapi.FuncSysctlSetNewValue, Do: onSysctl(sysctlSetNew), Note: "recorded as an event"},
}

func (at *finder) sysctlAt(addr uint64) (*hook.Sysctl, *vm.Action) {
	if c := at.contextAt(addr); c != nil {
		if s := c.Sysctl(); s != nil {
			return s, nil
		}
	}
	return nil, badArg("%#x is not the context of a sysctl program", addr)
}

// sysctlGetName copies the path below /proc/sys, or its last component. A name that does not fit is
// truncated and gives -E2BIG; the kernel copies a path directory by directory and stops at the
// first that does not fit.
func sysctlGetName(c *Call, s *hook.Sysctl) (uint64, *vm.Action) {
	out := c.Out(1)
	if len(out) == 0 {
		return errnoRet(uapi.E2BIG), nil
	}
	parts := strings.SplitAfter(s.Name, "/")
	if c.Args[3]&uapi.SysctlBaseName != 0 {
		parts = parts[len(parts)-1:]
	}
	n := 0
	for _, p := range parts {
		// strscpy of the name, then of the slash.
		for _, piece := range [...]string{strings.TrimSuffix(p, "/"), p[len(strings.TrimSuffix(p, "/")):]} {
			room := len(out) - n
			if room <= len(piece) {
				copy(out[n:], piece[:max(room-1, 0)])
				if room > 0 {
					out[len(out)-1] = 0
					n = len(out)
				}
				return errnoRet(uapi.E2BIG), c.guest.Write(c.Args[1], out[:n])
			}
			copy(out[n:], piece)
			n += len(piece)
		}
	}
	out[n] = 0
	return uint64(n), c.guest.Write(c.Args[1], out[:n+1])
}

// copySysctl is copy_sysctl_value.
func (c *Call) copySysctl(value []byte) (uint64, *vm.Action) {
	addr, out := c.Args[1], c.Out(1)
	n := uint64(len(out))
	clear(out)
	switch {
	case n == 0:
		return errnoRet(uapi.E2BIG), nil
	case len(value) == 0:
		return errnoRet(uapi.EINVAL), c.guest.Write(addr, out)
	}
	copy(out, value)
	if n > uint64(len(value)) {
		return uint64(len(value)), c.guest.Write(addr, out)
	}
	out[n-1] = 0
	return errnoRet(uapi.E2BIG), c.guest.Write(addr, out)
}

func sysctlGetCurrent(c *Call, s *hook.Sysctl) (uint64, *vm.Action) {
	return c.copySysctl(s.Value)
}

func sysctlGetNew(c *Call, s *hook.Sysctl) (uint64, *vm.Action) {
	if !s.Write {
		return c.zeroed(1, uapi.EINVAL)
	}
	return c.copySysctl(s.New)
}

func sysctlSetNew(c *Call, s *hook.Sysctl) (uint64, *vm.Action) {
	value := c.In(1)
	const most = 4095 // a page and the final zero
	switch {
	case !s.Write || len(s.New) == 0 || len(value) == 0:
		return errnoRet(uapi.EINVAL), nil
	case len(value) > most:
		return errnoRet(uapi.E2BIG), nil
	}
	s.New, s.Replaced = append([]byte(nil), value...), true
	return 0, c.Run.emit(Event{Kind: SysctlValue, Detail: s.Name, Data: append([]byte(nil), value...)})
}
