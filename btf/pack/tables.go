package pack

import (
	"bytes"
	"encoding/binary"

	"github.com/bpfrun/bpfrun/btf"
)

// tables are what the kernels of a group have in common: strings, and nodes, which are types with
// labels in place of ids.
type tables struct {
	strings []string
	nodes   types // names are indexes of strings, ids are labels
	label   []uint32
}

// marshal returns the tables as columns.
func (t *tables) marshal() []byte {
	var cols [columns][]byte
	for _, s := range t.strings {
		cols[colStrings] = append(append(cols[colStrings], s...), 0)
	}
	put := func(col int, v uint32) { cols[col] = binary.AppendUvarint(cols[col], uint64(v)) }
	next := uint64(0)
	for i := range t.nodes.at {
		w := t.nodes.of(i)
		put(colInfo, w[1])
		cols[colLabel] = appendNear(cols[colLabel], uint64(t.label[i]), next)
		next = uint64(t.label[i]) + 1
		s, _ := shapeOf(w[1])
		s.each(func(i int, word btf.Word) { put(columnOf(word), w[i]) })
	}
	var out []byte
	for _, c := range cols {
		out = appendBytes(out, c)
	}
	return out
}

func columnOf(word btf.Word) int {
	switch word {
	case btf.WordName:
		return colName
	case btf.WordID:
		return colID
	}
	return colNumber
}

// unmarshal reads tables.
func unmarshal(data []byte) (*tables, error) {
	in := input{data: data}
	var cols [columns]input
	for i := range cols {
		cols[i].data = in.bytes()
	}
	if in.err == nil && len(in.data) > 0 {
		in.fail("%d bytes follow the tables", len(in.data))
	}
	if in.err != nil {
		return nil, in.err
	}
	t := &tables{}
	for strs := cols[colStrings].data; len(strs) > 0; {
		n := bytes.IndexByte(strs, 0)
		if n < 0 {
			return nil, malformed("a string has no end")
		}
		t.strings = append(t.strings, string(strs[:n]))
		strs = strs[n+1:]
	}
	// Every label is that of some node, and a node has at least one byte.
	maxLabel := uint64(len(cols[colInfo].data)) + 1
	next := uint64(0)
	for len(cols[colInfo].data) > 0 {
		info := cols[colInfo].word()
		s, ok := shapeOf(info)
		if !ok {
			return nil, malformed("kind %d is unknown", btf.Info(info).Kind())
		}
		label := cols[colLabel].near(next, maxLabel)
		next = label + 1
		t.label = append(t.label, uint32(label))
		t.nodes.at = append(t.nodes.at, uint32(len(t.nodes.words)))
		failed := false
		s.each(func(i int, word btf.Word) {
			c := &cols[columnOf(word)]
			if failed = failed || c.err != nil; failed {
				return
			}
			limit := uint64(1) << 32
			switch word {
			case btf.WordName:
				limit = uint64(len(t.strings))
			case btf.WordID:
				limit = maxLabel
			}
			t.nodes.words = append(t.nodes.words, uint32(c.uint(limit)))
			if i == 0 {
				t.nodes.words = append(t.nodes.words, info)
			}
		})
		for i := range cols {
			if err := cols[i].err; err != nil {
				return nil, err
			}
		}
	}
	for i := colInfo; i < columns; i++ {
		if len(cols[i].data) > 0 {
			return nil, malformed("a column has %d bytes more than the nodes", len(cols[i].data))
		}
	}
	return t, nil
}

