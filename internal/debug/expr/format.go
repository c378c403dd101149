package expr

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/packet"
)

// Printer formats values and addresses as text. It has no state.
type Printer struct {
	*ground
	*Values
	Code CodeNames
}

// FormatOptions describes how a value is formatted. The zero value is the format of print.
type FormatOptions struct {
	// Letter is gdb's format letter: x hexadecimal, d signed, u unsigned, o octal, t binary, c
	// character, s string, a address; 0 depends on the type.
	Letter byte
	// Full shows every element and member.
	Full bool
	// Elements is the number of elements of arrays and maps to show, 0 for the default.
	Elements int
}

// maxElements is the number of map elements shown with a map.
const maxElements = 10

// Format formats a value, with a note if its memory was freed.
func (pr *Printer) Format(v *Value, opt FormatOptions) string {
	text := pr.format(v, opt)
	if v != nil && v.Kind == InMemory {
		if note := pr.Released(v.Addr); note != "" {
			text += " <" + note + ">"
		}
	}
	return text
}

// format is Format without the note.
func (pr *Printer) format(v *Value, opt FormatOptions) string {
	switch {
	case v == nil:
		return "void"
	case v.IsText:
		return strconv.Quote(v.Text)
	case v.Kind == WholeMap:
		return pr.formatMap(v, opt)
	case v.Kind == WholePacket:
		return pr.formatPacket(v)
	}
	switch {
	case v.Walk != nil:
		return pr.formatWalk(v.Walk, opt)
	case v.Layer != nil && opt.Letter == 0:
		return pr.formatLayer(v)
	case v.Field != nil && (opt.Letter == 0 || opt.Letter == 's'):
		return v.Field.Text(v.Data)
	}
	if opt.Letter != 0 {
		if text, ok := pr.formatAs(v, opt.Letter); ok {
			return text
		}
	}
	if text, ok := pr.formatIPv6(v); ok {
		return text
	}
	switch k := v.Type.Kind(); {
	case k == btf.KindPtr:
		return pr.formatPointer(v)
	case k == btf.KindFunc || k == btf.KindFuncProto:
		return pr.AddressText(v.Addr)
	case k.IsComposite() && v.Kind == InMemory && pr.memberwise(v.Addr):
		return pr.formatKernel(v, opt)
	case k == btf.KindInt && len(v.Data) <= 8 && networkOrder(v.Type):
		return pr.formatNetwork(v)
	case k == btf.KindArray && v.Kind == InMemory && pr.isView(v.Addr):
		return pr.formatArray(v, opt)
	case v.bitSize != 0:
		d, err := v.Type.Spec.DecodeField(btf.Field{Type: v.Type.ID, BitOffset: v.bitOff, BitSize: v.bitSize}, v.Data)
		if err != nil {
			return "<" + err.Error() + ">"
		}
		return btf.FormatValue(d, btf.FormatOptions{})
	case v.Type.Elems > 0:
		return pr.formatArray(v, opt)
	case v.Type.IsChar():
		return fmt.Sprintf("%d %s", int8(v.Data[0]), strconv.QuoteRune(rune(v.Data[0])))
	case v.Kind == InRegister && len(v.Data) == 8:
		if addr := pr.Uint(v.Data); pr.AddressName(addr) != "" {
			return pr.AddressText(addr)
		}
	}
	var b strings.Builder
	o := btf.FormatOptions{}
	switch {
	case opt.Full:
		o.MaxElems, o.MaxBytes = -1, -1
	case opt.Elements > 0:
		o.MaxElems, o.MaxBytes = opt.Elements, opt.Elements
	}
	if err := v.Type.Spec.Format(&b, v.Type.ID, v.Data, o); err != nil {
		return "<" + err.Error() + ">"
	}
	return b.String()
}

