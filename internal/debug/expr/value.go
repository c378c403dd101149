package expr

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/packet"
)

// Values operates on values: conversions, members, elements, arithmetic. It has no state of its
// own; it reads memory and asks the run for its packet and records.
type Values struct {
	*ground
	*Types
	*Memory
	Now Activity

	decoded decodedPacket
}

// Deref returns the target of a pointer or the first element of an array; an entire map or packet
// is returned unchanged.
func (vs *Values) Deref(v *Value) (*Value, error) {
	if v.Kind == WholeMap || v.Kind == WholePacket {
		return v, nil
	}
	t, ok := v.Type.Elem()
	if !ok || v.IsText {
		return nil, fmt.Errorf("a value of type %s is not a pointer: cast it, as in *(struct task_struct *)%s", v.Type, "EXPR")
	}
	addr, _, err := vs.AsInt(v)
	if err != nil {
		return nil, err
	}
	return vs.At(t, addr)
}

func (vs *Values) address(v *Value) (*Value, error) {
	switch {
	case v.Kind == WholeMap:
		return vs.Number(v.Map.Addr(), false), nil
	case v.bitSize != 0:
		return nil, errors.New("a bitfield has no address")
	case v.Kind == InRegister:
		return nil, errors.New("a register has no address")
	case v.Kind != InMemory:
		return nil, errors.New("the value has no address: it is not in memory")
	}
	return vs.PointerTo(v.Type, v.Addr), nil
}

// promoted reports whether C's integer promotion makes a value signed: unsigned types smaller than
// 64 bits fit in a signed one.
func (vs *Values) promoted(v *Value, signed bool) bool {
	return signed || v.Type.Kind() != btf.KindPtr && len(v.Data) > 0 && len(v.Data) < 8
}

func (vs *Values) pointee(v *Value) (Type, bool) {
	if v.Kind == WholeMap || v.Kind == WholePacket || v.IsText {
		return Type{}, false
	}
	return v.Type.Elem()
}

// stride returns the distance between elements in bytes; 1 for void, as in GNU C.
func (vs *Values) stride(t Type) uint64 {
	if n, err := t.Size(); err == nil && n > 0 {
		return uint64(n)
	}
	return 1
}

// textOf returns the string in a string constant, in a character array, or at a pointer to
// characters.
func (vs *Values) textOf(v *Value) (string, error) {
	switch {
	case v.IsText:
		return v.Text, nil
	case v.Field != nil:
		return v.Field.Text(v.Data), nil
	}
	t, ok := v.Type.Elem()
	if !ok || !t.IsChar() && t.Kind() != btf.KindInt {
		return "", fmt.Errorf("a value of type %s is not a string", v.Type)
	}
	data := v.Data
	if v.Type.Kind() == btf.KindPtr {
		text, err := vs.StringAt(vs.Uint(v.Data))
		return text, err
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		data = data[:i]
	}
	return string(data), nil
}

// Member implements x.name and x->name, which are equivalent here.
func (vs *Values) Member(x *Value, name string) (*Value, error) {
	if x.Kind == WholePacket {
		return vs.packetLayer(x, name)
	}
	if x.Kind == WholeMap {
		return nil, fmt.Errorf("%s is a map: name an element, as in %s[KEY].%s", x.Name, x.Name, name)
	}
	if x.Layer != nil {
		if v, ok := vs.layerField(x, name); ok {
			return v, nil
		}
		if !x.Type.IsComposite() {
			return nil, &UnknownError{What: "field", Name: name, In: x.Name, Nearest: Near(name, vs.LayerNames(x))}
		}
	}
	if x.Type.Kind() == btf.KindPtr {
		p, err := vs.Deref(x)
		if err != nil {
			return vs.memberOfUnreadable(x, name, err)
		}
		if x = p; x.Type.Kind() == btf.KindPtr {
			return nil, fmt.Errorf("a %s points to a pointer: dereference it first", x.Type.pointer())
		}
	}
	if !x.Type.IsComposite() {
		return nil, fmt.Errorf("a value of type %s has no members", x.Type)
	}
	f, err := vs.findMember(x, name)
	if err != nil {
		return nil, err
	}
	return vs.field(x, f)
}

