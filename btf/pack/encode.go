package pack

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/bpfrun/bpfrun/btf"
)

// builder makes the tables of a group.
type builder struct {
	tables
	byString map[string]uint32
	byHash   map[uint64]uint32 // numbers of labels, from 1
	byWords  map[string]uint32 // nodes, by their label and words
	size     int               // about the size in bytes of the tables
}

func newBuilder() *builder {
	return &builder{byString: map[string]uint32{}, byHash: map[uint64]uint32{}, byWords: map[string]uint32{}}
}

// str returns the index of a string.
func (b *builder) str(s string) uint32 {
	n, ok := b.byString[s]
	if !ok {
		n = uint32(len(b.strings))
		b.byString[s] = n
		b.strings = append(b.strings, s)
		b.size += len(s) + 1
	}
	return n
}

// number returns the number of a label; 0 is void's.
func (b *builder) number(hash uint64) uint32 {
	if hash == 0 {
		return 0
	}
	n, ok := b.byHash[hash]
	if !ok {
		n = uint32(len(b.byHash) + 1)
		b.byHash[hash] = n
	}
	return n
}

// node returns the index of a type whose words are names as indexes of strings and references as
// labels.
func (b *builder) node(label uint32, w []uint32) uint32 {
	key := binary.LittleEndian.AppendUint32(make([]byte, 0, 4*len(w)+4), label)
	for _, v := range w {
		key = binary.LittleEndian.AppendUint32(key, v)
	}
	n, ok := b.byWords[string(key)]
	if !ok {
		n = uint32(len(b.label))
		b.byWords[string(key)] = n
		b.label = append(b.label, label)
		b.nodes.at = append(b.nodes.at, uint32(len(b.nodes.words)))
		b.nodes.words = append(b.nodes.words, w...)
		b.size += 2*len(w) + 2
	}
	return n
}

// encode adds a kernel's types to the tables and returns what distinguishes the kernel, or nil if
// it cannot be rebuilt from that.
func (b *builder) encode(spec *btf.Spec) []byte {
	raw, order := spec.Raw(), spec.ByteOrder()
	typeAt, strAt := spec.Sections()
	own, ok := split(raw[typeAt.Off:typeAt.Off+typeAt.Len], order)
	if !ok {
		return nil
	}
	table, ok := stringsOf(raw[strAt.Off : strAt.Off+strAt.Len])
	if !ok || !table.hasNames(&own) {
		return nil
	}
	l := newLabels(&own, table)
	numbers := make([]uint32, len(own.at)+1)
	byLabel := map[uint32][]uint32{}
	for id := uint32(1); int(id) < len(numbers); id++ {
		n := b.number(l.of(id, 0))
		numbers[id] = n
		byLabel[n] = append(byLabel[n], id)
	}
	var nodes, choices []byte
	next := uint64(0)
	chosen := map[uint32]uint64{}
	used := use{seen: make([]bool, len(table.list))}
	var w []uint32
	for i := range own.at {
		w = append(w[:0], own.of(i)...)
		s, _ := shapeOf(w[1])
		s.each(func(i int, word btf.Word) {
			switch word {
			case btf.WordName:
				n := table.index[w[i]]
				used.add(n)
				w[i] = b.str(table.list[n])
			case btf.WordID:
				id := w[i]
				w[i] = numbers[id]
				if all := byLabel[w[i]]; len(all) > 1 {
					n, _ := slices.BinarySearch(all, id)
					choices = appendChoice(choices, uint64(n), chosen, w[i])
				}
			}
		})
		n := uint64(b.node(numbers[i+1], w))
		nodes = appendNear(nodes, n, next)
		next = n + 1
	}
	out := []byte{storedLittle, typesFirst}
	if order == binary.ByteOrder(binary.BigEndian) {
		out[0] = storedBig
	}
	first, second := typeAt, strAt
	if strAt.Off < typeAt.Off {
		first, second, out[1] = strAt, typeAt, stringsFirst
	}
	out = appendBytes(out, raw[:first.Off])
	out = appendBytes(out, raw[first.Off+first.Len:second.Off])
	out = appendBytes(out, raw[second.Off+second.Len:])
	out = appendBytes(out, nodes)
	out = appendBytes(out, choices)
	rest, sequence := b.encodeStrings(table, &used)
	return appendBytes(appendBytes(out, rest), sequence)
}

// encodeStrings returns the strings of a kernel that no type uses, and the order of all in its
// table: numbers of those that types use, in the order in which they do, and then of the others.
func (b *builder) encodeStrings(table *stringTable, used *use) (rest, sequence []byte) {
	place := make([]uint64, len(table.list))
	for n, i := range used.order {
		place[i] = uint64(n)
	}
	more, next := uint64(len(used.order)), uint64(0)
	for i, s := range table.list {
		if !used.seen[i] {
			place[i] = more
			more++
			n := uint64(b.str(s))
			rest = appendNear(rest, n, next)
			next = n + 1
		}
	}
	next = 0
	for _, p := range place {
		sequence = appendNear(sequence, p, next)
		next = p + 1
	}
	return rest, sequence
}

// appendChoice appends which of several types with a label is meant: 0 for the one that was meant
// the last time, at first the first one, else its number plus 1.
func appendChoice(out []byte, n uint64, chosen map[uint32]uint64, label uint32) []byte {
	if chosen[label] == n {
		return append(out, 0)
	}
	chosen[label] = n
	return binary.AppendUvarint(out, n+1)
}

// stringTable is that of a kernel.
type stringTable struct {
	list  []string
	index map[uint32]int // by offset
}

// stringsOf reads a string table; ok is false where it has no end.
func stringsOf(data []byte) (t *stringTable, ok bool) {
	t = &stringTable{index: map[uint32]int{}}
	for off := 0; off < len(data); {
		n := bytes.IndexByte(data[off:], 0)
		if n < 0 {
			return nil, false
		}
		t.index[uint32(off)] = len(t.list)
		t.list = append(t.list, string(data[off:off+n]))
		off += n + 1
	}
	return t, true
}

// hasNames reports whether every name is a whole string of the table.
func (t *stringTable) hasNames(own *types) bool {
	all := true
	for i := range own.at {
		w := own.of(i)
		s, _ := shapeOf(w[1])
		s.each(func(i int, word btf.Word) {
			if word == btf.WordName {
				_, ok := t.index[w[i]]
				all = all && ok
			}
		})
	}
	return all
}

// use is the order in which strings are used.
type use struct {
	seen  []bool
	order []int
}

func (u *use) add(i int) {
	if !u.seen[i] {
		u.seen[i] = true
		u.order = append(u.order, i)
	}
}
