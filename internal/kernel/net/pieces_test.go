package net

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// message makes a message of pieces that are filled with a, b, c and so on.
func message(t *testing.T, pieces ...int) *Packet {
	t.Helper()
	var data []byte
	for i, n := range pieces {
		data = append(data, bytes.Repeat([]byte{byte('a' + i)}, n)...)
	}
	p, err := newHost(t).newPacket("message", data, 0, 0, sharedRoom, false)
	require.NoError(t, err)
	p.pieces = pieces
	require.Zero(t, p.showFirst())
	return p
}

// pieces returns n pieces of a length.
func pieces(n, length int) (out []int) {
	for range n {
		out = append(out, length)
	}
	return out
}

// TestPiecesOfMessages: which pieces bpf_msg_pull_data, bpf_msg_push_data and bpf_msg_pop_data
// leave, at both sides of where they are cut.
func TestPiecesOfMessages(t *testing.T) {
	three, full, nearly := []int{4, 4, 4}, pieces(mostPieces, 3), pieces(mostPieces-1, 3)
	pull, push, pop := (*Packet).PullMessage, (*Packet).PushMessage, (*Packet).PopMessage
	with := func(list []int, i, n int) []int { out := append([]int(nil), list...); out[i] = n; return out }
	for _, tt := range []struct {
		name  string
		op    func(p *Packet, a, b int) uapi.Errno
		a, b  int
		had   []int
		errno uapi.Errno
		left  []int
		shown string
	}{
		{"pull a piece", pull, 0, 4, three, 0, three, "aaaa"},
		{"pull part of a piece", pull, 1, 3, three, 0, three, "aa"},
		{"pull more than a piece", pull, 0, 5, three, 0, []int{8, 4}, "aaaab"},
		{"pull the second", pull, 4, 8, three, 0, three, "bbbb"},
		{"pull across the last two", pull, 5, 9, three, 0, []int{4, 8}, "bbbc"},
		{"pull all", pull, 0, 12, three, 0, []int{12}, "aaaabbbbcccc"},
		{"pull the last byte", pull, 11, 12, three, 0, three, "c"},
		{"pull behind the end", pull, 0, 13, three, uapi.EINVAL, three, "aaaa"},
		{"pull from the end", pull, 12, 13, three, uapi.EINVAL, three, "aaaa"},
		{"pull nothing", pull, 4, 4, three, uapi.EINVAL, three, "aaaa"},

		{"push to the front", push, 0, 2, three, 0, []int{2, 4, 4, 4}, "\x00\x00"},
		{"push between pieces", push, 4, 2, three, 0, []int{4, 2, 4, 4}, "aaaa"},
		{"push into a piece", push, 1, 2, three, 0, []int{1, 2, 3, 4, 4}, "a"},
		{"push to the end", push, 12, 1, three, 0, []int{4, 4, 4, 1}, "aaaa"},
		{"push behind the end", push, 13, 1, three, uapi.EINVAL, three, "aaaa"},
		{"push nothing", push, 13, 0, three, 0, three, "aaaa"},
		{"push too much", push, 0, MaxPacket - 11, three, uapi.ENOMEM, three, "aaaa"},
		{"push into a full list", push, 3, 2, full, 0, with(full, 1, 5), "aaa"},
		{"push to the end of a full list", push, 3 * mostPieces, 2, full, 0, with(full, mostPieces-1, 5), "aaa"},
		{"push into the last but one", push, 4, 2, nearly, 0, with(nearly, 1, 5), "aaa"},
		{"push before the last but one", push, 3, 2, nearly, 0, append([]int{3, 2}, nearly[1:]...), "aaa"},

		{"pop a piece", pop, 0, 4, three, 0, []int{4, 4}, "bbbb"},
		{"pop less", pop, 0, 3, three, 0, []int{1, 4, 4}, "a"},
		{"pop more", pop, 0, 5, three, 0, []int{3, 4}, "bbb"},
		{"pop out of a piece", pop, 1, 2, three, 0, []int{1, 1, 4, 4}, "a"},
		{"pop to the end of a piece", pop, 1, 3, three, 0, []int{1, 4, 4}, "a"},
		{"pop into the next", pop, 1, 5, three, 0, []int{1, 2, 4}, "a"},
		{"pop to the end of the next", pop, 1, 7, three, 0, []int{1, 4}, "a"},
		{"pop all", pop, 0, 12, three, 0, []int{}, ""},
		{"pop the last byte", pop, 11, 1, three, 0, []int{4, 4, 3}, "aaaa"},
		{"pop behind the end", pop, 11, 2, three, uapi.EINVAL, three, "aaaa"},
		{"pop from the end", pop, 12, 1, three, uapi.EINVAL, three, "aaaa"},
		{"pop nothing", pop, 13, 0, three, 0, three, "aaaa"},
		{"pop out of a full list", pop, 1, 1, full, 0, with(full, 0, 2), "aa"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := message(t, tt.had...)
			before := p.Len()
			assert.Equal(t, tt.errno, tt.op(p, tt.a, tt.b))
			assert.Equal(t, tt.left, p.pieces)
			assert.Equal(t, tt.shown, string(p.Bytes()))
			sum := 0
			for _, n := range tt.left {
				sum += n
			}
			assert.Equal(t, sum, p.Len(), "it had %d", before)
		})
	}
	p := message(t, 4, 4)
	p.pieces = nil
	require.Zero(t, p.PushMessage(2, 1))
	assert.Equal(t, []int{2, 1, 6}, p.pieces, "a message that was never asked for is one piece")
}