// findMember returns the place of a member in a struct value.
func (vs *Values) findMember(x *Value, name string) (btf.Field, error) {
	f, ok := x.Type.Spec.FindMember(x.Type.ID, name)
	switch {
	case ok:
		return f, nil
	case x.Layer != nil:
		return f, &UnknownError{What: "field", Name: name, In: x.Name, Nearest: Near(name, vs.LayerNames(x))}
	}
	// Only names of the layout are accepted: names that only the object's declaration has (flavors,
	// renamed members) are not resolved.
	return f, &UnknownError{What: "member", Name: name, In: vs.typeIn(x.Type), Nearest: Near(name, x.Type.Spec.MemberNames(x.Type.ID))}
}

// memberOfUnreadable returns the member of a struct that cannot be read as a whole: the member if
// it can be read, otherwise the reason, which is that it does not exist, or about its own bytes.
func (vs *Values) memberOfUnreadable(x *Value, name string, reason error) (*Value, error) {
	t, _ := x.Type.Elem()
	addr := vs.Uint(x.Data)
	var denied *MemoryError
	if !errors.As(reason, &denied) {
		return nil, reason
	}
	if t = vs.LayoutAt(t, addr); !t.IsComposite() {
		return nil, reason
	}
	s := &Value{Type: t, Addr: addr, Kind: InMemory}
	f, err := vs.findMember(s, name)
	switch {
	case err != nil:
		return nil, err
	case denied.Fault.Kind == mem.NullPointer:
		return nil, reason
	}
	return vs.field(s, f)
}

// field returns a member of a struct value.
func (vs *Values) field(x *Value, f btf.Field) (*Value, error) {
	out := &Value{Type: Type{Spec: x.Type.Spec, ID: f.Type}, Kind: x.Kind, Reg: x.Reg, Frame: x.Frame}
	lo := uint64(f.BitOffset / 8)
	var size uint64
	if f.BitSize > 0 {
		size = (uint64(f.BitOffset)+uint64(f.BitSize)+7)/8 - lo
		out.bitOff, out.bitSize = f.BitOffset%8, f.BitSize
	} else {
		n, err := out.Type.Size()
		if err != nil {
			return nil, err
		}
		size = uint64(n)
	}
	if x.Kind == InMemory {
		if f.BitSize == 0 {
			return vs.At(out.Type, x.Addr+lo)
		}
		out.Addr, out.Data = x.Addr+lo, make([]byte, size)
		return out, vs.Peek(out.Addr, out.Data)
	}
	if lo+size > uint64(len(x.Data)) {
		return nil, errors.New("the value is truncated")
	}
	out.Data, out.Rec = x.Data[lo:lo+size], x.Rec.within(lo)
	if x.Kind == InRegister {
		reg := x.Reg
		out.Kind, out.From = Computed, &reg
	}
	return out, nil
}

// Index returns element i of an array or pointer, as in C.
func (vs *Values) Index(x *Value, i int64) (*Value, error) {
	t, ok := vs.pointee(x)
	if !ok {
		return nil, fmt.Errorf("a value of type %s has no elements", x.Type)
	}
	size := vs.stride(t)
	if x.Type.Kind() == btf.KindArray && x.Kind != InMemory {
		if i < 0 || uint64(i) >= uint64(len(x.Data))/size {
			return nil, fmt.Errorf("index %d is outside of %s", i, x.Type)
		}
		return &Value{Type: t, Data: x.Data[uint64(i)*size : uint64(i+1)*size], Rec: x.Rec.within(uint64(i) * size)}, nil
	}
	if n := x.Type.Count(); n > 0 && (i < 0 || i >= int64(n)) {
		return nil, fmt.Errorf("index %d is outside of %s (ARRAY[0]@N shows N elements, also past its end)", i, x.Type)
	}
	base, _, err := vs.AsInt(x)
	if err != nil {
		return nil, err
	}
	return vs.At(t, base+uint64(i)*size)
}

