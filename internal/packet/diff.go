package packet

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// ChangeKind is the kind of a change to a part of a packet.
type ChangeKind uint8

// The kinds of changes.
const (
	FieldChanged ChangeKind = iota
	LayerInserted
	LayerRemoved
	SumFixed  // correct for the changed packet
	SumBroken // not correct, though it was or need not have changed
	BytesChanged
	LengthChanged
)

// String returns the kind as one word, for use in JSON.
func (k ChangeKind) String() string {
	return [...]string{"field", "inserted", "removed", "csum-fixed", "csum-broken", "bytes", "length"}[k]
}

// Change is one difference between two packets.
type Change struct {
	Kind ChangeKind
	// Path is the path of the field or layer.
	Path string
	// Old and New are the values in the syntax of expressions; empty on the side that has none.
	Old, New string
}

// String returns "ip.ttl 64 -> 63", "ip.csum fixed", "vlan(id=5) inserted".
func (c Change) String() string {
	switch c.Kind {
	case LayerInserted:
		return c.New + " inserted"
	case LayerRemoved:
		return c.Old + " removed"
	case SumFixed:
		return c.Path + " fixed"
	case SumBroken:
		return fmt.Sprintf("%s broken: %s, right is %s", c.Path, c.Old, c.New)
	}
	return fmt.Sprintf("%s %s -> %s", c.Path, c.Old, c.New)
}

// Summary joins changes into one line; "" if there are none.
func Summary(changes []Change) string {
	parts := make([]string, len(changes))
	for i, c := range changes {
		parts[i] = c.String()
	}
	return strings.Join(parts, ", ")
}

// Diff lists the differences between two packets that begin with the same kind of header, in the
// order of the second: changed fields, inserted and removed layers, checksums that were or were not
// updated, and changed byte ranges of payload.
func Diff(before, after []byte, start Start) []Change {
	if bytes.Equal(before, after) {
		return nil
	}
	d := differ{a: before, b: after, ha: Decode(before, start), hb: Decode(after, start)}
	i, j := 0, 0
	for _, m := range d.match() {
		for ; i < m[0]; i++ {
			d.gone(i)
		}
		for ; j < m[1]; j++ {
			d.come(j)
		}
		d.layers(i, j)
		i, j = i+1, j+1
	}
	for ; i < len(d.ha.Layers); i++ {
		d.gone(i)
	}
	for ; j < len(d.hb.Layers); j++ {
		d.come(j)
	}
	return d.out
}

type differ struct {
	a, b   []byte
	ha, hb Headers
	out    []Change
}

// match pairs layers with the same name in order: as many as possible, and among those the most
// similar.
func (d *differ) match() (pairs [][2]int) {
	n, m := len(d.ha.Layers), len(d.hb.Layers)
	best := make([][]int, n+1)
	for i := range best {
		best[i] = make([]int, m+1)
	}
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if s := d.likeness(i, j); s > 0 {
				best[i][j] = max(best[i][j], s+best[i+1][j+1])
			}
		}
	}
	for i, j := 0, 0; i < n && j < m; {
		s := d.likeness(i, j)
		switch {
		case s > 0 && best[i][j] == s+best[i+1][j+1]:
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case best[i][j] == best[i+1][j]:
			i++
		default:
			j++
		}
	}
	return pairs
}

// likeness is 0 for layers of different kinds. Any pair scores more than the similarity of bytes
// can add.
func (d *differ) likeness(i, j int) int {
	x, y := &d.ha.Layers[i], &d.hb.Layers[j]
	if x.Name != y.Name {
		return 0
	}
	const pair = 1 << 12
	same := 0
	for k := range min(x.Len, y.Len, 64) {
		if d.a[x.Off+k] == d.b[y.Off+k] {
			same++
		}
	}
	return pair + same
}

func (d *differ) gone(i int) {
	l := d.ha.Layers[i]
	d.out = append(d.out, Change{Kind: LayerRemoved, Path: l.Path(), Old: l.describe(d.a)})
}

func (d *differ) come(j int) {
	l := d.hb.Layers[j]
	d.out = append(d.out, Change{Kind: LayerInserted, Path: l.Path(), New: l.describe(d.b)})
	if l.proto != nil {
		if state, want := d.hb.Sum(d.b, j); state == SumWrong {
			d.broken(l, want)
		}
	}
}

