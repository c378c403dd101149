package net

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// fieldKind is the kind of value that a load of a user ABI field yields.
type fieldKind uint8

const (
	PlainField fieldKind = iota // a value stored in the view
	DataField                   // the address of the packet's first byte
	DataEndField
	DataMetaField
	LenField    // the packet's length
	WideField   // a pointer: all 8 bytes at once
	SocketField // the socket's struct bpf_sock, by its address
)

// Field is a field of a [progtype.Context] with the place where its value is stored.
type Field struct {
	Name string
	Off  uint16
	Size uint16
	Kind fieldKind
	ID   int // index of the value, and number of the field
	// From and To access a value stored elsewhere: in the view's socket.
	From func(v *View) uint64
	To   func(v *View, x uint64)
}

// Source provides the value of a field.
type Source struct {
	Kind fieldKind
	From func(v *View) uint64
	To   func(v *View, x uint64)
}

// Bind binds the fields of a context to values; those without a source are stored in the view.
func Bind(c *progtype.Context, sources map[string]Source) []Field {
	out := make([]Field, len(c.Fields))
	for i, f := range c.Fields {
		s, ok := sources[f.Name]
		if !ok && f.Yields != progtype.Number {
			s.Kind = WideField
		}
		out[i] = Field{Name: f.Name, Off: uint16(f.Off), Size: uint16(f.Size), Kind: s.Kind, ID: i, From: s.From, To: s.To}
	}
	return out
}

// View is a context whose accesses the verifier rewrites (convert_ctx_access): loads and stores
// access values of the simulated kernel instead of bytes.
type View struct {
	Host   *Host             `snapshot:"fixed"`
	Layout *progtype.Context `snapshot:"fixed"`
	Rules  *progtype.Access  `snapshot:"fixed"`
	Who    string            `snapshot:"fixed"` // the program type, for messages
	Fields []Field           // by number, as those of Layout
	Packet *Packet
	Socket *Socket // socket that From and To of the fields access
	Values []uint64
	Out    func(v *View) []byte `snapshot:"fixed"`
}

// Save returns a copy that shares nothing mutable.
func (v *View) Save() View {
	was := *v
	was.Values, was.Fields = slices.Clone(v.Values), slices.Clone(v.Fields)
	return was
}

// Reset makes the view what it was when it was saved.
func (v *View) Reset(was *View) {
	values, fields := v.Values, v.Fields
	*v = *was
	v.Values = append(values[:0], was.Values...)
	if len(fields) != len(was.Fields) {
		fields = slices.Clone(was.Fields)
	}
	for i := range fields { // few differ, and copying pointers costs more
		if f, g := &fields[i], &was.Fields[i]; f.Kind != g.Kind || f.Name != g.Name {
			*f = *g
		}
	}
	v.Fields = fields
}

func (v *View) release() uapi.Release { return uapi.ReleaseOf(v.Host.Version()) }

// access checks an access.
func (v *View) access(off uint64, size int, write bool) (*Field, *mem.Fault) {
	i, err := v.Layout.Check(v.release(), v.Rules, int(off), size, write)
	if err == nil {
		return &v.Fields[i], nil
	}
	var e *progtype.AccessError
	if errors.As(err, &e) && e.Reason == progtype.Forbidden {
		verb := "read"
		if write {
			verb = "write"
		}
		return nil, v.refuse("a %s program may not %s %s.%s", v.Who, verb, v.Layout.User, e.Field.Name)
	}
	return nil, v.refuse("%v", err)
}

// Readable reports whether the program may read a field.
func (v *View) Readable(f *Field) bool {
	_, err := v.Layout.Check(v.release(), v.Rules, int(f.Off), int(f.Size), false)
	return err == nil
}

// pairAt returns the second half of an access to two fields of an array at once, or nil.
func (v *View) pairAt(f *Field, off uint64, size int) *Field {
	if j := v.Layout.Pair(v.release(), f.ID, int(off), size); j >= 0 {
		return &v.Fields[j]
	}
	return nil
}

func (v *View) refuse(format string, args ...any) *mem.Fault {
	return &mem.Fault{Kind: mem.NotPermitted, Detail: fmt.Sprintf(format, args...)}
}

// The control block of __sk_buff is the only array that allows accesses of any size and alignment.
const cbStart, cbEnd = 48, 68

func (v *View) inCB(off uint64, size int) bool {
	return off >= cbStart && off+uint64(size) <= cbEnd && v.Layout.User == "__sk_buff"
}

