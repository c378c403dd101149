package net

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSocketsOfPackets: the socket of the next packet is the same one, filled again, unless
// something may still lead to the last: an address that a program had, or a snapshot.
func TestSocketsOfPackets(t *testing.T) {
	ip := make([]byte, 20)
	ip[15], ip[19] = 1, 2
	for name, tt := range map[string]struct {
		then func(h *Host, s *Socket)
		same bool
	}{
		"not looked at":       {func(*Host, *Socket) {}, true},
		"changed":             {func(_ *Host, s *Socket) { s.Set(SockMark, 7) }, true},
		"its address is out":  {func(_ *Host, s *Socket) { s.Addr() }, false},
		"it was, and is free": {func(_ *Host, s *Socket) { s.FullAddr(); s.Free() }, false},
		"it has a key":        {func(_ *Host, s *Socket) { s.Key() }, false},
		"in a snapshot":       {func(h *Host, _ *Socket) { h.Snapshot() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			first := h.FlowSocket(EtherIPv4, ip, nil)
			was := *first
			tt.then(h, first)
			next := h.FlowSocket(0, nil, first)
			assert.Equal(t, tt.same, first == next)
			again := h.FlowSocket(EtherIPv4, ip, next)
			require.Same(t, next, again)
			was.age = again.age
			assert.Equal(t, was, *again, "as a new one")
		})
	}
}
