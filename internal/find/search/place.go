package search

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// Input is the kind of place that memory is, in the terms of who gives a program its input.
type Input uint8

// The kinds of places.
const (
	// Unnamed is memory that has no name of its own.
	Unnamed Input = iota
	// Packet is a byte or field of the packet.
	Packet
	// MapValue is part of a map's element.
	MapValue
	// Global is a variable of the object that user space may set.
	Global
	// Constant is a variable that the verifier takes for constant: of .rodata, or of the kernel's
	// configuration.
	Constant
	// Argument is an argument of the hook, or a field of a trace record.
	Argument
	// ContextField is a field of a context of the user ABI, such as mark of a __sk_buff.
	ContextField
	// Context is another part of the context, such as a register.
	Context
	// Field is a field of a kernel object.
	Field
	// User is memory of user space.
	User
	// Unmapped is memory that does not exist, such as behind a null pointer.
	Unmapped
)

var inputNames = [...]string{"memory", "packet", "map", "global", "global", "argument", "ctx", "ctx", "object", "user memory", "unmapped memory"}

// String names the kind as output does.
func (i Input) String() string { return inputNames[i] }

// Place is a part of a program's input by name.
type Place struct {
	Input Input
	// Name is the map, variable, argument or object; Path the field in it, of a packet
	// "ip.protocol".
	Name, Path string
	// Key is the key of a map's element.
	Key []byte
	// Off is where the bytes are: in the packet from its first byte, else in the element, variable
	// or object.
	Off int
	// Object is the kernel object.
	Object *object.Object

	key   string // Key as text
	spec  *btf.Spec
	field btf.Field // whose Type and bits tell how to show the value
	typed bool
	ptr   bool
	// settable means that it is a constant which user space sets before it loads the object.
	settable bool
}

// String names the place: "packet ip.protocol", "map config[0].mode", "global target_uid",
// "argument ret", "object sk.sk_state".
func (p Place) String() string {
	text := strings.TrimSuffix(p.Input.String()+" "+p.Name, " ")
	if p.Input == Packet {
		return "packet " + p.Path
	}
	if p.key != "" {
		text += "[" + p.key + "]"
	}
	if p.Path != "" {
		text += "." + p.Path
	}
	return text
}

// value shows bytes as the place's type has them.
func (p Place) value(m *machine.Machine, data []byte) string {
	if p.typed && len(data) > 0 {
		f := p.field
		f.BitOffset %= 8
		if v, err := p.spec.DecodeField(f, data); err == nil {
			return btf.FormatValue(v, btf.FormatOptions{})
		}
	}
	if len(data) > 8 {
		return fmt.Sprintf("0x%x", data)
	}
	return number(endian.Uint(m.Memory().ByteOrder(), data))
}

// number shows a number: decimal if it is short, errors with their sign.
func number(v uint64) string {
	if n := int64(v); n < 0 && n >= -4095 {
		return fmt.Sprint(n)
	}
	if v > 1<<20 {
		return fmt.Sprintf("%#x", v)
	}
	return fmt.Sprint(v)
}

// typeOf sets how a value of a type at an offset is named and shown.
func (p *Place) typeOf(spec *btf.Spec, id btf.ID, size int) {
	if spec == nil || id == 0 {
		p.Path = offset(p.Off)
		return
	}
	if n, err := spec.Sizeof(id); err == nil && p.Off == 0 && int(n) == size {
		p.spec, p.field, p.typed, p.ptr = spec, btf.Field{Type: id}, scalar(spec, id), spec.SkipMods(id).Kind == btf.KindPtr
		if p.typed || p.ptr {
			return
		}
	}
	path, f, exact := spec.FieldAt(id, uint32(p.Off), size)
	if path == "" {
		p.Path = offset(p.Off)
		return
	}
	p.Path = strings.TrimPrefix(path, ".")
	if !exact && f.BitSize == 0 {
		if rest := p.Off - int(f.Offset()); rest > 0 {
			p.Path += offset(rest)
		}
		return
	}
	p.spec, p.field, p.typed, p.ptr = spec, f, exact && scalar(spec, f.Type), spec.SkipMods(f.Type).Kind == btf.KindPtr
}

func offset(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("+%d", n)
}

func scalar(spec *btf.Spec, id btf.ID) bool {
	switch spec.SkipMods(id).Kind {
	case btf.KindInt, btf.KindEnum, btf.KindEnum64:
		return true
	}
	return false
}

