package kernel

import (
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/kernel/object"
	"github.com/bpfrun/bpfrun/mem"
)

// fieldKind says what a load of a user ABI field yields.
type fieldKind uint8

const (
	plainField fieldKind = iota // a value kept in the view
	dataField                   // the address of the packet's first byte
	dataEndField
	dataMetaField
	lenField    // the packet's length
	wideField   // a pointer: all 8 bytes at once
	socketField // the socket's struct bpf_sock, by its address
)

// uapiField is one field of a context of the user space ABI, whose layout never changes.
type uapiField struct {
	name   string
	off    uint16
	size   uint16
	kind   fieldKind
	narrow bool // loads of parts are allowed
	pair   bool // with the field of the same array behind it, 8 bytes at once (bpf_ctx_wide_access_ok)
	loose  bool // a load of 4 bytes is allowed, the field having 2
	id     int  // index of the value
	// from and to reach a value that is kept elsewhere: of the socket of the view.
	from func(v *uapiView) uint64
	to   func(v *uapiView, x uint64)
}

// uapiView is a context whose fields the verifier rewrites (convert_ctx_access): loads and stores go to values of the
// simulated kernel, not to bytes.
type uapiView struct {
	k      *Host
	typ    string
	who    string // the program type, for messages
	size   uint64
	fields []uapiField
	may    func(f *uapiField, write bool) bool
	pkt    *Packet
	sock   *Socket // whose fields from and to speak of
	vals   []uint64
	out    func(v *uapiView) []byte
}

// save returns a copy that shares nothing that changes.
func (v *uapiView) save() uapiView {
	was := *v
	was.vals, was.fields = slices.Clone(v.vals), slices.Clone(v.fields)
	return was
}

// fieldAt finds the field that contains off.
func (v *uapiView) fieldAt(off uint64) *uapiField {
	for i := range v.fields {
		f := &v.fields[i]
		if off >= uint64(f.off) && off < uint64(f.off)+uint64(f.size) {
			return f
		}
	}
	return nil
}

// access judges an access as the is_valid_access functions of net/core/filter.c do.
func (v *uapiView) access(off uint64, size int, write bool) (*uapiField, *mem.Fault) {
	verb := "read"
	if write {
		verb = "write"
	}
	f := v.fieldAt(off)
	switch {
	case v.inCB(off, size):
		if !v.may(f, write) {
			return nil, v.refuse("a %s program may not %s %s.cb", v.who, verb, v.typ)
		}
		if off%uint64(size) != 0 {
			return nil, v.refuse("an access of %d bytes at offset %d of struct %s is not aligned", size, off, v.typ)
		}
		return f, nil
	case f != nil && (v.pairAt(f, off, size) != nil || f.loose && size == 4 && off == uint64(f.off) && !write):
		if !v.may(f, write) {
			return nil, v.refuse("a %s program may not %s %s.%s", v.who, verb, v.typ, f.name)
		}
		return f, nil
	case f == nil || off+uint64(size) > uint64(f.off)+uint64(f.size):
		return nil, v.refuse("no field of struct %s has %d bytes at offset %d", v.typ, size, off)
	case off%uint64(size) != 0:
		return nil, v.refuse("a load of %d bytes at offset %d of struct %s is not aligned", size, off, v.typ)
	case !v.may(f, write):
		return nil, v.refuse("a %s program may not %s %s.%s", v.who, verb, v.typ, f.name)
	case size != int(f.size) && (write || !f.narrow):
		return nil, v.refuse("%s.%s takes accesses of %d bytes, not %d", v.typ, f.name, f.size, size)
	}
	return f, nil
}

// pairAt is the second half of an access of two fields of an array at once, nil when it is none.
func (v *uapiView) pairAt(f *uapiField, off uint64, size int) *uapiField {
	if size != 8 || !f.pair || off%8 != 0 || off != uint64(f.off) {
		return nil
	}
	if g := v.fieldAt(off + 4); g != nil && g.pair && skbGroup(g.name) == skbGroup(f.name) {
		return g
	}
	return nil
}

func (v *uapiView) refuse(format string, args ...any) *mem.Fault {
	return &mem.Fault{Kind: mem.NotPermitted, Detail: fmt.Sprintf(format, args...)}
}

// The control block of __sk_buff is the one array that takes accesses of any size and alignment of it.
const cbStart, cbEnd = 48, 68

func (v *uapiView) inCB(off uint64, size int) bool {
	return off >= cbStart && off+uint64(size) <= cbEnd && v.typ == "__sk_buff"
}