// TestMessagesOfFragments: the fragments of a packet are pieces of its message.
func TestMessagesOfFragments(t *testing.T) {
	p := message(t, 4)
	p.pieces = nil
	require.NoError(t, p.addFrags([]byte("bb")))
	require.NoError(t, p.addFrags([]byte("ccc")))
	require.Zero(t, p.PullMessage(4, 5))
	assert.Equal(t, []int{4, 2, 3}, p.pieces)
	assert.Equal(t, "b", string(p.Bytes()))
	assert.Zero(t, p.Fragments())
}

// fragmented is an XDP frame with a linear part of 40 bytes and fragments of some lengths.
func fragmented(t *testing.T, sizes ...int) *Packet {
	t.Helper()
	var frags [][]byte
	for i, n := range sizes {
		frags = append(frags, bytes.Repeat([]byte{byte('b' + i)}, n))
	}
	p, err := newHost(t).NewXDP(bytes.Repeat([]byte("a"), 40), 0, nil, frags)
	require.NoError(t, err)
	return p
}

// TestRangesOfPieces: a range has an address only within one piece (bpf_xdp_pointer).
func TestRangesOfPieces(t *testing.T) {
	p := fragmented(t, 6, 5)
	for _, tt := range []struct {
		off, n int
		piece  int // -1: none
	}{{0, 40, 0}, {39, 1, 0}, {0, 41, -1}, {39, 2, -1}, {40, 6, 1}, {45, 1, 1}, {40, 7, -1}, {46, 5, 2}, {50, 1, 2}, {46, 6, -1}, {51, 1, -1}} {
		addr, ok := p.Pointer(tt.off, tt.n)
		assert.Equal(t, tt.piece >= 0, ok, "%+v", tt)
		if ok {
			c, f := p.k.Mem().Load(addr, 1)
			require.Nil(t, f)
			assert.EqualValues(t, 'a'+tt.piece, c, "%+v", tt)
		}
	}
	whole := fragmented(t)
	_, ok := whole.Pointer(0, 41)
	assert.False(t, ok)
	_, ok = whole.Pointer(40, 0)
	assert.True(t, ok)
}