// Address returns the address of a value in memory; for a pointer or number, its value.
func (vs *Values) Address(v *Value) (uint64, error) {
	if v.Kind == WholePacket {
		return v.Addr, nil
	}
	if v.Kind == InMemory && (v.Type.IsComposite() || v.Type.Kind() == btf.KindArray) {
		return v.Addr, nil
	}
	n, _, err := vs.AsInt(v)
	return n, err
}

// Sized returns a value of any type of up to eight bytes.
func (vs *Values) Sized(name string, n uint64, t Type) (*Value, error) {
	size, err := t.Size()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if size > 8 {
		return nil, &UnavailableError{name, fmt.Sprintf("optimized out here: the debug information describes its %d bytes as one number", size)}
	}
	b := make([]byte, 8)
	vs.m.Memory().ByteOrder().PutUint64(b, n)
	if endian.IsBig(vs.m.Memory().ByteOrder()) {
		return &Value{Type: t, Data: b[8-size:]}, nil
	}
	return &Value{Type: t, Data: b[:size]}, nil
}

// LayoutAt returns the type that describes the layout of a struct at addr: kernel objects have the
// layout of the kernel's type, whatever the object declares.
func (vs *Values) LayoutAt(t Type, addr uint64) Type {
	target := vs.linked.Target.BTF
	if target == nil || t.Ptr > 0 || t.Spec == nil || t.Spec == target {
		return t
	}
	b := t.base()
	switch {
	case b.Kind == btf.KindFwd:
	case b.Kind.IsComposite() && vs.kernelOwned(addr):
	default:
		return t
	}
	kind := b.Kind
	if kind == btf.KindFwd {
		kind = btf.KindStruct
		if b.Flag {
			kind = btf.KindUnion
		}
	}
	if id, ok := target.FindID(kind, btf.EssentialName(b.Name)); ok {
		return Type{Spec: target, ID: id, Elems: t.Elems}
	}
	return t
}

type valueKind uint8

const (
	Computed valueKind = iota
	InMemory
	InRegister
	WholeMap // an entire map
	aMapSlot // an element not yet in its map: can only be assigned to
	WholePacket
)

// Value is the value of an expression.
type Value struct {
	Type Type
	// Data are its bytes in the program's byte order; for a bitfield, the bytes that contain it.
	Data []byte
	// Addr is its address if it is in memory.
	Addr uint64

	Kind            valueKind
	bitOff, bitSize uint32 // position of a bitfield in Data
	Reg, Frame      int
	Text            string // the content of a string constant
	IsText          bool
	Map             maps.Map
	Name            string
	key             []byte
	Walk            *walked       // the entries of a list; the value is their number
	Rec             *RecordRef    // the record that contains it
	Layer           *layerRef     // set if it is a header of the packet
	Field           *packet.Field // set if it is a field of a header, in Data
	From            *int          // the register from which debug information computes it
}

// IsMap reports whether the value is an entire map.
func (v *Value) IsMap() bool { return v.Kind == WholeMap }

// InMemory reports whether the value is in memory, at Addr.
func (v *Value) InMemory() bool { return v.Kind == InMemory }

// absentError is a value that does not exist now but may later.
type absentError struct {
	what string
	slot *Value
}

func (e *absentError) Error() string { return e.what }

// IsAbsent reports whether an error means that a value does not exist now but may later.
func IsAbsent(err error) bool {
	var a *absentError
	return errors.As(err, &a)
}

// Number returns a 64-bit integer value.
func (vs *Values) Number(v uint64, signed bool) *Value {
	t := vs.Basic.Named("unsigned long long")
	if signed {
		t = vs.Basic.Named("long long")
	}
	n := newNumber(t, 8)
	vs.m.Memory().ByteOrder().PutUint64(n.Data, v)
	return n
}

