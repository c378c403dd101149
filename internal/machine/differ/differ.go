// Package differ says in what two runs of the same input differ that were made by two builds of a
// program or on two kernels.
//
// Addresses are no results, and neither is where something is: variables and members of values are
// compared by name, and only those that both builds have. The package does not make runs. Start
// from [Between].
package differ

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/loader"
)

// Run is the result of a run, and the object whose maps it changed.
type Run struct {
	*machine.Result
	Linked *loader.Linked
}

// Between says in what the results of two runs differ, "" if in nothing.
func Between(a, b Run) string {
	if a.Ran != b.Ran || (a.Fault == nil) != (b.Fault == nil) {
		return fmt.Sprintf("the run ends as %s, but as %s", a.Status, b.Status)
	}
	if !a.Ran || a.Fault != nil {
		return ""
	}
	if uint32(a.Ret) != uint32(b.Ret) {
		return fmt.Sprintf("the return value is %d, but %d", int32(uint32(a.Ret)), int32(uint32(b.Ret)))
	}
	if !bytes.Equal(a.PacketOut, b.PacketOut) {
		return "the packet differs (" + packet.Summary(packet.Diff(b.PacketOut, a.PacketOut, packet.Ethernet)) + ")"
	}
	if len(a.Events) != len(b.Events) {
		return fmt.Sprintf("%d records are sent, but %d", len(a.Events), len(b.Events))
	}
	for i := range a.Events {
		if x, y := &a.Events[i], &b.Events[i]; x.Map != y.Map || !sameBytes(x.Data, y.Data) {
			return fmt.Sprintf("record %d of %s differs", i, x.Map) + recordsDiffer(x, y)
		}
	}
	if text := mapsDiffer(a, b); text != "" {
		return "maps differ: " + text
	}
	if x, y := strings.Join(a.Trace, "\n"), strings.Join(b.Trace, "\n"); x != y {
		return "lines of bpf_printk differ"
	}
	return ""
}

// recordsDiffer says where the bytes of two records of a map differ.
func recordsDiffer(x, y *machine.Event) string {
	a, b := withoutAddresses(x.Data), withoutAddresses(y.Data)
	i := firstDifference(a, b)
	switch {
	case x.Map != y.Map:
		return ": it is sent to " + y.Map
	case i == min(len(a), len(b)):
		return fmt.Sprintf(": it has %d bytes, but %d", len(a), len(b))
	}
	return fmt.Sprintf(": byte %d is %02x, but %02x", i, a[i], b[i])
}

// sameBytes compares bytes without what may be an address of the kernel.
func sameBytes(a, b []byte) bool {
	return bytes.Equal(withoutAddresses(a), withoutAddresses(b))
}

// withoutAddresses clears aligned words that look like addresses of the kernel. None has one of the
// last 4095, which are errors (IS_ERR_VALUE).
func withoutAddresses(p []byte) []byte {
	const first, errors = 0xff80_0000_0000_0000, 1<<64 - 4095
	out := bytes.Clone(p)
	for i := 0; i+8 <= len(out); i += 8 {
		if v := binary.LittleEndian.Uint64(out[i:]); v >= first && v < errors {
			clear(out[i : i+8])
		}
	}
	return out
}

// change is a variable, or a member of an element, that a run changed. A deleted one has no data.
type change struct {
	place string
	data  []byte // without addresses
	spec  *btf.Spec
	typ   btf.ID // 0 without types
}

// changes are what a run changed in maps that the other object has too, by place.
func changes(r Run, other *loader.Linked) []change {
	var out []change
	for _, c := range r.Changes {
		place := fmt.Sprintf("%s[%x]", c.Map, withoutAddresses(c.Key))
		if c.CPU >= 0 {
			place += fmt.Sprintf(" on CPU %d", c.CPU)
		}
		parts := partsOf(r.Linked, other, c.Map)
		switch {
		case c.New == nil:
			out = append(out, change{place: place})
		case parts == nil:
			spec, typ := valueType(r.Linked, c.Map)
			out = append(out, change{place, withoutAddresses(c.New), spec, typ})
		}
		for _, p := range parts {
			if c.New == nil || int(p.off+p.size) > len(c.New) {
				continue
			}
			value := c.New[p.off : p.off+p.size]
			if p.variable && len(c.Old) == len(c.New) && bytes.Equal(c.Old[p.off:p.off+p.size], value) {
				continue // another variable of the section changed
			}
			at := place + "." + p.name
			if p.variable {
				at = p.name
			}
			out = append(out, change{at, withoutAddresses(value), r.Linked.Object.BTF, p.typ})
		}
	}
	slices.SortStableFunc(out, func(a, b change) int { return strings.Compare(a.place, b.place) })
	return out
}