// named names the memory that a value came from.
func (t *Trace) named(s *Source) Place {
	if s.packet >= 0 && t.packet != nil {
		return t.packetPlace(s.packet, s.Size)
	}
	return t.placeOf(s.Addr, s.Size)
}

// placeOf names memory other than the packet as it is now.
func (t *Trace) placeOf(addr uint64, size int) Place {
	m := t.m
	r := m.Memory().Find(addr)
	if c := t.ctx; r != nil && c != nil && c.Region == r {
		name, whole := whole(c, addr-c.Addr, uint64(size))
		switch {
		case whole && slices.Contains(c.FieldNames(), name):
			return Place{Input: ContextField, Name: name}
		case whole && c.Region.View == nil:
			p := Place{Input: Argument, Name: name, Off: int(addr - c.Addr)}
			if a := c.Arg(name); a != nil {
				p.ptr = a.Object != nil || a.Spec != nil && a.Spec.SkipMods(a.Type).Kind == btf.KindPtr
			}
			return p
		}
		p := Place{Input: Context, Name: c.Type, Off: int(addr - c.Addr)}
		if l := m.Kernel().LayoutNamed(c.Type); l != nil {
			p.typeOf(l.Spec, l.Type.ID, size)
		} else {
			p.Path = offset(p.Off)
		}
		return p
	}
	if o, _, path, ok := m.Kernel().Resolve(addr); ok {
		p := Place{Input: Field, Name: o.Role(), Path: path, Object: o, Off: int(addr - o.Addr())}
		if o.Spec() != nil && o.Type() != 0 {
			p.typeOf(o.Spec(), o.Type(), size)
		}
		return p
	}
	if m.Kernel().IsUserAddress(addr) {
		name, _ := m.Kernel().UserName(addr)
		return Place{Input: User, Name: strings.TrimPrefix(name, "user")}
	}
	if def, off := variablesAt(m, addr); def != nil {
		return variable(m, def, int(off), size)
	}
	if r != nil && r.Kind == mem.MapValue {
		if p, ok := t.element(r, addr, size); ok {
			return p
		}
	}
	if n, ok := m.NameAddr(addr); ok {
		return Place{Name: n.Text}
	}
	return Place{Input: Unmapped}
}

// whole names the argument or field of a context that bytes are the beginning of; for a field of
// the user ABI they have to be all of it.
func whole(c *hook.Context, off, size uint64) (name string, ok bool) {
	name, in, ok := c.NameAt(off)
	if !ok || in != 0 {
		return "", false
	}
	if next, _, more := c.NameAt(off + size); c.Region.View != nil && more && next == name {
		return "", false
	}
	last, in, ok := c.NameAt(off + size - 1)
	return name, ok && last == name && in == size-1
}

// variable names part of a section of variables.
func variable(m *machine.Machine, def *loader.Map, off, size int) Place {
	p := Place{Input: Global, Name: def.Name, Off: off}
	if def.DataKind == loader.DataRodata || def.DataKind == loader.DataKconfig {
		p.Input = Constant
	}
	for _, v := range def.Vars {
		if off >= int(v.Off) && off < int(v.Off)+int(v.Size) {
			p.Name, p.Off = v.Name, off-int(v.Off)
			p.settable = def.DataKind == loader.DataRodata && volatile(m.Linked().Object.BTF, v.Type)
			p.typeOf(m.Linked().Object.BTF, v.Type, size)
			return p
		}
	}
	p.Path = offset(off)
	return p
}

// volatile reports whether a variable's type is volatile: so are constants that are not known when
// the program is compiled.
func volatile(spec *btf.Spec, id btf.ID) bool {
	const deepest = 16
	for range deepest {
		if spec == nil {
			break
		}
		t, err := spec.Type(id)
		switch {
		case err != nil:
			return false
		case t.Kind == btf.KindVolatile:
			return true
		case t.Kind == btf.KindConst || t.Kind == btf.KindTypedef || t.Kind == btf.KindArray:
			id = t.Ref
		default:
			return false
		}
	}
	return false
}

// mostElements limits the elements of a map that are compared with an address.
const mostElements = 4096

