package net

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/mem"
)

// TestOnlyConnectionsAreTracked: the table takes objects of struct nf_conn, and no others.
func TestOnlyConnectionsAreTracked(t *testing.T) {
	b := btf.NewBuilder(nil)
	u32 := b.Int("unsigned int", 4, 0)
	b.Struct("nf_conn", 4, btf.Member{Name: "mark", Type: u32})
	b.Struct("sock", 4, btf.Member{Name: "mark", Type: u32})
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	m, err := mem.New(mem.Config{})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	h := New(object.New(object.Config{Mem: m, Types: object.NewTypes(), BTF: spec}))
	conn, err := h.NewObjectNamed("conn", "nf_conn")
	require.NoError(t, err)
	sock, err := h.NewObjectNamed("sock", "sock")
	require.NoError(t, err)
	plain, err := h.NewBytes("bytes", make([]byte, 4))
	require.NoError(t, err)
	for o, typ := range map[*object.Object]string{sock: "sock", plain: plain.TypeName()} {
		var wrong *object.TypeError
		require.ErrorAs(t, h.OpenConnection(o, 0), &wrong, typ)
		assert.Equal(t, [2]string{typ, o.Role()}, [2]string{wrong.Type, wrong.Role})
	}
	var wrong *object.TypeError
	err = h.OpenConnection(conn, 0)
	require.Error(t, err, "it has no tuples")
	assert.NotErrorAs(t, err, &wrong)
}

// TestFramesThatFitInPlace: a packet takes another frame in its place if that is a frame, and not
// longer than what the packet's buffer, and for XDP its page, has room for.
func TestFramesThatFitInPlace(t *testing.T) {
	h := newHost(t)
	for _, n := range []int{LeastFrame - 1, LeastFrame, 60, MostXDP, MostXDP + 1, MostXDP + 32, XDPFrame} {
		for _, first := range []int{LeastFrame, 60, 61, 75, MostXDP - 1, MostXDP} {
			for _, meta := range []int{0, 4, 32} {
				p, err := h.NewXDP(make([]byte, first+meta), meta, nil, nil)
				require.NoError(t, err)
				assert.Equal(t, n >= LeastFrame && n <= MostXDP, p.Reuse().With(make([]byte, n), true), "XDP: %d bytes and %d of metadata, then %d", first, meta, n)
			}
		}
	}
	for _, first := range []int{60, 61, 64} {
		p, err := h.NewSkb(make([]byte, first), true, false, false, nil)
		require.NoError(t, err)
		most := len(p.buffer()) - skbHeadroom - skbTailroom
		for n, ok := range map[int]bool{LeastFrame - 1: false, LeastFrame: true, most: true, most + 1: false} {
			assert.Equal(t, ok, p.Reuse().With(make([]byte, n), true), "%d bytes, then %d of %d", first, n, most)
		}
	}
	p, err := h.NewXDP(make([]byte, MostXDP+1), 0, nil, nil)
	require.NoError(t, err)
	assert.Nil(t, p.Reuse(), "a packet of fragments")
}