// part is a variable of a section, or a member of a value.
type part struct {
	name      string
	off, size uint32
	variable  bool
	typ       btf.ID
}

// valueType is the type of a map's values, 0 if it is not known.
func valueType(l *loader.Linked, name string) (*btf.Spec, btf.ID) {
	if l == nil || l.Object.BTF == nil {
		return nil, 0
	}
	if m, ok := l.Map(name); ok {
		return l.Object.BTF, m.ValueType
	}
	return nil, 0
}

// partsOf returns the parts of the values of a map that both objects have; nil if values are
// compared whole. Without objects they are.
func partsOf(l, other *loader.Linked, name string) []part {
	if l == nil || other == nil {
		return nil
	}
	own, theirs := parts(l, name), parts(other, name)
	if own == nil || theirs == nil {
		return nil
	}
	return slices.DeleteFunc(own, func(p part) bool {
		return !slices.ContainsFunc(theirs, func(q part) bool { return q.name == p.name })
	})
}

func parts(l *loader.Linked, name string) []part {
	m, ok := l.Map(name)
	if !ok {
		return nil
	}
	if m.DataKind != loader.DataNone {
		var out []part
		for _, v := range m.Vars {
			out = append(out, part{v.Name, v.Off, v.Size, true, v.Type})
		}
		return out
	}
	if l.Object.BTF == nil || m.ValueType == 0 {
		return nil
	}
	return members(l.Object.BTF, m.ValueType)
}

// members returns the members of a struct; nil for other types and for structs with bitfields or
// members without a name, which are compared whole.
func members(spec *btf.Spec, id btf.ID) []part {
	t := spec.SkipMods(id)
	if t.Kind != btf.KindStruct {
		return nil
	}
	var out []part
	for i := range t.Members {
		f := &t.Members[i]
		size, err := spec.Sizeof(f.Type)
		if err != nil || f.Name == "" || f.BitfieldSize != 0 {
			return nil
		}
		out = append(out, part{f.Name, f.BitOffset / 8, uint32(size), false, f.Type})
	}
	return out
}

// mapsDiffer says which place the runs left with different values, "" if none.
func mapsDiffer(a, b Run) string {
	x, y := changes(a, b.Linked), changes(b, a.Linked)
	for len(x)+len(y) > 0 {
		switch {
		case len(y) == 0 || len(x) > 0 && x[0].place < y[0].place:
			return x[0].text() + ", but nothing"
		case len(x) == 0 || y[0].place < x[0].place:
			return "nothing, but " + y[0].text()
		case (x[0].data == nil) != (y[0].data == nil):
			return x[0].text() + ", but " + y[0].text()
		case !bytes.Equal(x[0].data, y[0].data):
			return x[0].unlike(&y[0])
		}
		x, y = x[1:], y[1:]
	}
	return ""
}

// shown is how many bytes of a value are shown: of longer ones the first that differ are.
const shown = 8

func (c *change) text() string {
	if c.data == nil {
		return c.place + " deleted"
	}
	if len(c.data) > shown {
		return fmt.Sprintf("%s = %x... (%d bytes)", c.place, c.data[:shown], len(c.data))
	}
	return fmt.Sprintf("%s = %x", c.place, c.data)
}

// unlike says in what two values of one place differ.
func (c *change) unlike(d *change) string {
	i := firstDifference(c.data, d.data)
	switch {
	case len(c.data) != len(d.data) && i == min(len(c.data), len(d.data)):
		return fmt.Sprintf("%s has %d bytes, but %d", c.place, len(c.data), len(d.data))
	case len(c.data) <= shown && len(d.data) <= shown:
		return c.text() + ", but " + d.text()
	}
	path, from, to := c.fieldAt(i)
	if to > len(d.data) {
		path, from, to = fmt.Sprintf("+%d", i), i, i+1
	}
	at := c.place + path
	return fmt.Sprintf("%s = %x, but %s = %x", at, c.data[from:to], at, d.data[from:to])
}

// fieldAt returns the path to the field that a byte of a value is in, and the field's bytes;
// without types the byte alone.
func (c *change) fieldAt(i int) (path string, from, to int) {
	if c.spec != nil && c.typ != 0 {
		if path, f, _ := c.spec.FieldAt(c.typ, uint32(i), 1); path != "" && f.BitSize == 0 {
			size, _ := c.spec.Sizeof(f.Type)
			if path[0] != '[' && path[0] != '.' {
				path = "." + path
			}
			if from, to = int(f.Offset()), int(f.Offset())+int(size); from <= i && i < to && to <= len(c.data) && to-from <= shown {
				return path, from, to
			}
		}
	}
	return fmt.Sprintf("+%d", i), i, i + 1
}

func firstDifference(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
