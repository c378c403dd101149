package report

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// MapFormat is one of bpftool's layouts of map contents.
type MapFormat string

// Layouts of `bpftool map dump`: without options, with -j, and with -p.
const (
	MapPlain  MapFormat = "plain"
	MapJSON   MapFormat = "json"
	MapPretty MapFormat = "pretty"
)

// WriteMapDump writes the elements of a map as `bpftool map dump` does for a map with BTF: keys and
// values by their types and, in the JSON layouts, also their bytes. The plain layout is JSON except
// that bitfields and some other numbers are bare hexadecimal. spec holds the map's types; a map
// without types is written as bytes. cpus is the machine's number of CPUs.
func WriteMapDump(w io.Writer, spec *btf.Spec, m maps.Map, cpus int, format MapFormat) error {
	d := mapDump{spec: spec, m: m, plain: format == MapPlain, typed: spec != nil && m.Spec().ValueType != 0}
	d.pretty = format != MapJSON
	entries := allEntries(m, cpus, binary.LittleEndian)
	if spec != nil {
		entries = allEntries(m, cpus, spec.ByteOrder())
	}
	if d.plain && !d.typed {
		return writeBytes(w, entries)
	}
	d.begin('[')
	for _, e := range entries {
		if d.plain {
			d.entry(e)
			continue
		}
		d.begin('{')
		d.name("key")
		d.hex(e.Key)
		d.values(e, func(v []byte) { d.hex(v) })
		if d.typed {
			d.name("formatted")
			d.entry(e)
		}
		d.end('}')
	}
	d.end(']')
	_, err := io.WriteString(w, d.out.String()+"\n")
	return err
}

// allEntries returns the elements of a map, including the all-zero elements of arrays that Entries
// leaves out. If the array is too large to list, they stay left out.
func allEntries(m maps.Map, cpus int, order binary.ByteOrder) []maps.Entry {
	s := m.Spec()
	percpu := s.Type == uapi.MapTypePercpuArray
	if s.Type != uapi.MapTypeArray && !percpu || arraySize(s) > mostListed {
		return m.Entries()
	}
	present := map[uint32]maps.Entry{}
	for _, e := range m.Entries() {
		present[order.Uint32(e.Key)] = e
	}
	all := make([]maps.Entry, s.MaxEntries)
	for i := range all {
		e, ok := present[uint32(i)]
		if !ok {
			e.Key = make([]byte, 4)
			order.PutUint32(e.Key, uint32(i))
			if e.Value = make([]byte, s.ValueSize); percpu {
				e.Value, e.PerCPU = nil, slices.Repeat([][]byte{e.Value}, cpus)
			}
		}
		all[i] = e
	}
	return all
}

// mapDump writes JSON in the layout of bpftool's writer: each member of an object on its own line,
// indented by four spaces per level, and the elements of an array without line breaks between them.
type mapDump struct {
	spec   *btf.Spec
	m      maps.Map
	plain  bool
	pretty bool
	typed  bool

	out   strings.Builder
	depth int
	sep   bool // this level already has an element
	steps int  // types visited for the value being written
}

func (d *mapDump) begin(c byte) {
	d.comma()
	d.out.WriteByte(c)
	d.depth++
	d.sep = false
}

func (d *mapDump) end(c byte) {
	d.depth--
	if d.sep {
		d.line()
	}
	d.out.WriteByte(c)
	d.sep = true
}

func (d *mapDump) comma() {
	if d.sep {
		d.out.WriteByte(',')
	}
	d.sep = true
}

func (d *mapDump) line() {
	if d.pretty {
		d.out.WriteString("\n" + strings.Repeat("    ", d.depth))
	}
}

func (d *mapDump) name(s string) {
	if d.sep {
		d.out.WriteByte(',')
	}
	d.line()
	d.sep = false
	d.out.WriteString(quoted(s) + ":")
	if d.pretty {
		d.out.WriteByte(' ')
	}
}

func (d *mapDump) raw(s string) {
	d.comma()
	d.out.WriteString(s)
}

// quoted returns a string of JSON.
func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(visible.JSON{W: &b})
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // strings can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

func (d *mapDump) hex(p []byte) {
	d.begin('[')
	for _, b := range p {
		d.raw(quoted(fmt.Sprintf("0x%02x", b)))
	}
	// bpftool closes an array of bytes like any other array.
	d.end(']')
}

// values writes the member "value", or "values" for a per-CPU map.
func (d *mapDump) values(e maps.Entry, write func(v []byte)) {
	if e.PerCPU == nil {
		d.name("value")
		write(e.Value)
		return
	}
	d.name("values")
	d.begin('[')
	for cpu, v := range e.PerCPU {
		d.begin('{')
		d.name("cpu")
		d.raw(strconv.Itoa(cpu))
		d.name("value")
		write(v)
		d.end('}')
	}
	d.end(']')
}