// formatAs formats an integer as its format letter demands; ok is false for a value that is not an
// integer.
func (pr *Printer) formatAs(v *Value, letter byte) (text string, ok bool) {
	if letter == 's' {
		text, err := pr.textOf(v)
		return strconv.Quote(text), err == nil
	}
	if v.Type.IsComposite() {
		return pr.formatMembersAs(v, letter)
	}
	if v.Type.Kind() == btf.KindArray {
		if strings.IndexByte("xduot", letter) < 0 {
			return "", false
		}
		var parts []string
		for i := range min(v.Type.Count(), 256) {
			e, err := pr.Index(v, int64(i))
			if err != nil {
				break
			}
			p, ok := pr.formatAs(e, letter)
			if !ok {
				return "", false
			}
			parts = append(parts, p)
		}
		return "{" + strings.Join(parts, ", ") + "}", true
	}
	n, _, err := pr.AsInt(v)
	if err != nil {
		return "", false
	}
	bits := 8 * len(v.Data)
	if v.Field != nil {
		bits = v.Field.Bits
	}
	if v.bitSize != 0 {
		bits = int(v.bitSize)
	}
	if bits > 0 && bits < 64 && letter != 'd' {
		n &= 1<<bits - 1
	}
	switch letter {
	case 'x':
		return fmt.Sprintf("%#x", n), true
	case 'd':
		if bits > 0 && bits < 64 {
			n = uint64(int64(n<<(64-bits)) >> (64 - bits))
		}
		return strconv.FormatInt(int64(n), 10), true
	case 'u':
		return strconv.FormatUint(n, 10), true
	case 'o':
		return fmt.Sprintf("%#o", n), true
	case 't':
		return strconv.FormatUint(n, 2), true
	case 'c':
		return strconv.QuoteRune(rune(byte(n))), true
	case 'a':
		return pr.AddressText(n), true
	}
	return "", false
}

// formatMembersAs formats the members of a plain struct by a format letter; ok is false for kernel
// objects, which may have unset fields.
func (pr *Printer) formatMembersAs(v *Value, letter byte) (string, bool) {
	if strings.IndexByte("xduot", letter) < 0 || v.Kind == InMemory && pr.memberwise(v.Addr) {
		return "", false
	}
	base := v.Type.base()
	var parts []string
	for i := range base.Members {
		m := &base.Members[i]
		bit, width := v.Type.Spec.MemberBits(base, m)
		x, err := pr.field(v, btf.Field{Type: m.Type, BitOffset: bit, BitSize: width})
		if err != nil {
			return "", false
		}
		text, ok := pr.formatAs(x, letter)
		if !ok {
			text = pr.format(x, FormatOptions{})
		}
		switch {
		case m.Name != "":
			text = m.Name + " = " + text
		case x.Type.IsComposite(): // its members belong to the enclosing struct
			text = strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}")
		}
		parts = append(parts, text)
	}
	return "{" + strings.Join(parts, ", ") + "}", true
}

// formatPointer formats a pointer with its type and its target: a string, or the name of the
// object.
func (pr *Printer) formatPointer(v *Value) string {
	addr := pr.Uint(v.Data)
	el, _ := v.Type.Elem()
	if el.IsChar() && addr != 0 {
		if text, err := pr.StringAt(addr); err == nil {
			return fmt.Sprintf("%#x %s", addr, strconv.Quote(text))
		}
	}
	return fmt.Sprintf("(%s) %s", v.Type, pr.AddressText(addr))
}

// networkOrder reports whether a type is one of the kernel's big-endian integer types.
func networkOrder(t Type) bool {
	if t.Spec == nil || t.Ptr > 0 || t.Elems > 0 {
		return false
	}
	return t.Spec.NetworkBits(t.ID) != 0 || t.Spec.Name(t.ID) == "__sum16"
}

// formatNetwork formats a big-endian integer as stored and, if it has a notation of its own, as
// files write it: htons(443), 10.0.0.1.
func (pr *Printer) formatNetwork(v *Value) string {
	raw := pr.Uint(v.Data)
	text := btf.FormatNetwork(pr.m.Memory().ByteOrder(), uint32(len(v.Data)*8), raw)
	if text == "" {
		return strconv.FormatUint(raw, 10)
	}
	return fmt.Sprintf("%d (%s)", raw, text)
}

// formatIPv6 formats the address in a struct in6_addr of kernel memory; ok is false for other
// values, and where bytes are not yet set.
func (pr *Printer) formatIPv6(v *Value) (text string, ok bool) {
	if v.Type.Spec == nil || v.Type.Ptr > 0 || v.Type.Elems > 0 || v.Kind != InMemory || !v.Type.Spec.IsIPv6(v.Type.ID) || !pr.memberwise(v.Addr) {
		return "", false
	}
	var a btf.IPv6
	for i := range a {
		if !pr.AnySet(v.Addr+uint64(i), 1) {
			return "", false
		}
	}
	err := pr.Peek(v.Addr, a[:])
	return a.String(), err == nil
}