func (vs *Values) boolean(b bool) *Value {
	v := newNumber(vs.Basic.Named("int"), 4)
	if b {
		vs.m.Memory().ByteOrder().PutUint32(v.Data, 1)
	}
	return v
}

// newNumber returns a value of up to 8 bytes, which are all 0. Expressions make so many that the
// value and its bytes are one allocation.
func newNumber(t Type, size int64) *Value {
	n := &struct {
		v    Value
		data [8]byte
	}{v: Value{Type: t}}
	n.v.Data = n.data[:size:size]
	return &n.v
}

// PointerTo returns a pointer value.
func (vs *Values) PointerTo(t Type, addr uint64) *Value {
	v := &Value{Type: t.pointer()}
	n := vs.m.Memory().PointerSize()
	b := make([]byte, 8)
	vs.m.Memory().ByteOrder().PutUint64(b, addr)
	if n == 4 {
		vs.m.Memory().ByteOrder().PutUint32(b, uint32(addr))
	}
	v.Data = b[:n]
	return v
}

// AsInt returns the value as an integer; for an array, its address.
func (vs *Values) AsInt(v *Value) (n uint64, signed bool, err error) {
	switch v.Kind {
	case WholeMap:
		return v.Map.Addr(), false, nil
	case WholePacket:
		return v.Addr, false, nil
	}
	if v.IsText {
		return 0, false, fmt.Errorf("a string is not a number")
	}
	if f := v.Field; f != nil && f.Bits <= 64 && len(v.Data) <= 8 {
		return f.Get(v.Data), false, nil
	}
	switch v.Type.Kind() {
	case btf.KindArray:
		if v.Kind == InMemory {
			return v.Addr, false, nil
		}
		return 0, false, fmt.Errorf("an array of type %s has no address here", v.Type)
	case btf.KindPtr:
		return vs.Uint(v.Data), false, nil
	case btf.KindInt, btf.KindEnum, btf.KindEnum64:
		if n, signed, ok := vs.wholeInt(v); ok {
			return n, signed, nil
		}
		d, err := v.Type.Spec.DecodeField(btf.Field{Type: v.Type.ID, BitOffset: v.bitOff, BitSize: v.bitSize}, v.Data)
		if err != nil {
			return 0, false, err
		}
		switch d := d.(type) {
		case btf.Int:
			return d.V, d.Signed && d.Bits <= 64, nil
		case btf.Enum:
			return d.Int.V, d.Int.Signed, nil
		case bool:
			if d {
				return 1, false, nil
			}
			return 0, false, nil
		case btf.Missing:
			return 0, false, fmt.Errorf("the value is truncated")
		}
	case btf.KindFunc, btf.KindFuncProto:
		return v.Addr, false, nil
	}
	return 0, false, fmt.Errorf("a value of type %s is not a number", v.Type)
}

// wholeInt returns an integer that fills the bytes of its value, as most do: the decoder of all
// types would allocate it.
func (vs *Values) wholeInt(v *Value) (n uint64, signed, ok bool) {
	t := v.Type.base()
	if t.Kind != btf.KindInt || t.Int.Encoding&btf.IntBool != 0 || v.bitOff != 0 || v.bitSize != 0 || t.Int.Offset != 0 {
		return 0, false, false
	}
	if size := len(v.Data); size > 8 || uint32(size) != t.Size || size*8 != int(t.Int.Bits) {
		return 0, false, false
	}
	n, signed = vs.Uint(v.Data), t.Signed()
	if unused := 64 - 8*t.Size; signed {
		n = uint64(int64(n<<unused) >> unused)
	}
	return n, signed, true
}

// IsTrue reports whether a value is nonzero.
func (vs *Values) IsTrue(v *Value) (bool, error) {
	n, _, err := vs.AsInt(v)
	return n != 0, err
}

