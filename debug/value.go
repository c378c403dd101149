package debug

import (
	"errors"
	"fmt"
	"math"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/packet"
)

type valueKind uint8

const (
	computed valueKind = iota
	inMemory
	inRegister
	aMap     // a map as a whole
	aMapSlot // an element a map does not have yet: can only be assigned to
	aPacket
)

// Value is the value of an expression.
type Value struct {
	Type Type
	// Data are its bytes in the target's order; of a bitfield the bytes that hold it.
	Data []byte
	// Addr is where it lies, when it lies in memory.
	Addr uint64

	kind            valueKind
	bitOff, bitSize uint32 // of a bitfield in Data
	reg, frame      int
	text            string // of a string constant
	isText          bool
	m               maps.Map
	name            string
	key             []byte
	walk            *walked       // the entries of a list, of which the value is the number
	rec             *recordRef    // the record it is part of
	layer           *layerRef     // the header of the packet it is
	field           *packet.Field // the field of a header it is, in Data
	where           where         // of a value that debug information computes, what from
}

// IsMap reports whether the value is a map as a whole.
func (v *Value) IsMap() bool { return v.kind == aMap }

// InMemory reports whether the value lies at Addr.
func (v *Value) InMemory() bool { return v.kind == inMemory }

// absentError is a value that is not there now but may be later.
type absentError struct {
	what string
	slot *Value
}

func (e *absentError) Error() string { return e.what }

func isAbsent(err error) bool {
	var a *absentError
	return errors.As(err, &a)
}

// number makes an integer of 64 bits.
func (s *Session) number(v uint64, signed bool) *Value {
	t := s.basic.named("unsigned long long")
	if signed {
		t = s.basic.named("long long")
	}
	b := make([]byte, 8)
	s.m.Memory().ByteOrder().PutUint64(b, v)
	return &Value{Type: t, Data: b}
}

func (s *Session) boolean(b bool) *Value {
	v := &Value{Type: s.basic.named("int"), Data: make([]byte, 4)}
	if b {
		s.m.Memory().ByteOrder().PutUint32(v.Data, 1)
	}
	return v
}

// pointerTo makes a pointer value.
func (s *Session) pointerTo(t Type, addr uint64) *Value {
	v := &Value{Type: t.pointer()}
	n := s.m.Memory().PointerSize()
	b := make([]byte, 8)
	s.m.Memory().ByteOrder().PutUint64(b, addr)
	if n == 4 {
		s.m.Memory().ByteOrder().PutUint32(b, uint32(addr))
	}
	v.Data = b[:n]
	return v
}

// asInt is the value as an integer: arrays are their address.
func (s *Session) asInt(v *Value) (n uint64, signed bool, err error) {
	switch v.kind {
	case aMap:
		return v.m.Addr(), false, nil
	case aPacket:
		return v.Addr, false, nil
	}
	if v.isText {
		return 0, false, fmt.Errorf("a string is not a number")
	}
	if f := v.field; f != nil && f.Bits <= 64 && len(v.Data) <= 8 {
		return f.Get(v.Data), false, nil
	}
	switch v.Type.kind() {
	case btf.KindArray:
		if v.kind == inMemory {
			return v.Addr, false, nil
		}
		return 0, false, fmt.Errorf("an array of type %s has no address here", v.Type)
	case btf.KindPtr:
		return s.uint(v.Data), false, nil
	case btf.KindInt, btf.KindEnum, btf.KindEnum64:
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
			return 0, false, fmt.Errorf("the value is cut short")
		}
	case btf.KindFunc, btf.KindFuncProto:
		return v.Addr, false, nil
	}
	return 0, false, fmt.Errorf("a value of type %s is not a number", v.Type)
}

func (s *Session) uint(b []byte) uint64 {
	o := s.m.Memory().ByteOrder()
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(o.Uint16(b))
	case 4:
		return uint64(o.Uint32(b))
	case 8:
		return o.Uint64(b)
	}
	return 0
}

func (s *Session) isTrue(v *Value) (bool, error) {
	n, _, err := s.asInt(v)
	return n != 0, err
}

// convert makes the value one of another scalar type.
func (s *Session) convert(v *Value, t Type) (*Value, error) {
	k := t.kind()
	if k.IsComposite() || k == btf.KindArray {
		if v.kind == inMemory {
			return s.at(t, v.Addr)
		}
		return nil, fmt.Errorf("cannot convert to %s", t)
	}
	n, _, err := s.asInt(v)
	if err != nil {
		return nil, err
	}
	if t.Spec != nil && t.Ptr == 0 && t.Spec.SkipID(t.ID) == 0 {
		return s.number(n, false), nil
	}
	size, err := t.size()
	if err != nil || size > 8 {
		return nil, fmt.Errorf("cannot convert to %s", t)
	}
	out := &Value{Type: t, Data: make([]byte, size)}
	s.putUint(out.Data, n)
	if k == btf.KindInt && t.base().Int.Encoding&btf.IntBool != 0 && n != 0 {
		s.putUint(out.Data, 1)
	}
	return out, nil
}

