package bpfsys

import (
	"time"

	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// A socket of the host is closed without a call that this system sees: when something depends on
// it, it is looked for among the open ones.

// socketsPause is how long events rely on the sockets that were found open.
const socketsPause = 5 * time.Millisecond

// closedSockets ends what belongs to sockets that are no longer open: their programs, their places
// in maps, and their storage (sock_map_close, bpf_sk_reuseport_detach, bpf_sk_storage_free).
func (s *System) closedSockets() {
	if len(s.sockets) == 0 && len(s.mapSockets) == 0 || s.cfg.OpenSockets == nil {
		return
	}
	open := map[uint64]bool{}
	for _, inode := range s.cfg.OpenSockets() {
		open[inode] = true
	}
	var gone []filtered
	for id := range s.sockets {
		if !open[id.inode] {
			gone = append(gone, id)
		}
	}
	for _, id := range gone {
		s.socketDetach(id)
	}
	for inode := range s.mapSockets {
		if !open[inode] {
			delete(s.mapSockets, inode)
			s.forgetSocket(inode)
		}
	}
	s.socketsSeen = time.Now()
}

// closedSocketsOf is closedSockets before a command on a map whose elements depend on sockets.
func (s *System) closedSocketsOf(m *Map) {
	switch m.def.Type {
	case uapi.MapTypeSockmap, uapi.MapTypeSockhash, uapi.MapTypeReuseportSockarray, uapi.MapTypeSkStorage:
		s.closedSockets()
	}
}

// forgetSocket removes a socket of the host from all maps.
func (s *System) forgetSocket(inode uint64) {
	id := fileID{SocketFile, 0, inode}
	o := s.stand[id]
	if o == nil {
		return
	}
	delete(s.stand, id)
	sk, err := s.machine.Kernel().SocketOf(o)
	if err != nil {
		return
	}
	for x := range s.byID[KindMap].All() {
		switch m := x.(*Map); t := m.m.(type) {
		case maps.SockMap:
			for _, e := range t.Entries() {
				if e.Ref == any(sk) {
					t.Delete(e.Key)
				}
			}
		case maps.LocalStorage:
			if m.def.Type == uapi.MapTypeSkStorage {
				t.FreeOwner(o.Addr())
			}
		case maps.RefArray:
			for _, e := range t.Entries() {
				if e.Ref == any(sk) {
					t.SetRef(le.Uint32(e.Key), nil)
				}
			}
		}
	}
}