// Convert converts the value to another scalar type.
func (vs *Values) Convert(v *Value, t Type) (*Value, error) {
	k := t.Kind()
	if k.IsComposite() || k == btf.KindArray {
		if v.Kind == InMemory {
			return vs.At(t, v.Addr)
		}
		return nil, fmt.Errorf("cannot convert to %s", t)
	}
	n, _, err := vs.AsInt(v)
	if err != nil {
		return nil, err
	}
	if t.Spec != nil && t.Ptr == 0 && t.Spec.SkipID(t.ID) == 0 {
		return vs.Number(n, false), nil
	}
	size, err := t.Size()
	if err != nil || size > 8 {
		return nil, fmt.Errorf("cannot convert to %s", t)
	}
	out := &Value{Type: t, Data: make([]byte, size)}
	vs.PutUint(out.Data, n)
	if k == btf.KindInt && t.base().Int.Encoding&btf.IntBool != 0 && n != 0 {
		vs.PutUint(out.Data, 1)
	}
	return out, nil
}

// At reads a value from memory.
func (vs *Values) At(t Type, addr uint64) (*Value, error) {
	t = vs.LayoutAt(t, addr)
	switch t.Kind() {
	case btf.KindFuncProto, btf.KindFunc:
		return &Value{Type: t, Addr: addr, Kind: InMemory}, nil
	case btf.KindVoid:
		return nil, fmt.Errorf("a void pointer cannot be dereferenced: cast it first")
	case btf.KindFwd:
		return nil, fmt.Errorf("%s is an incomplete type: neither the object nor the kernel's BTF has its members", t)
	}
	size, err := t.Size()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	if size > maxRead {
		return nil, fmt.Errorf("%s has %d bytes; the limit is %d", t, size, maxRead)
	}
	v := newInMemory(t, addr, size)
	if vs.isView(addr) {
		return vs.viewField(v)
	}
	if t.IsComposite() {
		// Members are read on demand: reading an entire kernel object would create every object
		// that it points to.
		if err := vs.present(addr, v.Data); err != nil {
			return nil, err
		}
		return v, nil
	}
	return v, vs.Peek(addr, v.Data)
}

// newInMemory returns a value of size bytes at an address, without its bytes.
func newInMemory(t Type, addr uint64, size int64) *Value {
	var v *Value
	if size <= 8 {
		v = newNumber(t, size)
	} else {
		v = &Value{Type: t, Data: make([]byte, size)}
	}
	v.Addr, v.Kind = addr, InMemory
	return v
}

// viewField reads a field of a computed context as the program would. Packet addresses are wider
// than the fields they are read from.
func (vs *Values) viewField(v *Value) (*Value, error) {
	switch n := len(v.Data); {
	case v.Type.IsComposite(), v.Type.Kind() == btf.KindArray:
		return v, nil // its fields are read on demand
	case n != 1 && n != 2 && n != 4 && n != 8:
		return v, vs.Peek(v.Addr, v.Data)
	}
	var x uint64
	var f *mem.Fault
	vs.m.Quietly(func() { x, f = vs.m.Memory().Load(v.Addr, len(v.Data)) })
	if f != nil {
		return nil, &MemoryError{f}
	}
	if len(v.Data) < 8 && x>>(8*len(v.Data)) != 0 {
		p := vs.PointerTo(vs.Basic.Named("void"), x)
		p.Kind, p.Addr = InMemory, v.Addr
		return p, nil
	}
	vs.PutUint(v.Data, x)
	return v, nil
}

// present reads the bytes of a struct that have a value; unset fields of kernel objects stay unset.
func (vs *Values) present(addr uint64, p []byte) error {
	if o := vs.m.Kernel().ObjectAt(addr); o != nil {
		off := vs.m.Memory().Truncate(addr) - o.Addr()
		if b := o.Bytes(); off <= uint64(len(b)) {
			copy(p, b[off:])
			return nil
		}
	}
	return vs.Peek(addr, p)
}
