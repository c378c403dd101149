package exec

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
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

// isSocket reports whether a value stands for a socket of the simulated kernel. Arguments of system
// calls and functions of programs are numbers and texts.
func (l *Line) isSocket(text string) bool {
	return (strings.HasPrefix(text, "tcp:") || strings.HasPrefix(text, "udp:")) && !strings.HasPrefix(l.Event.Hook, "syscall/") && !strings.HasPrefix(l.Event.Hook, "uprobe")
}

// hostSocket parses a socket with its own and its peer's address, and its state if that is not the
// usual one: "tcp:10.0.0.1:34567-10.0.0.2:80,syn_sent", "udp:[fd00::1]:53-[fd00::2]:4000". Without a
// peer it listens, or is not connected. Sockets with the same addresses are the same one.
func hostSocket(text string) (sk bpfsys.HostSocket, err error) {
	which, state, stated := strings.Cut(text, ",")
	kind, addresses, _ := strings.Cut(which, ":")
	local, peer, connected := strings.Cut(addresses, "-")
	const stream, datagram, tcp, udp = 1, 2, 6, 17
	i := bpfsys.SocketInfo{Family: uapi.AFInet, Type: stream, Protocol: tcp, State: tcpListen}
	if kind == "udp" {
		i.Type, i.Protocol, i.State = datagram, udp, tcpClose
	}
	if i.Local, err = netip.ParseAddrPort(local); err == nil && connected {
		i.Remote, err = netip.ParseAddrPort(peer)
		i.State = tcpEstablished
	}
	if err != nil || connected && i.Local.Addr().Is4() != i.Remote.Addr().Is4() {
		return sk, fmt.Errorf("%q: want tcp:10.0.0.1:34567-10.0.0.2:80 or udp:[fd00::1]:53", text)
	}
	if !i.Local.Addr().Is4() {
		i.Family = uapi.AFInet6
	}
	if stated {
		n := slices.Index(tcpStates, state)
		if n <= 0 {
			return sk, fmt.Errorf("%q is not a TCP state: use one of %s", state, strings.Join(tcpStates[1:], ", "))
		}
		i.State = uint8(n)
	}
	id := fnv.New64a()
	_, _ = id.Write([]byte(which))
	i.Cookie = id.Sum64() >> 1
	const invented = 1 << 63 // above the inodes of the host's sockets
	return bpfsys.HostSocket{Inode: id.Sum64() | invented, Info: i}, nil
}