// layers compares two layers of the same kind.
func (d *differ) layers(i, j int) {
	x, y := d.ha.Layers[i], d.hb.Layers[j]
	if x.proto == nil {
		d.bytes(y.Path(), d.a[x.Off:x.Off+x.Len], d.b[y.Off:y.Off+y.Len])
		return
	}
	old := map[string]Field{}
	for _, f := range x.Fields(d.a) {
		old[f.Name] = f
	}
	var sums []Field // compared last: they depend on the rest
	for _, f := range y.Fields(d.b) {
		was, had := old[f.Name]
		if f.Format == Checksum {
			sums = append(sums, f)
			continue
		}
		delete(old, f.Name)
		if s := y.proto.spec(f.Name, d.b[y.Off:]); s != nil && s.alias {
			continue
		}
		switch {
		case !had:
			d.out = append(d.out, Change{Kind: FieldChanged, Path: f.Path(), Old: "none", New: f.Text(d.b)})
		case !bytes.Equal(was.Raw(d.a), f.Raw(d.b)):
			d.out = append(d.out, Change{Kind: FieldChanged, Path: f.Path(), Old: was.Text(d.a), New: f.Text(d.b)})
		}
	}
	for _, f := range sums {
		d.sum(i, j, old[f.Name], f)
		delete(old, f.Name)
	}
	for _, f := range x.Fields(d.a) {
		if _, left := old[f.Name]; left {
			d.out = append(d.out, Change{Kind: FieldChanged, Path: f.Path(), Old: f.Text(d.a), New: "none"})
		}
	}
}

// sum compares a checksum: what matters is whether it is correct, not its value.
func (d *differ) sum(i, j int, was, is Field) {
	before, _ := d.ha.Sum(d.a, i)
	after, want := d.hb.Sum(d.b, j)
	x, y := was.Raw(d.a), is.Raw(d.b)
	same := bytes.Equal(x, y)
	switch {
	case same && (after != SumWrong || before != SumRight):
	case after == SumRight:
		d.out = append(d.out, Change{Kind: SumFixed, Path: is.Path(), Old: was.Text(d.a), New: is.Text(d.b)})
	case after == SumWrong && (before == SumRight || x == nil):
		d.broken(d.hb.Layers[j], want)
	default:
		d.out = append(d.out, Change{Kind: FieldChanged, Path: is.Path(), Old: was.Text(d.a), New: is.Text(d.b)})
	}
}

func (d *differ) broken(l Layer, want uint64) {
	f, _ := l.Field(d.b, "csum")
	d.out = append(d.out, Change{Kind: SumBroken, Path: f.Path(), Old: f.Text(d.b), New: f.text(number(want, f.Bits))})
}

// shown is the maximum number of payload ranges listed.
const shown = 8

// bytes lists the differing ranges of two payloads, and a change of length.
func (d *differ) bytes(path string, x, y []byte) {
	if len(x) != len(y) {
		d.out = append(d.out, Change{Kind: LengthChanged, Path: path, Old: plural(len(x)), New: plural(len(y))})
	}
	n := min(len(x), len(y))
	ranges := 0
	for at := 0; at < n; {
		if x[at] == y[at] {
			at++
			continue
		}
		// A range may include gaps of fewer than four equal bytes.
		end := at + 1
		for same := 0; end+same < n && same < 4; {
			if x[end+same] != y[end+same] {
				end, same = end+same+1, 0
			} else {
				same++
			}
		}
		if ranges++; ranges > shown {
			d.out = append(d.out, Change{Kind: BytesChanged, Path: path, Old: "...", New: "more"})
			return
		}
		d.out = append(d.out, Change{Kind: BytesChanged, Path: fmt.Sprintf("%s[%d:%d]", path, at, end), Old: cutText(x[at:end]), New: cutText(y[at:end])})
		at = end
	}
}

func plural(n int) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

// cutText is bytesText limited to 16 bytes.
func cutText(b []byte) string {
	const most = 16
	if len(b) > most {
		return bytesText(b[:most]) + "..."
	}
	return bytesText(b)
}

// describe writes a layer as an expression, with the fields that identify it.
func (l Layer) describe(p []byte) string {
	if l.proto == nil {
		return fmt.Sprintf("%s of %s", l.Path(), plural(l.Len))
	}
	telling := []string{"src", "dst", "sport", "dport", "id", "vni", "key", "type", "proto", "op"}
	switch l.proto {
	case eth, ip, ip6:
		telling = []string{"src", "dst"}
	case vlan, qinq:
		telling = []string{"id"}
	}
	var args []string
	for _, f := range l.Fields(p) {
		if slices.Contains(telling, f.Name) {
			args = append(args, f.Name+"="+f.Text(p))
		}
	}
	return l.Path() + "(" + strings.Join(args, ",") + ")"
}

// Describe describes a packet on one line: its layers with their identifying fields, and the size
// of its payload.
func Describe(p []byte, start Start) string {
	h := Decode(p, start)
	if len(h.Layers) == 0 {
		return "empty packet"
	}
	parts := make([]string, len(h.Layers))
	for i, l := range h.Layers {
		parts[i] = l.Name
		if l.proto == nil {
			parts[i] = fmt.Sprintf("%s(%d)", l.Name, l.Len)
		} else if l.proto != eth {
			parts[i] = l.describe(p)
		}
	}
	return strings.Join(parts, "/")
}
