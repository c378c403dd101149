package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/guest"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// The string kfuncs (kernel/bpf/helpers.c, since Linux 6.17). They read kernel memory without
// faulting: -ERANGE for an invalid address, -EFAULT for an unmapped one, -E2BIG for a string
// without a NUL in 64 KiB.
var stringKfuncs = []kfuncRow{
	{Name: "bpf_strcmp", Args: []proto.Arg{argPtr, argPtr}, Do: strCompare(false, false)},
	{Name: "bpf_strcasecmp", Args: []proto.Arg{argPtr, argPtr}, Do: strCompare(true, false)},
	{Name: "bpf_strncasecmp", Args: []proto.Arg{argPtr, argPtr, argAny}, Do: strCompare(true, true)},
	{Name: "bpf_strchr", Args: []proto.Arg{argPtr, argAny}, Do: strFind(findFirst)},
	{Name: "bpf_strchrnul", Args: []proto.Arg{argPtr, argAny}, Do: strFind(findOrEnd)},
	{Name: "bpf_strnchr", Args: []proto.Arg{argPtr, argAny, argAny}, Do: strnchr},
	{Name: "bpf_strrchr", Args: []proto.Arg{argPtr, argAny}, Do: strFind(findLast)},
	{Name: "bpf_strlen", Args: []proto.Arg{argPtr}, Do: strlen},
	{Name: "bpf_strnlen", Args: []proto.Arg{argPtr, argAny}, Do: strnlen},
	{Name: "bpf_strspn", Args: []proto.Arg{argPtr, argPtr}, Do: strSpan(true)},
	{Name: "bpf_strcspn", Args: []proto.Arg{argPtr, argPtr}, Do: strSpan(false)},
	{Name: "bpf_strstr", Args: []proto.Arg{argPtr, argPtr}, Do: strSearch(false, false)},
	{Name: "bpf_strcasestr", Args: []proto.Arg{argPtr, argPtr}, Do: strSearch(true, false)},
	{Name: "bpf_strnstr", Args: []proto.Arg{argPtr, argPtr, argAny}, Do: strSearch(false, true)},
	{Name: "bpf_strncasestr", Args: []proto.Arg{argPtr, argPtr, argAny}, Do: strSearch(true, true)},
}

// maxString is XATTR_SIZE_MAX, the limit of these functions.
const maxString = 65536

// text reads the bytes of a guest string one at a time, so that nothing after its end is accessed.
type text struct {
	probe *guest.Prober
	addr  uint64
	seen  []byte
	errno uapi.Errno
	fault *vm.Action
}

// open checks the addresses as the kernel does, before anything is read.
func open(p *guest.Prober, addrs ...uint64) ([]*text, uapi.Errno) {
	var out []*text
	for _, a := range addrs {
		if !p.Allowed(a) {
			return nil, uapi.ERANGE
		}
		out = append(out, &text{probe: p, addr: a})
	}
	return out, 0
}

// at returns byte i; ok is false if it cannot be read, and then errno or fault is set.
func (s *text) at(i int) (byte, bool) {
	for len(s.seen) <= i {
		var b [1]byte
		if s.errno, s.fault = s.probe.Kernel(s.addr+uint64(len(s.seen)), b[:]); s.errno != 0 || s.fault != nil {
			return 0, false
		}
		s.seen = append(s.seen, b[0])
	}
	return s.seen[i], true
}

// failed returns the helper's result after a call of at has failed.
func (s *text) failed() (uint64, *vm.Action) { return errnoRet(uapi.EFAULT), s.fault }

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' || c >= 0xc0 && c <= 0xde && c != 0xd7 {
		return c + 0x20 // the kernel's ctype is Latin-1
	}
	return c
}

func strCompare(fold, limited bool) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		s, errno := open(&c.probe, c.Args[0], c.Args[1])
		if errno != 0 {
			return errnoRet(errno), nil
		}
		limit := uint64(maxString)
		if limited {
			limit = min(limit, c.Args[2])
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
		if limited && c.Args[2] < maxString {
			return 0, nil
		}
		return errnoRet(uapi.E2BIG), nil
	}
}

// Variants of searching for a character.
const (
	findFirst = iota
	findOrEnd // the end of the string counts as found
	findLast
)

func strFind(how int) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		want := uint32(byte(c.Args[1]))
		if how == findLast { // its character is an int (kernel/bpf/helpers.c bpf_strrchr)
			want = uint32(c.Args[1])
		}
		return find(&c.probe, c.Args[0], want, maxString, how)
	}
}

// find implements the variants of strchr: it returns the index of a character, which may be the
// terminating NUL.
func find(p *guest.Prober, addr uint64, want uint32, limit uint64, how int) (uint64, *vm.Action) {
	s, errno := open(p, addr)
	if errno != 0 {
		return errnoRet(errno), nil
	}
	last := errnoRet(uapi.ENOENT)
	for i := range int(min(limit, maxString)) {
		c, ok := s[0].at(i)
		if !ok {
			return s[0].failed()
		}
		if uint32(c) == want {
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

func strnchr(c *Call) (uint64, *vm.Action) {
	return find(&c.probe, c.Args[0], uint32(byte(c.Args[2])), c.Args[1], findFirst)
}

func strlen(c *Call) (uint64, *vm.Action) {
	return find(&c.probe, c.Args[0], 0, maxString, findFirst)
}

// strnlen returns the limit for a longer string.
func strnlen(c *Call) (uint64, *vm.Action) {
	n, f := find(&c.probe, c.Args[0], 0, c.Args[1], findFirst)
	if f == nil && int64(n) == uapi.ENOENT.Neg() {
		return c.Args[1], nil
	}
	return n, f
}

// strSpan implements strspn (accept) and strcspn: the length of the prefix that consists only of,
// or contains none of, the given characters.
func strSpan(accept bool) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		s, errno := open(&c.probe, c.Args[0], c.Args[1])
		if errno != 0 {
			return errnoRet(errno), nil
		}
		for i := range maxString {
			ctx, ok := s[0].at(i)
			if !ok {
				return s[0].failed()
			}
			if ctx == 0 {
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
				if set == ctx {
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

// strSearch implements the variants of strstr: the index of the second string in the first, of
// which at most limit bytes are searched.
func strSearch(fold, limited bool) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		s, errno := open(&c.probe, c.Args[0], c.Args[1])
		if errno != 0 {
			return errnoRet(errno), nil
		}
		limit := uint64(maxString)
		if limited {
			limit = c.Args[2]
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
