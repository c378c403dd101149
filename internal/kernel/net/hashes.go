package net

import (
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// Chains of the hash tables of sockets; kernels have more.
const (
	connectionChains = 64
	listenerChains   = 32      // INET_LHTABLE_SIZE
	listenerNulls    = 1 << 29 // LISTENING_NULLS_BASE
	nullsEnd         = 1       // the low bit, set in the number that ends a chain instead of a pointer
	hashinfoRole     = "tcp_hashinfo"
)

// socketHash is the table of TCP's sockets.
func (h *Host) socketHash() *object.Object { return h.Builtin(hashinfoRole, "inet_hashinfo") }

// fillHashinfo makes a table of connections by their addresses and of listening sockets, whose
// chains end with their numbers (INIT_HLIST_NULLS_HEAD).
func (h *Host) fillHashinfo(b object.Builder) {
	if b.Object.Role() != hashinfoRole {
		return
	}
	if o := b.Array("ehash", connectionChains); o != nil {
		h.endChains(o, connectionChains, "inet_ehash_bucket", "chain", 0)
		b.Num("ehash_mask", connectionChains-1)
	}
	if o := b.Array("lhash2", listenerChains); o != nil {
		h.endChains(o, listenerChains, "inet_listen_hashbucket", "nulls_head", listenerNulls)
		b.Num("lhash2_mask", listenerChains-1)
	}
}

func (h *Host) endChains(o *object.Object, n uint64, typ, head string, base uint64) {
	o.MarkBuiltin()
	o.Poke(0, make([]byte, o.Size()), object.Made)
	word := make([]byte, h.Mem().PointerSize())
	for i := range n {
		if at, ok := h.chain(o, n, typ, head, i); ok {
			endian.PutUint(h.Order(), word, (base+i)<<1|nullsEnd)
			o.Poke(at, word, object.Made)
		}
	}
}

// chain returns where the head of a chain is in a table of n.
func (h *Host) chain(o *object.Object, n uint64, typ, head string, i uint64) (uint64, bool) {
	l := h.LayoutNamed(typ)
	if l == nil {
		return 0, false
	}
	f, rest, err := l.Place(head)
	return i*o.Size()/n + f.Off, err == nil && rest == ""
}

// hashSock puts a TCP socket into the table where lookups find it (inet_ehash_insert, inet_hash).
func (h *Host) hashSock(b object.Builder) {
	info := h.socketHash()
	if info == nil {
		return
	}
	table, typ, head, n := "ehash", "inet_ehash_bucket", "chain", uint64(connectionChains)
	i := b.Object.Num("__sk_common.skc_hash") % n
	switch b.Object.Num("__sk_common.skc_state") {
	case TCPEstablished:
	case TCPListen:
		table, typ, head, n = "lhash2", "inet_listen_hashbucket", "nulls_head", listenerChains
		i = b.Object.Num("__sk_common.skc_num") % n
	default:
		return
	}
	o, _ := info.Pointee(table)
	if o == nil {
		return
	}
	if at, ok := h.chain(o, n, typ, head, i); ok {
		object.Fill(o).PushAt(at, b, "__sk_common.skc_nulls_node")
	}
}
