package matrix

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/loader"
)

// maxDifferences limits the differences that are listed for one cell.
const maxDifferences = 4

// compareRow marks the cells whose outcome differs from the reference: the base, or if the program
// did not run there, the first kernel on which it did.
func compareRow(row *Row, outcomes []*outcome, base int, targets []Target) {
	ref := reference(outcomes, base)
	for k, o := range outcomes {
		if o == nil || k == ref || row.Cells[k].Result != RunOK {
			continue
		}
		if !o.comparable(outcomes[ref]) {
			c := *row.Cells[k] // others share it
			c.Load = LoadUnknown
			c.explain("ran with untyped arguments, not compared: the kernel's BTF has no function of the program's name")
			row.Cells[k] = &c
			continue
		}
		diffs := o.differences(outcomes[ref])
		if len(diffs) == 0 {
			continue
		}
		c := *row.Cells[k]
		c.Result = RunDiffers
		c.differs = explainDifferences(targets[ref].Name, diffs)
		c.explain("%s", c.differs)
		row.Cells[k] = &c
	}
}

// comparable reports whether differences between two outcomes mean something.
func (o *outcome) comparable(ref *outcome) bool { return !o.untyped || ref.untyped }

// reference returns the index of the kernel that a program's outcomes are compared with: the base,
// or if the program did not run there, the first on which it did. It returns -1 if there is none.
func reference(outcomes []*outcome, base int) int {
	if base >= 0 && base < len(outcomes) && outcomes[base] != nil {
		return base
	}
	return slices.IndexFunc(outcomes, func(o *outcome) bool { return o != nil })
}

