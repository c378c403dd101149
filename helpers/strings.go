package helpers

import (
	"bytes"

	"github.com/bpfrun/bpfrun/helpers/printf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var stringHelpers = []row{
	{ID: uapi.FuncStrtol, Do: strtol},
	{ID: uapi.FuncStrtoul, Do: strtoul},
	{ID: uapi.FuncStrncmp, Do: strncmp},
	{ID: uapi.FuncSnprintf, Do: snprintf},
}

// parseUnsigned parses a number by the rules of __bpf_strtoull (kernel/bpf/helpers.c): leading
// white space, an optional minus, a prefix that depends on the base, digits. It returns the number
// of bytes consumed or a negative errno.
func parseUnsigned(s []byte, flags uint64) (v uint64, negative bool, consumed int64) {
	base := flags & 31
	if base != 0 && base != 8 && base != 10 && base != 16 || flags&^31 != 0 {
		return 0, false, uapi.EINVAL.Neg()
	}
	if len(s) == 0 {
		return 0, false, uapi.EINVAL.Neg()
	}
	i := 0
	for i < len(s) && printf.IsSpace(s[i]) {
		i++
	}
	if i < len(s) && s[i] == '-' {
		negative = true
		i++
	}
	if i >= len(s) {
		return 0, false, uapi.EINVAL.Neg()
	}
	// The kernel copies at most 63 characters before parsing.
	rest := s[i:min(len(s), i+63)]
	skip := 0
	hex := len(rest) > 2 && rest[0] == '0' && rest[1]|0x20 == 'x' && hexDigit(rest[2]) < 16
	switch {
	case base == 0 && hex, base == 16 && len(rest) > 1 && rest[0] == '0' && rest[1]|0x20 == 'x':
		base, skip = 16, 2
	case base == 0 && rest[0] == '0':
		base = 8
	case base == 0:
		base = 10
	}
	digits := 0
	overflow := false
	for _, c := range rest[skip:] {
		d := hexDigit(c)
		if d >= base {
			break
		}
		if v > (^uint64(0)-d)/base {
			overflow = true
		}
		v = v*base + d
		digits++
	}
	switch {
	case digits == 0:
		return 0, false, uapi.EINVAL.Neg()
	case overflow:
		return 0, false, uapi.ERANGE.Neg()
	}
	return v, negative, int64(i + skip + digits)
}

func hexDigit(c byte) uint64 {
	switch {
	case c >= '0' && c <= '9':
		return uint64(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return uint64(c|0x20-'a') + 10
	}
	return 99
}

func strtol(c *Call) (uint64, *vm.Action) {
	s := c.In(0)
	v, negative, n := parseUnsigned(s, c.Args[2])
	switch {
	case n < 0:
		v = 0
	case negative && v > 1<<63, !negative && v > 1<<63-1:
		v, n = 0, uapi.ERANGE.Neg()
	case negative:
		v = -v
	}
	return uint64(n), c.guest.WriteU64(c.Args[3], v)
}

func strtoul(c *Call) (uint64, *vm.Action) {
	s := c.In(0)
	v, negative, n := parseUnsigned(s, c.Args[2])
	if n < 0 {
		v = 0
	} else if negative {
		v, n = 0, uapi.EINVAL.Neg()
	}
	return uint64(n), c.guest.WriteU64(c.Args[3], v)
}

func strncmp(c *Call) (uint64, *vm.Action) {
	s1, s2 := c.In(0), c.text
	// The kernel's strncmp compares at most len(s1) bytes and stops at a NUL.
	other := append([]byte(s2), 0)
	for i, ctx := range s1 {
		o := other[min(i, len(other)-1)]
		if ctx != o {
			if ctx < o {
				return ^uint64(0), nil
			}
			return 1, nil
		}
		if ctx == 0 {
			break
		}
	}
	return 0, nil
}

func snprintf(c *Call) (uint64, *vm.Action) {
	format, data := c.text, c.In(3)
	args, errno := printf.Args(c.guest.Order(), data)
	if errno != 0 {
		return errnoRet(errno), nil
	}
	text, errno := c.print.Print(format, args)
	if errno != 0 {
		return errnoRet(errno), nil
	}
	var f *vm.Action
	if c.Args[1] > 0 {
		out := append([]byte(text), 0)
		if uint64(len(out)) > c.Args[1] {
			out = out[:c.Args[1]]
			out[len(out)-1] = 0
		}
		f = c.guest.Write(c.Args[0], out)
	}
	return uint64(len(text) + 1), f
}

// cString returns the bytes of b before the first NUL.
func cString(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