// rebuild returns the raw BTF of a kernel from what [builder.encode] returned.
func (t *tables) rebuild(stored []byte) ([]byte, error) {
	if len(stored) == 0 {
		return nil, malformed("a kernel without content")
	}
	if stored[0] == storedRaw {
		return bytes.Clone(stored[1:]), nil
	}
	if stored[0] > storedBig || len(stored) < 2 || stored[1] > stringsFirst {
		return nil, malformed("a kernel is stored in an unknown way")
	}
	in := input{data: stored[2:]}
	var gaps [3][]byte
	for i := range gaps {
		gaps[i] = in.bytes()
	}
	k := kernel{tables: t}
	nodes, choices, rest, sequence := input{data: in.bytes()}, input{data: in.bytes()}, input{data: in.bytes()}, input{data: in.bytes()}
	if in.err == nil && len(in.data) > 0 {
		in.fail("%d bytes follow a kernel", len(in.data))
	}
	if in.err != nil {
		return nil, in.err
	}
	steps := []func() error{
		func() error { return k.readNodes(nodes) },
		func() error { return k.readTypes(choices) },
		func() error { return k.readStrings(rest, sequence) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	order := binary.AppendByteOrder(binary.LittleEndian)
	if stored[0] == storedBig {
		order = binary.BigEndian
	}
	section := make([]byte, 0, 4*len(k.words))
	for _, v := range k.words {
		section = order.AppendUint32(section, v)
	}
	first, second := section, k.table
	if stored[1] == stringsFirst {
		first, second = second, first
	}
	return bytes.Join([][]byte{gaps[0], first, gaps[1], second, gaps[2]}, nil), nil
}

// kernel is the BTF of one while it is rebuilt.
type kernel struct {
	*tables
	sequence []uint32 // node of each type; the first is that of id 1
	words    []uint32 // of all types; names are indexes of used
	used     []uint32 // strings, in the order of use
	table    []byte   // of strings
}

func (k *kernel) readNodes(in input) error {
	next := uint64(0)
	for len(in.data) > 0 {
		n := in.near(next, uint64(len(k.nodes.at)))
		next = n + 1
		k.sequence = append(k.sequence, uint32(n))
	}
	return in.err
}

// readTypes makes ids of labels, and lists the strings.
func (k *kernel) readTypes(choices input) error {
	// Types by their labels: those of label n are byLabel[first[n]:first[n+1]].
	top := uint32(0)
	for _, n := range k.sequence {
		top = max(top, k.label[n])
	}
	first := make([]uint32, top+2)
	for _, n := range k.sequence {
		first[k.label[n]+1]++
	}
	for i := 1; i < len(first); i++ {
		first[i] += first[i-1]
	}
	byLabel, filled := make([]uint32, len(k.sequence)), make([]uint32, top+1)
	for i, n := range k.sequence {
		label := k.label[n]
		byLabel[first[label]+filled[label]] = uint32(i) + 1
		filled[label]++
	}
	chosen := make([]uint32, top+1)
	place := make([]uint32, len(k.strings)) // in used, plus 1
	err := error(nil)
	for _, n := range k.sequence {
		w := k.nodes.of(int(n))
		if 4*(len(k.words)+len(w)) > btf.MaxRaw {
			return malformed("a kernel's types have more than %d bytes", btf.MaxRaw)
		}
		at := len(k.words)
		k.words = append(k.words, w...)
		w = k.words[at:]
		s, _ := shapeOf(w[1])
		s.each(func(i int, word btf.Word) {
			switch {
			case word == btf.WordName:
				if place[w[i]] == 0 {
					k.used = append(k.used, w[i])
					place[w[i]] = uint32(len(k.used))
				}
				w[i] = place[w[i]] - 1
			case word != btf.WordID || w[i] == 0 || err != nil:
			case w[i] > top || filled[w[i]] == 0:
				err = malformed("a type refers to a label that no type of the kernel has")
			default:
				label, n := w[i], filled[w[i]]
				if n > 1 {
					if c := uint32(choices.uint(uint64(n) + 1)); c > 0 {
						chosen[label] = c - 1
					}
				}
				w[i] = byLabel[first[label]+chosen[label]]
			}
		})
		if err != nil {
			return err
		}
	}
	if choices.err == nil && len(choices.data) > 0 {
		choices.fail("%d bytes follow the choices", len(choices.data))
	}
	return choices.err
}

// readStrings makes the string table, and offsets of the names.
func (k *kernel) readStrings(rest, sequence input) error {
	next := uint64(0)
	for len(rest.data) > 0 {
		n := rest.near(next, uint64(len(k.strings)))
		next = n + 1
		k.used = append(k.used, uint32(n))
	}
	if rest.err != nil {
		return rest.err
	}
	const missing = ^uint32(0)
	offs := make([]uint32, len(k.used))
	for i := range offs {
		offs[i] = missing
	}
	next = 0
	for len(sequence.data) > 0 {
		n := sequence.near(next, uint64(len(k.used)))
		if sequence.err != nil {
			return sequence.err
		}
		next = n + 1
		s := k.strings[k.used[n]]
		if offs[n] != missing || len(k.table)+len(s) >= btf.MaxRaw {
			return malformed("a string is twice in a table, or the table has more than %d bytes", btf.MaxRaw)
		}
		offs[n] = uint32(len(k.table))
		k.table = append(append(k.table, s...), 0)
	}
	for at := 0; at < len(k.words); {
		w := k.words[at:]
		s, _ := shapeOf(w[1])
		bad := false
		s.each(func(i int, word btf.Word) {
			if word == btf.WordName {
				bad = bad || offs[w[i]] == missing
				w[i] = offs[w[i]]
			}
		})
		if bad {
			return malformed("a name is not in the string table")
		}
		at += s.len()
	}
	return nil
}