// TestPullingFrames: the linear part grows at its end, then towards its start (bpf_xdp_pull_data).
func TestPullingFrames(t *testing.T) {
	p := fragmented(t, uapi.PageSize, 8)
	head, tail := int(p.meta-p.min-xdpFrameHead), p.Tailroom()
	for _, tt := range []struct {
		name  string
		n     int
		errno uapi.Errno
		moved int
	}{
		{"what is linear", 40, 0, 0},
		{"a byte more", 41, 0, 0},
		{"to the end of the page", 40 + tail, 0, 0},
		{"a byte beyond it", 40 + tail + 1, 0, 1},
		{"all that the page has", 40 + tail + head, 0, head},
		{"a byte more than that", 40 + tail + head + 1, uapi.EINVAL, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := fragmented(t, uapi.PageSize, 8)
			was, data := append([]byte(nil), p.Whole()...), p.data
			assert.Equal(t, tt.errno, p.PullXDP(tt.n))
			assert.Equal(t, was, p.Whole())
			assert.EqualValues(t, tt.moved, data-p.data)
			if tt.errno == 0 {
				assert.Equal(t, tt.n, p.Linear())
			}
		})
	}
	short := fragmented(t, 8)
	assert.Equal(t, uapi.EINVAL, short.PullXDP(49))
	assert.Zero(t, short.PullXDP(48))
	assert.Zero(t, short.Fragments())
	skb := fragmented(t, 8)
	assert.Equal(t, uapi.ENOMEM, skb.Pull(49))
	assert.Zero(t, skb.Pull(48))
	assert.Equal(t, strings.Repeat("a", 40)+"bbbbbbbb", string(skb.Bytes()))
}

// TestTailsOfFragments grow in their page and go one by one (bpf_xdp_frags_increase_tail,
// bpf_xdp_frags_shrink_tail).
func TestTailsOfFragments(t *testing.T) {
	for _, tt := range []struct {
		delta  int
		errno  uapi.Errno
		linear int
		frags  []int
	}{
		{0, 0, 40, []int{6, 4090}}, {6, 0, 40, []int{6, 4096}}, {7, uapi.EINVAL, 40, []int{6, 4090}},
		{-1, 0, 40, []int{6, 4089}}, {-4089, 0, 40, []int{6, 1}}, {-4090, 0, 40, []int{6}}, {-4091, 0, 40, []int{5}}, {-4096, 0, 40, nil}, {-4097, 0, 39, nil},
		{-4122, 0, 14, nil}, {-4123, uapi.EINVAL, 40, []int{6, 4090}},
	} {
		p := fragmented(t, 6, 4090)
		assert.Equal(t, tt.errno, p.adjustFragsTail(tt.delta), "%d", tt.delta)
		var sizes []int
		for _, f := range p.frags {
			sizes = append(sizes, f.size)
			_, fault := p.k.Mem().Load(f.region.Base+uint64(f.size)-1, 1)
			assert.Nil(t, fault)
			_, fault = p.k.Mem().Load(f.region.Base+uint64(f.size), 1)
			assert.NotNil(t, fault, "%d", tt.delta)
		}
		assert.Equal(t, tt.frags, sizes, "%d", tt.delta)
		assert.Equal(t, tt.linear, p.Linear(), "%d", tt.delta)
		if tt.delta == 6 {
			assert.Equal(t, make([]byte, 6), p.frags[1].bytes(p)[4090:], "new bytes are zero")
		}
	}
}

func TestMostFragments(t *testing.T) {
	p := fragmented(t)
	require.NoError(t, p.addFrags(make([]byte, maxFrags*uapi.PageSize)))
	assert.Equal(t, maxFrags, p.Fragments())
	assert.ErrorIs(t, p.addFrags([]byte{1}), uapi.ENOMEM)
	p = fragmented(t)
	assert.ErrorIs(t, p.addFrags(make([]byte, maxFrags*uapi.PageSize+1)), uapi.ENOMEM)
}