func (s *Session) putUint(b []byte, v uint64) {
	o := s.m.Memory().ByteOrder()
	switch len(b) {
	case 1:
		b[0] = byte(v)
	case 2:
		o.PutUint16(b, uint16(v))
	case 4:
		o.PutUint32(b, uint32(v))
	case 8:
		o.PutUint64(b, v)
	}
}

// maxRead bounds the memory one value reads.
const maxRead = 1 << 20

// at reads a value from memory.
func (s *Session) at(t Type, addr uint64) (*Value, error) {
	t = s.layoutAt(t, addr)
	switch t.kind() {
	case btf.KindFuncProto, btf.KindFunc:
		return &Value{Type: t, Addr: addr, kind: inMemory}, nil
	case btf.KindVoid:
		return nil, fmt.Errorf("a void pointer points to nothing with a type: cast it first")
	case btf.KindFwd:
		return nil, fmt.Errorf("%s is only declared: neither the object nor the kernel's BTF has its members", t)
	}
	size, err := t.size()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	if size > maxRead {
		return nil, fmt.Errorf("%s has %d bytes, at most %d are read", t, size, maxRead)
	}
	v := &Value{Type: t, Addr: addr, kind: inMemory, Data: make([]byte, size)}
	if s.isView(addr) {
		return s.viewField(v)
	}
	if t.isComposite() {
		// Members are read when they are asked for: reading all of a kernel object would bring everything it
		// points to into being.
		if err := s.present(addr, v.Data); err != nil {
			return nil, err
		}
		return v, nil
	}
	return v, s.peek(addr, v.Data)
}

// isView reports whether memory is a context whose fields are computed when they are read (xdp_md, __sk_buff).
func (s *Session) isView(addr uint64) bool {
	r := s.m.Memory().Find(addr)
	return r != nil && r.Kind == mem.Context && r.View != nil && s.m.Kernel().ObjectAt(addr) == nil
}

// viewField reads a value of such a context as the program would. Packet addresses are wider than the fields they are read from.
func (s *Session) viewField(v *Value) (*Value, error) {
	switch n := len(v.Data); {
	case v.Type.isComposite(), v.Type.kind() == btf.KindArray:
		return v, nil // its fields are read when they are asked for
	case n != 1 && n != 2 && n != 4 && n != 8:
		return v, s.peek(v.Addr, v.Data)
	}
	var x uint64
	var f *mem.Fault
	s.m.Quietly(func() { x, f = s.m.Memory().Load(v.Addr, len(v.Data)) })
	if f != nil {
		return nil, &MemoryError{f}
	}
	if len(v.Data) < 8 && x>>(8*len(v.Data)) != 0 {
		p := s.pointerTo(s.basic.named("void"), x)
		p.kind, p.Addr = inMemory, v.Addr
		return p, nil
	}
	s.putUint(v.Data, x)
	return v, nil
}

// present reads what is there of a struct: of kernel objects without giving fields a value that have none.
func (s *Session) present(addr uint64, p []byte) error {
	if o := s.m.Kernel().ObjectAt(addr); o != nil {
		off := s.m.Memory().Truncate(addr) - o.Addr()
		if b := o.Bytes(); off <= uint64(len(b)) {
			copy(p, b[off:])
			return nil
		}
	}
	return s.peek(addr, p)
}

// maxAddr is the last address.
const maxAddr = math.MaxUint64

// peek reads memory as the debugger: nothing is logged, and no watchpoint reports.
func (s *Session) peek(addr uint64, p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if addr > maxAddr-uint64(len(p)) {
		return &mem.Fault{Kind: mem.Unmapped, Addr: addr, Size: len(p)}
	}
	m := s.m.Memory()
	if r := m.Find(addr); (r == nil || r.View != nil) && !s.changing {
		s.look()
	}
	var f *mem.Fault
	s.m.Quietly(func() {
		if f = m.Read(addr, p); f != nil && f.Kind == mem.UserPointer {
			f = m.ReadUser(addr, p)
		}
	})
	if f != nil {
		return &MemoryError{f}
	}
	return nil
}

// MemoryError is memory that cannot be read or written.
type MemoryError struct{ Fault *mem.Fault }

// Error reports what lies at the address.
func (e *MemoryError) Error() string {
	if e.Fault.Kind == mem.NullPointer {
		return fmt.Sprintf("cannot access %#x: null pointer", e.Fault.Addr)
	}
	return "cannot access memory: " + e.Fault.Error()
}

// Unwrap returns the fault.
func (e *MemoryError) Unwrap() error { return e.Fault }

// poke writes memory as the debugger, read-only memory too.
func (s *Session) poke(addr uint64, p []byte) error {
	if s.m.Kernel().Poke(addr, p) {
		return nil
	}
	m := s.m.Memory()
	var f *mem.Fault
	s.m.Quietly(func() {
		r := m.Find(addr)
		ro := r != nil && r.ReadOnly && r.View == nil
		if ro {
			m.SetReadOnly(r, false)
			defer m.SetReadOnly(r, true)
		}
		if f = m.Write(addr, p); f != nil && f.Kind == mem.UserPointer {
			f = m.WriteUser(addr, p)
		}
	})
	if f != nil {
		return &MemoryError{f}
	}
	return nil
}
