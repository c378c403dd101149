package net

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/testing/snaptest"
)

// newHost makes a host without types.
func newHost(t *testing.T) *Host {
	t.Helper()
	m, err := mem.New(mem.Config{})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return New(object.New(object.Config{Mem: m, Types: object.NewTypes()}))
}

func snapshot(h *Host) func() func() {
	return func() func() {
		c := h.Snapshot()
		return func() { h.Restore(c) }
	}
}

func TestHostRestoresEveryField(t *testing.T) {
	h := newHost(t)
	snaptest.Check(t, h, map[string]snaptest.Field{
		"network": snaptest.Value(&h.network, func(n int) Network { return Network{Devices: []Device{{Index: uint32(n)}}} }),
		"packets": {Set: func(int) {
			_, err := h.newPacket("packet", make([]byte, 64), 0, 0, sharedRoom, false)
			require.NoError(t, err)
		}, Get: func() any { return len(h.packets) }},
		"sockets":  {Set: func(n int) { (&Socket{k: h, role: strconv.Itoa(n)}).Addr() }, Get: func() any { return len(h.sockets) }},
		"defaults": snaptest.UndoMap(&h.defaults, strconv.Itoa, &Socket{}),
		"conns":    snaptest.UndoMap(&h.conns, func(n int) connKey { return connKey{zone: uint16(n)} }, &object.Object{}),
		"flows":    snaptest.Slice(&h.flows, func(int) *object.Object { return &object.Object{} }),
		"freed":    snaptest.Slice(&h.freed, func(int) *object.Object { return &object.Object{} }),
	}, snapshot(h))
}

func TestPacketsRestoreEveryField(t *testing.T) {
	h := newHost(t)
	p, err := h.newPacket("packet", make([]byte, 64), 0, 0, sharedRoom, false)
	require.NoError(t, err)
	snaptest.Check(t, p, map[string]snaptest.Field{
		"region": snaptest.Pointer(&p.region), "data": snaptest.Number(&p.data), "end": snaptest.Number(&p.end), "meta": snaptest.Number(&p.meta),
		"min": snaptest.Number(&p.min), "max": snaptest.Number(&p.max), "xdp": snaptest.Bool(&p.xdp), "ro": snaptest.Bool(&p.ro),
		"room": snaptest.Number(&p.room), "before": snaptest.Number(&p.before), "after": snaptest.Number(&p.after),
		"pieces": {Set: func(i int) { p.pieces = []int{i} }, Get: func() any { return append([]int(nil), p.pieces...) }},
		"lead":   snaptest.Number(&p.lead), "cloned": snaptest.Bool(&p.cloned),
		"place":  snaptest.Number(&p.place),
		"places": snaptest.Slice(&p.places, func(int) *mem.Region { return &mem.Region{} }),
		"frags":  snaptest.Slice(&p.frags, func(n int) fragment { return fragment{size: n} }),
	}, snapshot(h))
}

func TestSocketsRestoreEveryField(t *testing.T) {
	h := newHost(t)
	s := &Socket{k: h, role: "socket"}
	require.NotZero(t, s.Addr())
	snaptest.Check(t, s, map[string]snaptest.Field{
		"obj": snaptest.Pointer(&s.obj), "made": snaptest.Bool(&s.made),
		"vals": {Set: func(n int) { s.vals[0] = uint64(n) }, Get: func() any { return s.vals }},
		"was":  {Set: func(n int) { s.was[0] = uint64(n) }, Get: func() any { return s.was }},
		"opts": snaptest.Map(&s.opts, func(n int) SockOption { return SockOption{Level: int32(n)} }, []byte{1}),
		"syn":  snaptest.Value(&s.syn, func(n int) []byte { return []byte{byte(n)} }),
		"open": snaptest.Bool(&s.open), "key": snaptest.Number(&s.key), "shown": snaptest.Bool(&s.shown),
		"common": snaptest.Pointer(&s.common), "full": snaptest.Pointer(&s.full), "tcp": snaptest.Pointer(&s.tcp),
	}, snapshot(h))
}

func TestSocketsOfLaterAreForgotten(t *testing.T) {
	h := newHost(t)
	s := &Socket{k: h, role: "later"} // a context has it, but no program an address of it
	restore := snapshot(h)()
	s.SetOption(SockOption{Level: 1}, []byte{1})
	s.obj, s.made = new(object.Object), true
	require.NotZero(t, s.FullAddr())
	restore()
	assert.Nil(t, s.full)
	assert.Nil(t, s.obj, "the struct sock was made after the snapshot")
	_, ok := s.Option(SockOption{Level: 1})
	assert.False(t, ok)
}