// element names part of a map's element.
func (t *Trace) element(r *mem.Region, addr uint64, size int) (Place, bool) {
	m := t.m
	for _, def := range m.Linked().Maps {
		mp, ok := m.Map(def)
		if !ok || r.Name != mp.Spec().Name || def.DataKind != loader.DataNone || def.KeySize == 0 || mp.Spec().Type.PerCPU() {
			continue
		}
		if i, off, ok := r.Elem(addr); ok && mp.Spec().Type == uapi.MapTypeArray {
			key := make([]byte, 4)
			m.Memory().ByteOrder().PutUint32(key, uint32(i))
			return t.elementPlace(def, key, int(off), size), true
		}
		if first, e := mp.Lookup(0, make([]byte, def.KeySize)); e == 0 && m.Memory().Find(first) != r {
			continue
		}
		n := 0
		for key, e := mp.NextKey(nil); e == 0 && n < mostElements; key, e = mp.NextKey(key) {
			n++
			at, e := mp.Lookup(0, key)
			if e != 0 || addr-at >= uint64(mp.Spec().ValueSize) {
				continue
			}
			return t.elementPlace(def, append([]byte(nil), key...), int(addr-at), size), true
		}
	}
	return Place{}, false
}

func (t *Trace) elementPlace(def *loader.Map, key []byte, off, size int) Place {
	p := Place{Input: MapValue, Name: def.Name, Key: key, Off: off, key: keyText(t.m, def, key)}
	p.typeOf(t.m.Linked().Object.BTF, def.ValueType, size)
	return p
}

// keyText shows the key of a map's element; addresses by what they lead to.
func keyText(m *machine.Machine, def *loader.Map, key []byte) string {
	order := m.Memory().ByteOrder()
	if len(key) == 8 {
		if n, ok := m.NameAddr(order.Uint64(key)); ok {
			return "&" + n.Text
		}
	}
	if spec := m.Linked().Object.BTF; spec != nil && def.KeyType != 0 {
		return spec.FormatString(def.KeyType, key)
	}
	if len(key) <= 8 {
		return fmt.Sprint(endian.Uint(order, key))
	}
	return fmt.Sprintf("%x", key)
}

// packetPlace names bytes of the packet by their field.
func (t *Trace) packetPlace(off, size int) Place {
	p := Place{Input: Packet, Off: off, Path: fmt.Sprintf("[%d]", off)}
	if size > 1 {
		p.Path = fmt.Sprintf("[%d:%d]", off, off+size)
	}
	start := packet.Ethernet
	if t.lead > 0 {
		start = packet.Network
	}
	bytes := t.ctx.Packet.Bytes()
	for _, l := range packet.Decode(bytes, start).Layers {
		for _, f := range l.Fields(bytes) {
			if f.Whole() && f.Off == off && f.Size() == size {
				p.Path = f.Path()
				return p
			}
		}
	}
	return p
}

// packetText shows the value of a packet's field as packets show it. Bytes that are not one field
// are shown as the fields that change, if there are any.
func (t *Trace) packetText(p *Place, data []byte) string {
	was := t.ctx.Packet.Bytes()
	now := append([]byte(nil), was...)
	hex := fmt.Sprintf("0x%x", data)
	if p.Off+len(data) > len(now) {
		return hex
	}
	copy(now[p.Off:], data)
	start := packet.Ethernet
	if t.lead > 0 {
		start = packet.Network
	}
	headers := packet.Decode(was, start)
	if f, err := headers.Field(now, p.Path); err == nil {
		return f.Text(now)
	}
	var parts []packet.Field
	for _, l := range headers.Layers {
		for _, f := range l.Fields(was) {
			if f.Off >= p.Off && f.Off+f.Size() <= p.Off+len(data) && f.Text(was) != f.Text(now) {
				parts = append(parts, f)
			}
		}
	}
	if len(parts) != 1 {
		return hex
	}
	p.Path = parts[0].Path()
	return parts[0].Text(now)
}

// variablesAt returns the section of variables that an address is in, and the offset there.
func variablesAt(m *machine.Machine, addr uint64) (def *loader.Map, off uint64) {
	r := m.Memory().Find(addr)
	if r == nil || r.Kind != mem.Global {
		return nil, 0
	}
	for _, def := range m.Linked().Maps {
		if def.DataKind == loader.DataNone || def.DataKind == loader.DataArena {
			continue
		}
		if mp, ok := m.Map(def); ok {
			if first, e := mp.Lookup(0, make([]byte, 4)); e == 0 && m.Memory().Find(first) == r {
				return def, addr - first
			}
		}
	}
	return nil, 0
}

// mapAt finds a map by its address.
func mapAt(m *machine.Machine, addr uint64) (maps.Map, *loader.Map) { return m.MapDefAt(addr) }