// cb returns the bytes of the control block.
func (v *uapiView) cb() []byte {
	b := make([]byte, cbEnd-cbStart)
	first := v.index("cb[0]")
	for i := range 5 {
		v.k.Order().PutUint32(b[4*i:], uint32(v.vals[v.fields[first+i].id]))
	}
	return b
}

// value is the whole value of a field.
func (v *uapiView) value(f *uapiField) uint64 {
	switch f.kind {
	case dataField:
		return v.pkt.Data()
	case dataEndField:
		return v.pkt.DataEnd()
	case dataMetaField:
		return v.pkt.Meta()
	case lenField:
		return uint64(v.pkt.Len())
	case socketField:
		return v.sock.Addr()
	}
	if f.from != nil {
		return f.from(v)
	}
	return v.vals[f.id]
}

// setValue changes the whole value of a field.
func (v *uapiView) setValue(f *uapiField, x uint64) {
	if f.to != nil {
		f.to(v, x)
		return
	}
	v.vals[f.id] = x
}

// Load implements [mem.View]: packet pointers come as whole addresses whatever the width.
func (v *uapiView) Load(off uint64, size int) (uint64, *mem.Fault) {
	f, fault := v.access(off, size, false)
	if fault != nil {
		return 0, fault
	}
	if v.inCB(off, size) {
		b := v.cb()
		return object.GetUint(v.k.Order(), b[off-cbStart:off-cbStart+uint64(size)]), nil
	}
	x := v.value(f)
	switch f.kind {
	case dataField, dataEndField, dataMetaField, wideField, socketField:
		return x, nil
	}
	if g := v.pairAt(f, off, size); g != nil {
		if v.k.BigEndian() {
			return x<<32 | v.value(g), nil
		}
		return x | v.value(g)<<32, nil
	}
	if size < int(f.size) {
		in := off - uint64(f.off)
		if v.k.BigEndian() {
			in = uint64(f.size) - uint64(size) - in
		}
		x >>= 8 * in
	}
	if size < 8 {
		x &= 1<<(8*size) - 1
	}
	return x, nil
}

// Store implements [mem.View].
func (v *uapiView) Store(off uint64, size int, x uint64) *mem.Fault {
	f, fault := v.access(off, size, true)
	if fault != nil {
		return fault
	}
	if v.inCB(off, size) {
		b := v.cb()
		object.PutUint(v.k.Order(), b[off-cbStart:off-cbStart+uint64(size)], x)
		first := v.index("cb[0]")
		for i := range 5 {
			v.vals[v.fields[first+i].id] = uint64(v.k.Order().Uint32(b[4*i:]))
		}
		return nil
	}
	if g := v.pairAt(f, off, size); g != nil {
		first, second := x&0xffffffff, x>>32
		if v.k.BigEndian() {
			first, second = second, first
		}
		v.setValue(f, first)
		v.setValue(g, second)
		return nil
	}
	if size < 8 {
		x &= 1<<(8*size) - 1
	}
	v.setValue(f, x)
	return nil
}

// Read implements [mem.View]: a context is no memory for helpers.
func (v *uapiView) Read(uint64, []byte) *mem.Fault {
	return v.refuse("struct %s is a context, not memory: copy its fields first", v.typ)
}

// Write implements [mem.View].
func (v *uapiView) Write(uint64, []byte) *mem.Fault {
	return v.refuse("struct %s is a context, not memory", v.typ)
}

func (v *uapiView) index(name string) int {
	for i := range v.fields {
		if v.fields[i].name == name {
			return i
		}
	}
	return -1
}

// get and put reach values by field name for the kernel itself.
func (v *uapiView) get(name string) uint64 {
	if i := v.index(name); i >= 0 {
		return v.value(&v.fields[i])
	}
	return 0
}

func (v *uapiView) put(name string, x uint64) {
	if i := v.index(name); i >= 0 {
		v.setValue(&v.fields[i], x)
	}
}

// field returns the field of a name, which there must be.
func (v *uapiView) field(name string) *uapiField { return &v.fields[v.index(name)] }

func (v *uapiView) ctxOut() []byte {
	if v.out == nil {
		return nil
	}
	return v.out(v)
}

// skbGroup collects fields that have their names' first part in common.
func skbGroup(name string) string {
	for i := range len(name) {
		if name[i] == '[' {
			return name[:i]
		}
	}
	return name
}