func explainDifferences(base string, diffs []string) string {
	if len(diffs) > maxDifferences {
		more := len(diffs) - maxDifferences
		diffs = append(diffs[:maxDifferences:maxDifferences], fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("differs from %s: %s", base, strings.Join(diffs, "; "))
}

// differences lists how o differs from ref.
func (o *outcome) differences(ref *outcome) []string {
	if o == ref {
		return nil
	}
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if o.ret != ref.ret {
		add("returns %s, not %s", o.retText(), ref.retText())
	}
	if len(o.events) != len(ref.events) {
		add("sends %s, not %d", count(len(o.events), "event"), len(ref.events))
	} else {
		for i := range o.events {
			out = append(out, o.eventDifference(&o.events[i], ref, &ref.events[i])...)
		}
	}
	out = append(out, o.changeDifferences(ref)...)
	if !bytes.Equal(o.packet, ref.packet) {
		out = append(out, packetDifference(o.packet, ref.packet))
	}
	if !slices.Equal(o.effects, ref.effects) {
		add("effects %s, not %s", list(o.effects), list(ref.effects))
	}
	return out
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func list(s []string) string {
	if len(s) == 0 {
		return "none"
	}
	return strings.Join(s, ", ")
}

func packetDifference(a, b []byte) string {
	if len(a) != len(b) {
		return fmt.Sprintf("packet has %d bytes, not %d", len(a), len(b))
	}
	i := firstDifference(a, b)
	return fmt.Sprintf("packet byte %d is %#02x, not %#02x", i, a[i], b[i])
}

func (o *outcome) eventDifference(e *event, ref *outcome, r *event) []string {
	if e.channel != r.channel {
		return []string{fmt.Sprintf("event to %s, not to %s", e.channel, r.channel)}
	}
	return o.valueDifferences("event "+e.channel, e.typ, e.data, ref, r.data)
}

// changeDifferences compares the elements that the two runs changed, by map and key.
func (o *outcome) changeDifferences(ref *outcome) []string {
	var out []string
	i, j := 0, 0
	for i < len(o.changes) || j < len(ref.changes) {
		switch {
		case j == len(ref.changes) || i < len(o.changes) && o.changes[i].id < ref.changes[j].id:
			out = append(out, o.onlyHere(&o.changes[i], "only here"))
			i++
		case i == len(o.changes) || ref.changes[j].id < o.changes[i].id:
			out = append(out, ref.onlyHere(&ref.changes[j], "not here"))
			j++
		default:
			out = append(out, o.changeDifference(&o.changes[i], ref, &ref.changes[j])...)
			i++
			j++
		}
	}
	return out
}

func (o *outcome) onlyHere(c *change, where string) string {
	if c.deleted {
		return fmt.Sprintf("map %s deleted %s", c.place, where)
	}
	if c.def != nil && c.def.DataKind != loader.DataNone {
		return fmt.Sprintf("variables of %s changed %s", c.place, where)
	}
	return fmt.Sprintf("map %s set %s", c.place, where)
}

func (o *outcome) changeDifference(c *change, ref *outcome, r *change) []string {
	switch {
	case c.deleted != r.deleted:
		if c.deleted {
			return []string{"map " + c.place + " deleted only here"}
		}
		return []string{"map " + c.place + " deleted, but not here"}
	case bytes.Equal(c.val, r.val):
		return nil
	case c.def != nil && c.def.DataKind != loader.DataNone:
		return o.globalDifferences(c, ref, r)
	}
	typ := btf.ID(0)
	if c.def != nil {
		typ = c.def.ValueType
	}
	return o.valueDifferences("map "+c.place, typ, c.val, ref, r.val)
}

// globalDifferences lists the variables of a data section that differ.
func (o *outcome) globalDifferences(c *change, ref *outcome, r *change) []string {
	var out []string
	for _, v := range c.def.Vars {
		end := uint64(v.Off) + uint64(v.Size)
		if end > uint64(len(c.val)) || end > uint64(len(r.val)) {
			continue
		}
		out = append(out, o.valueDifferences("global "+v.Name, v.Type, c.val[v.Off:end], ref, r.val[v.Off:end])...)
	}
	if len(out) == 0 {
		out = append(out, fmt.Sprintf("%s differs outside of its variables", c.place))
	}
	return out
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// valueDifferences lists the differing fields of a typed value, or the differing words of an
// untyped one.
func (o *outcome) valueDifferences(what string, typ btf.ID, a []byte, ref *outcome, b []byte) []string {
	if len(a) != len(b) {
		return []string{fmt.Sprintf("%s has %d bytes, not %d", what, len(a), len(b))}
	}
	var out []string
	for at := 0; at < len(a) && len(out) <= maxDifferences; {
		i := firstDifference(a[at:], b[at:])
		if i == len(a)-at {
			break
		}
		at += i
		f, ok := o.fieldAt(typ, at, len(a))
		if ok && f.BitSize != 0 {
			for _, d := range o.bitfieldDifferences(what, f, at, a, b) {
				if !slices.Contains(out, d) {
					out = append(out, d)
				}
			}
			at++
			continue
		}
		lo, hi, name := at&^7, min(at&^7+8, len(a)), what
		switch {
		case ok:
			lo, hi = int(f.Offset()), int(f.Offset())+o.size(f.Type)
			if f.Path != "" {
				name += "." + f.Path
			}
		case hi-lo < len(a):
			name += fmt.Sprintf(" byte %d", lo)
		}
		here, there := o.text(f.Type, a[lo:hi]), ref.text(f.Type, b[lo:hi])
		if here == there { // a string is shown to its end
			i := firstDifference(a[lo:hi], b[lo:hi])
			here, there = fmt.Sprintf("%s with byte %d %#02x", here, i, a[lo+i]), fmt.Sprintf("%#02x", b[lo+i])
		}
		out = append(out, fmt.Sprintf("%s = %s, not %s", name, here, there))
		at = hi
	}
	return out
}

// fieldAt returns the innermost field that holds byte at of a value of size bytes. An array's
// elements count as one field. ok is false when the type has no field there.
func (o *outcome) fieldAt(typ btf.ID, at, size int) (f btf.Field, ok bool) {
	if o.spec == nil || typ == 0 {
		return btf.Field{}, false
	}
	path, f, _ := o.spec.FieldAt(typ, uint32(at), 1)
	if i := strings.LastIndexByte(path, '['); i > 0 && strings.HasSuffix(path, "]") {
		if whole, err := o.spec.ResolvePath(typ, path[:i]); err == nil {
			f = whole
		}
	}
	if f.BitSize != 0 {
		return f, true
	}
	lo, n := int(f.Offset()), o.size(f.Type)
	if lo > at || at >= lo+n || lo+n > size {
		return btf.Field{}, false
	}
	return f, true
}

func (o *outcome) size(typ btf.ID) int {
	n, err := o.spec.Sizeof(typ)
	if err != nil {
		return 0
	}
	return int(n)
}

// bitfieldDifferences lists the differing bitfields next to f that have bits in byte at.
func (o *outcome) bitfieldDifferences(what string, f btf.Field, at int, a, b []byte) []string {
	parent := o.spec.MustType(f.Parent)
	prefix := f.Path[:strings.LastIndexByte(f.Path, '.')+1]
	name := f.Path[len(prefix):]
	start := f.BitOffset
	for i := range parent.Members {
		if m := &parent.Members[i]; m.Name == name {
			off, _ := o.spec.MemberBits(parent, m)
			start -= off
		}
	}
	var out []string
	for i := range parent.Members {
		m := &parent.Members[i]
		off, width := o.spec.MemberBits(parent, m)
		lo, hi := int(start+off), int(start+off+width)
		if m.Name == "" || width == 0 || hi <= at*8 || lo >= at*8+8 {
			continue
		}
		g := btf.Field{Path: prefix + m.Name, Type: m.Type, BitOffset: start + off, BitSize: width, Parent: f.Parent}
		x, err1 := o.spec.DecodeField(g, a)
		y, err2 := o.spec.DecodeField(g, b)
		if s, t := btf.FormatValue(x, btf.FormatOptions{}), btf.FormatValue(y, btf.FormatOptions{}); err1 == nil && err2 == nil && s != t {
			out = append(out, fmt.Sprintf("%s.%s = %s, not %s", what, g.Path, s, t))
		}
	}
	return out
}