// entry writes an element by its types.
func (d *mapDump) entry(e maps.Entry) {
	s := d.m.Spec()
	d.begin('{')
	if s.KeyType != 0 {
		d.name("key")
		d.typedValue(s.KeyType, e.Key)
	}
	d.values(e, func(v []byte) { d.typedValue(s.ValueType, v) })
	d.end('}')
}

// typedValue writes a value; data shorter than its type is padded with zeros.
func (d *mapDump) typedValue(id btf.ID, data []byte) {
	if n, err := d.spec.Sizeof(id); err == nil && n > int64(len(data)) {
		data = append(append(make([]byte, 0, n), data...), make([]byte, n-int64(len(data)))...)
	}
	d.steps = maxMapSteps + len(data)*8
	d.value(id, data, 0, 0)
}

// maxMapDepth limits the nesting of a value's type. maxMapSteps limits the types visited for one
// value, beyond its number of bytes: a hostile type graph can nest zero-sized members without end.
const (
	maxMapDepth = 64
	maxMapSteps = 1 << 16
)

// value writes the value that starts at bit of data. The caller ensures that data is as large as
// the type.
func (d *mapDump) value(id btf.ID, data []byte, bit uint32, depth int) {
	t := d.spec.SkipMods(id)
	d.steps--
	if t == nil || depth > maxMapDepth || d.steps < 0 {
		d.raw("null")
		return
	}
	switch t.Kind {
	case btf.KindInt:
		d.integer(t, data, bit)
	case btf.KindEnum, btf.KindEnum64:
		d.enumerator(t, data)
	case btf.KindPtr:
		d.pointer(d.number(data, 0, uint32(d.spec.PointerSize()*8)))
	case btf.KindFloat:
		d.raw(fmt.Sprint(d.spec.FormatJSON(t.ID, data)))
	case btf.KindArray:
		d.array(t, data, depth)
	case btf.KindStruct, btf.KindUnion:
		d.begin('{')
		for i := range t.Members {
			m := &t.Members[i]
			d.name(m.Name)
			from, at := data[min(int(m.BitOffset/8), len(data)):], m.BitOffset%8
			if m.BitfieldSize != 0 {
				d.bitfield(from, at, m.BitfieldSize)
				continue
			}
			d.value(m.Type, from, at, depth+1)
		}
		d.end('}')
	case btf.KindVar:
		d.begin('{')
		d.name(t.Name)
		d.value(t.Ref, data, 0, depth+1)
		d.end('}')
	case btf.KindDatasec:
		d.begin('{')
		d.name(t.Name)
		d.begin('[')
		for _, v := range d.placed(t) {
			d.value(v.Type, data[min(int(v.Offset), len(data)):], 0, depth+1)
		}
		d.end(']')
		d.end('}')
	default:
		d.raw("null")
	}
}

// placed returns the variables of a section by offset. The loader supplies the offsets, which the
// compiler leaves unset.
func (d *mapDump) placed(t *btf.Type) []btf.VarSecinfo {
	vars := slices.Clone(t.Vars)
	for i := range vars {
		if off, ok := d.m.Spec().Offsets[d.spec.Name(vars[i].Type)]; ok {
			vars[i].Offset = off
		}
	}
	slices.SortStableFunc(vars, func(a, b btf.VarSecinfo) int { return cmp.Compare(a.Offset, b.Offset) })
	return vars
}

// number reads n bits of data from bit on; data may end earlier.
func (d *mapDump) number(data []byte, bit, n uint32) *big.Int {
	raw := make([]byte, (bit+n+7)/8)
	copy(raw, data)
	v := new(big.Int)
	if d.spec.ByteOrder().String() == "LittleEndian" {
		for i, j := 0, len(raw)-1; i < j; i, j = i+1, j-1 {
			raw[i], raw[j] = raw[j], raw[i]
		}
		v.SetBytes(raw).Rsh(v, uint(bit))
	} else {
		v.SetBytes(raw).Rsh(v, uint(uint32(len(raw))*8-bit-n))
	}
	mask := new(big.Int).Lsh(big.NewInt(1), uint(n))
	return v.And(v, mask.Sub(mask, big.NewInt(1)))
}

// hexNumber writes a number in hexadecimal, as a string in JSON.
func (d *mapDump) hexNumber(v *big.Int) {
	s := "0x" + v.Text(16)
	if !d.plain {
		s = quoted(s)
	}
	d.raw(s)
}

func (d *mapDump) bitfield(data []byte, bit, n uint32) { d.hexNumber(d.number(data, bit, n)) }

