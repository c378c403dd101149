package helpers

import (
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// The string kfuncs (kernel/bpf/helpers.c, since Linux 6.17). They read kernel memory without faulting: -ERANGE for an
// address that is none, -EFAULT for one with nothing behind it, -E2BIG for a string that does not end within 64 KiB.
var stringKfuncs = []Kfunc{
	{Name: "bpf_strcmp", Topic: "strings", Args: []Arg{ArgPtr, ArgPtr}, Fn: strCompare(false, false)},
	{Name: "bpf_strcasecmp", Topic: "strings", Args: []Arg{ArgPtr, ArgPtr}, Fn: strCompare(true, false)},
	{Name: "bpf_strncasecmp", Topic: "strings", Args: []Arg{ArgPtr, ArgPtr, ArgAny}, Fn: strCompare(true, true)},
	{Name: "bpf_strchr", Topic: "strings", Args: []Arg{ArgPtr, ArgAny}, Fn: strFind(findFirst)},
	{Name: "bpf_strchrnul", Topic: "strings", Args: []Arg{ArgPtr, ArgAny}, Fn: strFind(findOrEnd)},
	{Name: "bpf_strnchr", Topic: "strings", Args: []Arg{ArgPtr, ArgAny, ArgAny}, Fn: strnchr},
	{Name: "bpf_strrchr", Topic: "strings", Args: []Arg{ArgPtr, ArgAny}, Fn: strFind(findLast)},
	{Name: "bpf_strlen", Topic: "strings", Args: []Arg{ArgPtr}, Fn: strlen},
	{Name: "bpf_strnlen", Topic: "strings", Args: []Arg{ArgPtr, ArgAny}, Fn: strnlen},
	{Name: "bpf_strspn", Topic: "strings", Args: []Arg{ArgPtr, ArgPtr}, Fn: strSpan(true)},
	{Name: "bpf_strcspn", Topic: "strings", Args: []Arg{ArgPtr, ArgPtr}, Fn: strSpan(false)},
	{Name: "bpf_strstr", Topic: "strings", Args: []Arg{ArgPtr, ArgPtr}, Fn: strSearch(false, false)},
	{Name: "bpf_strcasestr", Topic: "strings", Args: []Arg{ArgPtr, ArgPtr}, Fn: strSearch(true, false)},
	{Name: "bpf_strnstr", Topic: "strings", Args: []Arg{ArgPtr, ArgPtr, ArgAny}, Fn: strSearch(false, true)},
	{Name: "bpf_strncasestr", Topic: "strings", Args: []Arg{ArgPtr, ArgPtr, ArgAny}, Fn: strSearch(true, true)},
}

// maxString is XATTR_SIZE_MAX, as far as these functions look.
const maxString = 65536

// text reads the bytes of a guest string one at a time, so that nothing behind its end is touched.
type text struct {
	e     *Env
	addr  uint64
	seen  []byte
	errno uapi.Errno
	fault *vm.Action
}

// open judges the addresses as the kernel does, before anything is read.
func (e *Env) open(addrs ...uint64) ([]*text, uapi.Errno) {
	var out []*text
	for _, a := range addrs {
		if !e.kernelAllowed(a) {
			return nil, uapi.ERANGE
		}
		out = append(out, &text{e: e, addr: a})
	}
	return out, 0
}

// at returns byte i; ok is false when it cannot be read, and errno or fault say why.
func (s *text) at(i int) (byte, bool) {
	for len(s.seen) <= i {
		var b [1]byte
		if s.errno, s.fault = kernelSpace(s.e, s.addr+uint64(len(s.seen)), b[:]); s.errno != 0 || s.fault != nil {
			return 0, false
		}
		s.seen = append(s.seen, b[0])
	}
	return s.seen[i], true
}

// failed is the result after at said no.
func (s *text) failed() (uint64, *vm.Action) { return errnoRet(uapi.EFAULT), s.fault }

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' || c >= 0xc0 && c <= 0xde && c != 0xd7 {
		return c + 0x20 // the kernel's ctype is Latin-1
	}
	return c
}

