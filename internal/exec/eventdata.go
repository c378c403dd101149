package exec

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// userData replaces the texts of a system call's arguments that are vectors of strings, "[ls -l]",
// or addresses of sockets, "inet:10.0.0.1:80", by what stands in the memory of the process.
func (l *Line) userData() error {
	call, ok := strings.CutPrefix(l.Event.Hook, "syscall/")
	if !ok {
		return nil
	}
	kinds, names := hook.SyscallKinds(call), hook.SyscallArgNames(call)
	for i, kind := range kinds {
		text, isText := l.Event.Args[names[i]].(string)
		switch {
		case !isText:
		case kind == 'v' && strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]"):
			words, err := split(text[1 : len(text)-1])
			if err != nil {
				return fmt.Errorf("%s: %w", names[i], err)
			}
			l.Event.Args[names[i]] = words
		case kind == 'a':
			b, isAddr, err := sockaddr(text)
			if err != nil {
				return fmt.Errorf("%s: %w", names[i], err)
			}
			if !isAddr {
				continue
			}
			l.Event.Args[names[i]] = b
			if i+1 < len(kinds) && kinds[i+1] != 'p' && l.Event.Args[names[i+1]] == nil { // its length
				l.Event.Args[names[i+1]] = int64(len(b))
			}
		}
	}
	return nil
}

// sockaddr encodes the address of a socket: inet:ADDR:PORT, inet6:[ADDR]:PORT or unix:PATH, where @
// begins an abstract name.
func sockaddr(text string) (b []byte, ok bool, err error) {
	family, rest, _ := strings.Cut(text, ":")
	switch family {
	case "unix":
		b = binary.NativeEndian.AppendUint16(nil, uapi.AFUnix)
		if len(rest) > 107 {
			return nil, true, fmt.Errorf("a path of %d bytes: at most 107", len(rest))
		}
		if name, abstract := strings.CutPrefix(rest, "@"); abstract {
			return append(append(b, 0), name...), true, nil
		}
		return append(append(b, rest...), 0), true, nil
	case "inet", "inet6":
		at, err := netip.ParseAddrPort(rest)
		if err != nil || at.Addr().Is4() != (family == "inet") {
			return nil, true, fmt.Errorf("%q: want inet:10.0.0.1:80 or inet6:[fd00::1]:80", text)
		}
		number := uint16(uapi.AFInet)
		if family == "inet6" {
			number = uapi.AFInet6
		}
		b = binary.NativeEndian.AppendUint16(nil, number)
		b = binary.BigEndian.AppendUint16(b, at.Port())
		if family == "inet" {
			return append(append(b, at.Addr().AsSlice()...), make([]byte, 8)...), true, nil
		}
		b = append(append(b, make([]byte, 4)...), at.Addr().AsSlice()...)
		return append(b, make([]byte, 4)...), true, nil
	}
	return nil, false, nil
}