// integer writes an integer. Old-style bitfields and 128-bit numbers are hexadecimal; smaller
// signed ones are then not sign-extended.
func (d *mapDump) integer(t *btf.Type, data []byte, bit uint32) {
	n := uint32(t.Int.Bits)
	if bit += uint32(t.Int.Offset); bit != 0 || n%8 != 0 || n > 64 {
		d.bitfield(data[min(int(bit/8), len(data)):], bit%8, n)
		return
	}
	v := d.number(data, 0, n)
	switch {
	case t.Int.Encoding == btf.IntBool:
		d.raw(strconv.FormatBool(v.Sign() != 0))
	case t.Int.Encoding == btf.IntChar && v.IsUint64() && v.Uint64() >= ' ' && v.Uint64() <= '~':
		d.raw(quoted(string(rune(v.Uint64()))))
	case t.Int.Encoding == btf.IntChar && d.plain:
		d.raw("0x" + v.Text(16))
	case t.Int.Encoding == btf.IntChar:
		d.raw(quoted(string(rune(v.Uint64() & 0xff))))
	case t.Int.Encoding&btf.IntSigned != 0:
		d.raw(signed(v, n).String())
	default:
		d.raw(v.String())
	}
}

func signed(v *big.Int, bits uint32) *big.Int {
	if bits > 0 && v.Bit(int(bits-1)) != 0 {
		return new(big.Int).Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(bits)))
	}
	return v
}

// enumerator writes the name of a value, or a signed number if it has no name.
func (d *mapDump) enumerator(t *btf.Type, data []byte) {
	v := d.number(data, 0, t.Size*8)
	want := signed(v, t.Size*8)
	for i := range t.Values {
		have := new(big.Int).SetUint64(t.Values[i].Value)
		if t.Size <= 8 && signed(have.And(have, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(t.Size*8)), big.NewInt(1))), t.Size*8).Cmp(want) == 0 {
			d.raw(quoted(t.Values[i].Name))
			return
		}
	}
	d.raw(want.String())
}

func (d *mapDump) pointer(v *big.Int) {
	switch {
	case !d.plain:
		d.raw(v.String())
	case v.Sign() == 0:
		d.raw(quoted("(nil)"))
	default:
		d.raw(quoted("0x" + v.Text(16)))
	}
}

func (d *mapDump) array(t *btf.Type, data []byte, depth int) {
	if s, ok := d.text(t, data); ok {
		d.raw(quoted(s))
		return
	}
	size, err := d.spec.Sizeof(t.Ref)
	d.begin('[')
	for i := int64(0); err == nil && i < int64(t.Array.Nelems) && (i+1)*size <= int64(len(data)); i++ {
		if size == 0 && i > 0 {
			break // zero-sized elements have no value to write
		}
		d.value(t.Ref, data[i*size:], 0, depth+1)
	}
	d.end(']')
}

// text returns the string in an array of char (not of a typedef of char) if it is terminated and
// printable.
func (d *mapDump) text(t *btf.Type, data []byte) (string, bool) {
	e := d.spec.MustType(t.Ref)
	for range maxMapDepth {
		if e.Kind != btf.KindConst && e.Kind != btf.KindVolatile && e.Kind != btf.KindRestrict {
			break
		}
		e = d.spec.MustType(e.Ref)
	}
	if e.Kind != btf.KindInt || e.Size != 1 || e.Int.Encoding != btf.IntChar && e.Name != "char" {
		return "", false
	}
	for i := 0; i < len(data) && uint64(i) < uint64(t.Array.Nelems); i++ {
		switch c := data[i]; {
		case c == 0:
			return string(data[:i]), true
		case c <= 0x1f || c >= 0x7f:
			return "", false
		}
	}
	return "", false
}

// writeBytes writes a map without types: short elements on one line, longer ones below their
// labels.
func writeBytes(w io.Writer, entries []maps.Entry) error {
	var b strings.Builder
	for _, e := range entries {
		keyLen := len(e.Key)
		if e.PerCPU != nil {
			visible.Fprintf(&b, "key:\n%s\n", hexBytes(e.Key))
			for cpu, v := range e.PerCPU {
				visible.Fprintf(&b, "value (CPU %02d):%s%s\n", cpu, gap(len(v) > 16), hexBytes(v))
			}
			continue
		}
		long := keyLen > 16 || len(e.Value) > 16
		if keyLen > 0 {
			visible.Fprintf(&b, "key:%s%s", gap(long), hexBytes(e.Key))
			if !long && keyLen+len(e.Value) <= 24 {
				b.WriteString("  ")
			} else {
				b.WriteByte('\n')
			}
		}
		visible.Fprintf(&b, "value:%s%s\n", gap(long), hexBytes(e.Value))
	}
	plural := "s"
	if len(entries) == 1 {
		plural = ""
	}
	visible.Fprintf(&b, "Found %d element%s\n", len(entries), plural)
	_, err := io.WriteString(w, b.String())
	return err
}

func gap(long bool) string {
	if long {
		return "\n"
	}
	return " "
}

// hexBytes formats pairs of digits, 16 to a line.
func hexBytes(p []byte) string {
	var b strings.Builder
	for i, c := range p {
		switch {
		case i == 0:
		case i%16 == 0:
			b.WriteByte('\n')
		case i%8 == 0:
			b.WriteString("  ")
		default:
			b.WriteByte(' ')
		}
		visible.Fprintf(&b, "%02x", c)
	}
	return b.String()
}