// cb returns the bytes of the control block.
func (v *View) cb() []byte {
	b := make([]byte, cbEnd-cbStart)
	first := v.Index("cb[0]")
	for i := range 5 {
		v.Host.Order().PutUint32(b[4*i:], uint32(v.Values[v.Fields[first+i].ID]))
	}
	return b
}

// Value returns the whole value of a field.
func (v *View) Value(f *Field) uint64 {
	switch f.Kind {
	case DataField:
		return v.Packet.Data()
	case DataEndField:
		return v.Packet.DataEnd()
	case DataMetaField:
		return v.Packet.Meta()
	case LenField:
		return uint64(v.Packet.Len())
	case SocketField:
		return v.Socket.Addr()
	}
	if f.From != nil {
		return f.From(v)
	}
	return v.Values[f.ID]
}

// SetValue changes the whole value of a field.
func (v *View) SetValue(f *Field, x uint64) {
	if f.To != nil {
		f.To(v, x)
		return
	}
	v.Values[f.ID] = x
}

// Load implements [mem.View]: packet pointers are loaded as whole addresses, whatever the width.
func (v *View) Load(off uint64, size int) (uint64, *mem.Fault) {
	f, fault := v.access(off, size, false)
	if fault != nil {
		return 0, fault
	}
	if v.inCB(off, size) {
		b := v.cb()
		return endian.Uint(v.Host.Order(), b[off-cbStart:off-cbStart+uint64(size)]), nil
	}
	x := v.Value(f)
	switch f.Kind {
	case DataField, DataEndField, DataMetaField, WideField, SocketField:
		return x, nil
	}
	if g := v.pairAt(f, off, size); g != nil {
		if v.Host.BigEndian() {
			return x<<32 | v.Value(g), nil
		}
		return x | v.Value(g)<<32, nil
	}
	if part := &v.Layout.Fields[f.ID]; size < part.Size {
		if part.Whole(size) {
			return x, nil
		}
		in := off - uint64(f.Off)
		if v.Host.BigEndian() {
			in = uint64(f.Size) - uint64(size) - in
		}
		x >>= 8 * in
	}
	if size < 8 {
		x &= 1<<(8*size) - 1
	}
	return x, nil
}

// Store implements [mem.View].
func (v *View) Store(off uint64, size int, x uint64) *mem.Fault {
	f, fault := v.access(off, size, true)
	if fault != nil {
		return fault
	}
	if v.inCB(off, size) {
		b := v.cb()
		endian.PutUint(v.Host.Order(), b[off-cbStart:off-cbStart+uint64(size)], x)
		first := v.Index("cb[0]")
		for i := range 5 {
			v.Values[v.Fields[first+i].ID] = uint64(v.Host.Order().Uint32(b[4*i:]))
		}
		return nil
	}
	if g := v.pairAt(f, off, size); g != nil {
		first, second := x&0xffffffff, x>>32
		if v.Host.BigEndian() {
			first, second = second, first
		}
		v.SetValue(f, first)
		v.SetValue(g, second)
		return nil
	}
	if f.Name == "queue_mapping" && x >= noQueue { // which the kernel takes from the whole register
		return nil
	}
	if held := v.Layout.Fields[f.ID].Held; held > 0 {
		size = min(size, held)
	}
	if size < 8 {
		x &= 1<<(8*size) - 1
	}
	v.SetValue(f, x)
	return nil
}

// noQueue is NO_QUEUE_MAPPING: a store of it or more to queue_mapping changes nothing
// (bpf_convert_ctx_access).
const noQueue = 0xffff

// Read implements [mem.View]: helpers cannot read a context as memory.
func (v *View) Read(uint64, []byte) *mem.Fault {
	return v.refuse("struct %s is a context, not memory: copy its fields first", v.Layout.User)
}

// Write implements [mem.View].
func (v *View) Write(uint64, []byte) *mem.Fault {
	return v.refuse("struct %s is a context, not memory", v.Layout.User)
}

func (v *View) Index(name string) int {
	for i := range v.Fields {
		if v.Fields[i].Name == name {
			return i
		}
	}
	return -1
}

// Get and Put access values by field name for the kernel itself.
func (v *View) Get(name string) uint64 {
	if i := v.Index(name); i >= 0 {
		return v.Value(&v.Fields[i])
	}
	return 0
}

func (v *View) Put(name string, x uint64) {
	if i := v.Index(name); i >= 0 {
		v.SetValue(&v.Fields[i], x)
	}
}

// Field returns the field with a name, which must exist.
func (v *View) Field(name string) *Field { return &v.Fields[v.Index(name)] }

func (v *View) CtxOut() []byte {
	if v.Out == nil {
		return nil
	}
	return v.Out(v)
}
