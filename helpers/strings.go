package helpers

import (
	"bytes"

	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var stringHelpers = []Helper{
	{ID: uapi.FuncStrtol, Topic: "strings", Args: []Arg{ArgMem, ArgSize, ArgAny, ArgLong}, Fn: strtol},
	{ID: uapi.FuncStrtoul, Topic: "strings", Args: []Arg{ArgMem, ArgSize, ArgAny, ArgLong}, Fn: strtoul},
	{ID: uapi.FuncStrncmp, Topic: "strings", Args: []Arg{ArgMem, ArgSize, ArgString}, Fn: strncmp},
	{ID: uapi.FuncSnprintf, Topic: "strings", Args: []Arg{ArgOut, ArgSize, ArgString, ArgMem, ArgSize}, Fn: snprintf},
}

// parseUnsigned reads a number by the rules of __bpf_strtoull (kernel/bpf/helpers.c):
// leading white space, an optional minus, a prefix by base, digits. It returns the
// number of bytes consumed or a negative errno.
func parseUnsigned(s []byte, flags uint64) (v uint64, negative bool, consumed int64) {
	base := flags & 31
	if base != 0 && base != 8 && base != 10 && base != 16 || flags&^31 != 0 {
		return 0, false, uapi.EINVAL.Neg()
	}
	if len(s) == 0 {
		return 0, false, uapi.EINVAL.Neg()
	}
	i := 0
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	if i < len(s) && s[i] == '-' {
		negative = true
		i++
	}
	if i >= len(s) {
		return 0, false, uapi.EINVAL.Neg()
	}
	// The kernel copies at most 63 characters before it looks at them.
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

func strtol(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	s, f := e.read(a[0], a[1])
	if f != nil {
		return 0, f
	}
	v, negative, n := parseUnsigned(s, a[2])
	switch {
	case n < 0:
		v = 0
	case negative && v > 1<<63, !negative && v > 1<<63-1:
		v, n = 0, uapi.ERANGE.Neg()
	case negative:
		v = -v
	}
	return uint64(n), e.writeU64(a[3], v)
}

func strtoul(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	s, f := e.read(a[0], a[1])
	if f != nil {
		return 0, f
	}
	v, negative, n := parseUnsigned(s, a[2])
	if n < 0 {
		v = 0
	} else if negative {
		v, n = 0, uapi.EINVAL.Neg()
	}
	return uint64(n), e.writeU64(a[3], v)
}

func strncmp(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	s2, f := e.constString(a[2])
	if f != nil {
		return 0, f
	}
	s1, f := e.read(a[0], a[1])
	if f != nil {
		return 0, f
	}
	// kernel strncmp: compares at most len(s1) bytes and stops at a NUL.
	other := append([]byte(s2), 0)
	for i, c := range s1 {
		o := other[min(i, len(other)-1)]
		if c != o {
			if c < o {
				return ^uint64(0), nil
			}
			return 1, nil
		}
		if c == 0 {
			break
		}
	}
	return 0, nil
}

func snprintf(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	format, f := e.constString(a[2])
	if f != nil {
		return 0, f
	}
	data, f := e.read(a[3], a[4])
	if f != nil {
		return 0, f
	}
	args, errno := formatArgs(e.order(), data)
	if errno != 0 {
		return errnoRet(errno), nil
	}
	text, errno := formatBPF(e, format, args)
	if errno != 0 {
		return errnoRet(errno), nil
	}
	if a[1] > 0 {
		out := append([]byte(text), 0)
		if uint64(len(out)) > a[1] {
			out = out[:a[1]]
			out[len(out)-1] = 0
		}
		if f := e.write(a[0], out); f != nil {
			return 0, f
		}
	}
	return uint64(len(text) + 1), nil
}

// cString returns the bytes of b before the first NUL.
func cString(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