func strCompare(fold, limited bool) vm.HelperFunc {
	return func(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
		s, errno := envOf(t).open(a[0], a[1])
		if errno != 0 {
			return errnoRet(errno), nil
		}
		limit := uint64(maxString)
		if limited {
			limit = min(limit, a[2])
		}
		for i := range int(limit) {
			c1, ok := s[0].at(i)
			if !ok {
				return s[0].failed()
			}
			c2, ok := s[1].at(i)
			if !ok {
				return s[1].failed()
			}
			if fold {
				c1, c2 = lower(c1), lower(c2)
			}
			switch {
			case c1 < c2:
				return ^uint64(0), nil
			case c1 > c2:
				return 1, nil
			case c1 == 0:
				return 0, nil
			}
		}
		if limited && a[2] < maxString {
			return 0, nil
		}
		return errnoRet(uapi.E2BIG), nil
	}
}

// How a character is searched for.
const (
	findFirst = iota
	findOrEnd // the end of the string counts as found
	findLast
)

func strFind(how int) vm.HelperFunc {
	return func(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
		return envOf(t).find(a[0], byte(a[1]), maxString, how)
	}
}

// find is strchr in its variants: the index of a character. The terminating NUL can be found too.
func (e *Env) find(addr uint64, want byte, limit uint64, how int) (uint64, *vm.Action) {
	s, errno := e.open(addr)
	if errno != 0 {
		return errnoRet(errno), nil
	}
	last := errnoRet(uapi.ENOENT)
	for i := range int(min(limit, maxString)) {
		c, ok := s[0].at(i)
		if !ok {
			return s[0].failed()
		}
		if c == want {
			last = uint64(i)
			if how != findLast {
				return last, nil
			}
		}
		if c == 0 {
			if how == findOrEnd {
				return uint64(i), nil
			}
			return last, nil
		}
	}
	if limit < maxString {
		return errnoRet(uapi.ENOENT), nil
	}
	return errnoRet(uapi.E2BIG), nil
}

func strnchr(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	return envOf(t).find(a[0], byte(a[2]), a[1], findFirst)
}

func strlen(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	return envOf(t).find(a[0], 0, maxString, findFirst)
}

// strnlen returns the limit for a string that is longer.
func strnlen(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	n, f := envOf(t).find(a[0], 0, a[1], findFirst)
	if f == nil && int64(n) == uapi.ENOENT.Neg() {
		return a[1], nil
	}
	return n, f
}

// strSpan is strspn (accept) or strcspn: the length of the start made only of, or without, the given characters.
func strSpan(accept bool) vm.HelperFunc {
	return func(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
		s, errno := envOf(t).open(a[0], a[1])
		if errno != 0 {
			return errnoRet(errno), nil
		}
		for i := range maxString {
			c, ok := s[0].at(i)
			if !ok {
				return s[0].failed()
			}
			if c == 0 {
				return uint64(i), nil
			}
			in := false
			for j := 0; ; j++ {
				if j == maxString {
					return errnoRet(uapi.E2BIG), nil
				}
				set, ok := s[1].at(j)
				if !ok {
					return s[1].failed()
				}
				if set == 0 {
					break
				}
				if set == c {
					in = true
					break
				}
			}
			if in != accept {
				return uint64(i), nil
			}
		}
		return errnoRet(uapi.E2BIG), nil
	}
}

// strSearch is strstr in its variants: the index of the second string in the first one, of which no more than the limit
// is looked at.
func strSearch(fold, limited bool) vm.HelperFunc {
	return func(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
		s, errno := envOf(t).open(a[0], a[1])
		if errno != 0 {
			return errnoRet(errno), nil
		}
		limit := uint64(maxString)
		if limited {
			limit = a[2]
		}
		for i := range maxString {
			j := 0
			for ; uint64(i+j) <= limit && j < maxString; j++ {
				c2, ok := s[1].at(j)
				if !ok {
					return s[1].failed()
				}
				if c2 == 0 {
					return uint64(i), nil
				}
				if uint64(i+j) == limit {
					break
				}
				c1, ok := s[0].at(i + j)
				if !ok {
					return s[0].failed()
				}
				if c1 == 0 {
					return errnoRet(uapi.ENOENT), nil
				}
				if c1 != c2 && (!fold || lower(c1) != lower(c2)) {
					break
				}
			}
			if j == maxString {
				return errnoRet(uapi.E2BIG), nil
			}
			if uint64(i+j) == limit {
				return errnoRet(uapi.ENOENT), nil
			}
		}
		return errnoRet(uapi.E2BIG), nil
	}
}
