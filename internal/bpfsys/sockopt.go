package bpfsys

import (
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// filtered is a socket of the host, or with group its reuseport group, to which a program is
// attached.
type filtered struct {
	inode uint64
	group bool
}

// maxFiltered limits the sockets with programs.
const maxFiltered = 1 << 12

// SocketAttach implements SO_ATTACH_BPF and, with group, SO_ATTACH_REUSEPORT_EBPF (sk_attach_bpf,
// sk_reuseport_attach_bpf). The program runs when an event fires the hook "socket" or
// "sk_reuseport": packets of the host's sockets do not pass through the simulated kernel.
func (s *System) SocketAttach(c Caller, socket, prog int32, group bool) uapi.Errno {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := c.File(socket)
	if f.Kind != SocketFile || f.Socket == nil {
		return uapi.ENOTSOCK
	}
	p, _, e := fileOf[*Prog](c, prog)
	switch {
	case e != 0:
		return e
	case p.typ != uapi.ProgTypeSocketFilter && !(group && p.typ == uapi.ProgTypeSkReuseport):
		return uapi.EINVAL
	case p.typ == uapi.ProgTypeSkReuseport && !f.Socket.inReuseport():
		return uapi.ENOTSUPP
	case group && !f.Socket.Reuseport: // reuseport_attach_prog
		return uapi.EINVAL
	}
	s.closedSockets()
	id := filtered{f.Inode, group}
	s.socketDetach(id)
	if len(s.sockets) >= maxFiltered {
		return uapi.ENOMEM
	}
	s.hold(p)
	if s.sockets == nil {
		s.sockets = map[filtered]*attachment{}
	}
	s.sockets[id] = s.attach(&attachment{prog: p, hook: machine.Hook{Section: p.lp.Section}})
	return 0
}

// inReuseport reports whether the socket is of a kind that has reuseport groups.
func (i *SocketInfo) inReuseport() bool {
	return (i.Type == sockStream || i.Type == sockDgram) && (i.Protocol == protoUDP || i.Protocol == protoTCP) && (i.Family == afInet || i.Family == afInet6)
}

// SocketDetach implements SO_DETACH_FILTER and, with group, SO_DETACH_REUSEPORT_BPF. It reports
// whether a program was attached.
func (s *System) SocketDetach(c Caller, socket int32, group bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := c.File(socket)
	return f.Kind == SocketFile && s.socketDetach(filtered{f.Inode, group})
}

func (s *System) socketDetach(id filtered) bool {
	at := s.sockets[id]
	if at == nil {
		return false
	}
	delete(s.sockets, id)
	s.detach(at)
	s.put(at.prog)
	return true
}
