package matrix

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/loader"
)

// outcome is what a run did, in a form that can be compared between machines: simulated addresses
// are replaced by a hash of the name of what they point to.
type outcome struct {
	ret     uint64
	verdict string
	packet  []byte
	events  []event
	changes []change
	effects []string
	untyped bool // the arguments had no types, since the hook is unknown
	spec    *btf.Spec
	names   map[uint64]string // names of the replaced addresses
}

type event struct {
	channel string // the map
	typ     btf.ID
	data    []byte
}

// change is one element a run changed.
type change struct {
	id      string // map, key and CPU, without addresses
	place   string // the same as shown to the user
	def     *loader.Map
	val     []byte // nil for a deleted element
	deleted bool
}

func newOutcome(m *machine.Machine, res *machine.Result) *outcome {
	l := m.Linked()
	n := namer{m: m, order: l.Object.ByteOrder, names: map[uint64]string{}}
	o := &outcome{
		ret: n.word(res.Ret), packet: res.DataOut, spec: l.Object.BTF, names: n.names, untyped: res.Untyped}
	if lp, ok := l.Program(res.Program); ok {
		o.verdict = progtype.VerdictName(lp.Type, int32(res.Ret))
	}
	if len(res.Events) > 0 {
		o.spec = m.EventTypes().Spec() // extends the object's BTF
	}
	for _, e := range res.Events {
		o.events = append(o.events, event{e.Map, e.Type, n.bytes(e.Data)})
	}
	for _, e := range res.Effects {
		o.effects = append(o.effects, fmt.Sprintf("%s %v", e.Kind, e.Number))
	}
	for _, c := range res.Changes {
		key := n.bytes(c.Key)
		x := change{id: fmt.Sprintf("%s[%x]%d", c.Map, key, c.CPU), val: n.bytes(c.New), deleted: c.New == nil}
		x.def, _ = l.Map(c.Map)
		x.place = c.Map + "[" + o.text(keyType(x.def), key) + "]"
		if x.def != nil && x.def.DataKind != loader.DataNone {
			x.place = c.Map
		}
		if c.CPU >= 0 {
			x.place += " on CPU " + strconv.Itoa(c.CPU)
		}
		o.changes = append(o.changes, x)
	}
	slices.SortStableFunc(o.changes, func(a, b change) int { return strings.Compare(a.id, b.id) })
	return o
}

func keyType(m *loader.Map) btf.ID {
	if m == nil {
		return 0
	}
	return m.KeyType
}

// namer replaces the addresses of one machine.
type namer struct {
	m     *machine.Machine
	order binary.ByteOrder
	names map[uint64]string
}

func (n *namer) word(v uint64) uint64 {
	name, ok := n.m.NameAddr(v)
	if !ok {
		return v
	}
	h := fnv.New64a()
	h.Write([]byte(name.Key))
	id := h.Sum64() | 1<<63
	n.names[id] = strings.Clone(name.Text) // a substring of the BTF's strings would keep all of the kernel's types in memory
	return id
}

// bytes returns a copy of b with addresses replaced. Records may be packed, so every multiple of
// four bytes is examined.
func (n *namer) bytes(b []byte) []byte {
	if b == nil {
		return nil
	}
	out := bytes.Clone(b)
	for i := 0; i+8 <= len(out); {
		v := n.order.Uint64(out[i:])
		if v == 0 {
			i += 4
			continue
		}
		if w := n.word(v); w != v {
			n.order.PutUint64(out[i:], w)
			i += 8
			continue
		}
		i += 4
	}
	return out
}

// text formats a value, with names for addresses.
func (o *outcome) text(typ btf.ID, b []byte) string {
	if len(b) == 8 && o.spec != nil {
		v := o.spec.ByteOrder().Uint64(b)
		if name := o.names[v]; name != "" {
			return "&" + name
		}
	}
	if o.spec == nil || typ == 0 {
		const most = 16
		if len(b) > most {
			return fmt.Sprintf("%x... (%d bytes)", b[:most], len(b))
		}
		return fmt.Sprintf("%x", b)
	}
	return o.named(o.spec.FormatString(typ, b))
}

// named replaces the hashes in the text of a value by the names of the addresses. A 64-bit hash
// does not collide with other numbers in practice.
func (o *outcome) named(text string) string {
	for id, name := range o.names {
		for _, number := range [...]string{strconv.FormatUint(id, 10), strconv.FormatInt(int64(id), 10), fmt.Sprintf("%#x", id)} {
			text = strings.ReplaceAll(text, number, "&"+name)
		}
	}
	return text
}

func (o *outcome) retText() string {
	if name := o.names[o.ret]; name != "" {
		return "&" + name
	}
	text := strconv.FormatInt(int64(int32(uint32(o.ret))), 10)
	if o.ret>>32 != 0 && o.ret>>32 != 0xffffffff {
		text = fmt.Sprintf("%#x", o.ret)
	}
	if o.verdict != "" {
		text = o.verdict + " (" + text + ")"
	}
	return text
}