// formatKernel formats the members of a kernel object that have a value, and the number of the
// others.
func (pr *Printer) formatKernel(v *Value, opt FormatOptions) string {
	base := v.Type.base()
	var parts []string
	unset := 0
	pr.formatMembers(v, base.ID, 0, opt, &parts, &unset, 0)
	if unset > 0 {
		text := fmt.Sprintf("... %d members not yet set", unset)
		if unset == 1 {
			text = "... 1 member not yet set"
		}
		parts = append(parts, text)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (pr *Printer) formatMembers(v *Value, id btf.ID, off uint32, opt FormatOptions, parts *[]string, unset *int, depth int) {
	spec := v.Type.Spec
	t := spec.SkipMods(id)
	const deepest = 8
	for i := range t.Members {
		m := &t.Members[i]
		bit, width := spec.MemberBits(t, m)
		mt := spec.SkipMods(m.Type)
		if m.Name == "" && mt.Kind.IsComposite() {
			if depth < deepest {
				pr.formatMembers(v, m.Type, off+bit, opt, parts, unset, depth+1)
			}
			continue
		}
		f := btf.Field{Type: m.Type, BitOffset: off + bit, BitSize: width}
		size := uint64(width+7) / 8
		if width == 0 {
			n, err := spec.Sizeof(m.Type)
			if err != nil || n == 0 {
				continue
			}
			size = uint64(n)
		}
		if !pr.AnySet(v.Addr+uint64(f.BitOffset/8), size) {
			*unset++
			continue
		}
		x, err := pr.field(v, f)
		text := ""
		var denied *MemoryError
		if errors.As(err, &denied) && denied.Fault.Detail != "" {
			text = "<" + denied.Fault.Detail + ">"
		} else if err != nil {
			text = "<" + err.Error() + ">"
		} else {
			text = pr.format(x, opt)
		}
		*parts = append(*parts, m.Name+" = "+text)
	}
}

func (pr *Printer) formatArray(v *Value, opt FormatOptions) string {
	el, _ := v.Type.Elem()
	if v.Kind == InMemory && !pr.isView(v.Addr) {
		x := *v
		x.Kind = Computed // all of it was read
		v = &x
	}
	if el.IsChar() {
		if text, err := pr.textOf(v); err == nil {
			return strconv.Quote(text)
		}
	}
	most := 64
	switch {
	case opt.Full:
		most = v.Type.Count()
	case opt.Elements > 0:
		most = opt.Elements
	}
	var parts []string
	last, same := "", 0
	flush := func() {
		switch {
		case same > 1:
			parts = append(parts, fmt.Sprintf("%s <x %d>", last, same))
		case same == 1:
			parts = append(parts, last)
		}
	}
	for i := range v.Type.Count() {
		if len(parts) >= most {
			last, same = "...", 1
			break
		}
		e, err := pr.Index(v, int64(i))
		if err != nil {
			break
		}
		text := pr.format(e, opt)
		if text != last {
			flush()
			last, same = text, 0
		}
		same++
	}
	flush()
	return "[" + strings.Join(parts, ", ") + "]"
}

func (pr *Printer) formatPacket(v *Value) string {
	var parts []string
	for _, l := range packet.Decode(v.Data, pr.Now.PacketStart()).Layers {
		x, err := pr.LayerValue(v, l)
		if err != nil {
			parts = append(parts, l.Path())
			continue
		}
		parts = append(parts, l.Path()+" = "+pr.format(x, FormatOptions{}))
	}
	return fmt.Sprintf("%d bytes {%s}", len(v.Data), strings.Join(parts, ", "))
}

// ShortText formats a value in one line, truncated to about most bytes.
func (pr *Printer) ShortText(v *Value, most int) string {
	text := pr.Format(v, FormatOptions{})
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "..."
}

// formatLayer formats the fields of a header.
func (pr *Printer) formatLayer(v *Value) string {
	var parts []string
	for _, f := range v.Layer.layer.Fields(v.Layer.whole) {
		parts = append(parts, f.Name+" = "+f.Text(v.Layer.whole))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// formatWalk formats the entries of a list.
func (pr *Printer) formatWalk(w *walked, opt FormatOptions) string {
	parts := make([]string, len(w.Entries))
	for i, e := range w.Entries {
		parts[i] = pr.format(e, opt)
	}
	if w.err != nil {
		parts = append(parts, "<"+w.err.Error()+">")
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
