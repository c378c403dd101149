package progtype

import (
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Context describes the object that r1 of a program points to.
type Context struct {
	// User is the struct that programs declare ("__sk_buff"), empty if there is none; Kernel is the
	// kernel's internal struct ("sk_buff"), which bpf_cast_to_kern_ctx returns
	// (include/linux/bpf_types.h).
	User, Kernel string
	Layout       Layout
	// Size is the size of a [StructLayout] in bytes, or 0 for other layouts.
	Size int
	// Fields lists the fields of a [StructLayout] in struct order; at most 64.
	Fields []Field

	at []int8 // indexed by offset: the index in Fields of the field there, or -1
}

// Layout is the kind of layout of a context.
type Layout uint8

// Layouts of contexts.
const (
	NoLayout     Layout = iota // programs of the type get the context of another program's type
	StructLayout               // a struct of the user space ABI whose fields the verifier rewrites
	RegsLayout                 // struct pt_regs of the architecture
	RecordLayout               // the record of a tracepoint after 8 hidden bytes
	NumberLayout               // up to 12 arguments of 8 bytes, all numbers
	ArgsLayout                 // arguments of 8 bytes, typed by the hook's BTF
	SampleLayout               // pt_regs, then two u64: sample_period and addr
	BytesLayout                // bytes defined by the program's author
)

// Field is a field of a context struct.
type Field struct {
	Name      string // "mark", "cb[0]"
	Off, Size int
	Since     uapi.Release // 0 means before 5.10
	Yields    Pointer
	// BTF names the kernel struct that a [BTFObject] points to.
	BTF string
	// Narrow means that loads of aligned parts are allowed; stores must cover the whole field.
	// Least is the size of the smallest part in bytes; 0 means 1.
	Narrow bool
	Least  int
	// Held is the size in bytes of what the kernel loads for the field if it is less than Size
	// (*target_size of convert_ctx_access). A narrow load takes a part of the field only if it is
	// smaller than this; else it yields the whole value, at whatever offset.
	Held int
	// Pair allows an 8-byte access to this field and the next one of the same array
	// (bpf_ctx_wide_access_ok).
	Pair bool
	// Span allows loads and stores of any width within the array.
	Span bool
	// Wider allows a 4-byte load from a 2-byte field that was once declared with 4 bytes.
	Wider bool
}

// Pointer is the kind of value that a load of a field yields.
type Pointer uint8

// Kinds of values that loads yield.
const (
	Number Pointer = iota
	PacketData
	PacketEnd
	PacketMeta
	Socket           // struct bpf_sock of a full socket
	SocketOrNull     // the same, or null
	SockCommonOrNull // struct bpf_sock of any socket, or null
	FlowKeys         // struct bpf_flow_keys
	EventBuffer      // the writable buffer of a raw tracepoint
	BTFObject        // a kernel object typed by BTF
)

// Whole reports whether a load of size bytes yields the field's whole value (convert_ctx_accesses).
func (f *Field) Whole(size int) bool {
	return size >= f.Size || f.Held > 0 && size >= f.Held
}

// Group returns the field's name without an index: "cb" of "cb[3]".
func (f *Field) Group() string { return group(f.Name) }

func group(name string) string {
	for i := range len(name) {
		if name[i] == '[' {
			return name[:i]
		}
	}
	return name
}

// Access lists the fields of its context that a program may read and write. Arrays are named
// without an index.
type Access struct {
	Hidden  []string // fields that may not be read
	Written []string // fields that may be written
	// Writes is the first release that allows stores to a context other than a [StructLayout]; 0
	// means none does.
	Writes uapi.Release

	// The same as bit sets of field indexes.
	readable, writable uint64
}

// compile precomputes the tables that [Context.Check] uses with these rules.
func (c *Context) compile(rules ...*Access) {
	if c.at == nil {
		c.at = make([]int8, c.Size)
		for i := range c.at {
			c.at[i] = -1
		}
		for i, f := range c.Fields {
			for b := range f.Size {
				c.at[f.Off+b] = int8(i)
			}
		}
	}
	for _, a := range rules {
		a.readable, a.writable = 0, 0
		for i := range c.Fields {
			if g := c.Fields[i].Group(); !slices.Contains(a.Hidden, g) {
				a.readable |= 1 << i
			}
			if slices.Contains(a.Written, c.Fields[i].Group()) {
				a.writable |= 1 << i
			}
		}
	}
}

// Reason is the reason why the verifier refuses an access to a context.
type Reason uint8

// Reasons of an [AccessError].
const (
	NoField    Reason = iota // no field of that size at that offset
	Unaligned                // the offset is not a multiple of the width
	Forbidden                // the program may not read or write the field
	WrongWidth               // the field requires another width
)

// AccessError describes an access to a context that the verifier refuses.
type AccessError struct {
	Reason    Reason
	Context   *Context
	Field     *Field // nil with NoField
	Off, Size int
	Write     bool
}

// Error describes the access and what the context allows instead.
func (e *AccessError) Error() string {
	name := e.Context.User
	if name == "" {
		name = "context"
	}
	verb := "read"
	if e.Write {
		verb = "write"
	}
	switch e.Reason {
	case Unaligned:
		return fmt.Sprintf("%d bytes at offset %d of %s are not aligned", e.Size, e.Off, name)
	case Forbidden:
		if e.Field == nil {
			return fmt.Sprintf("the program may not %s its context", verb)
		}
		return fmt.Sprintf("the program may not %s %s.%s", verb, name, e.Field.Name)
	case WrongWidth:
		return fmt.Sprintf("%s.%s takes accesses of %d bytes, not %d", name, e.Field.Name, e.Field.Size, e.Size)
	}
	return fmt.Sprintf("%s has no field of %d bytes at offset %d", name, e.Size, e.Off)
}

// Number returns the index in Fields of the field that contains byte off in a release, or -1.
func (c *Context) Number(release uapi.Release, off int) int {
	if off < 0 || off >= len(c.at) {
		return -1
	}
	i := int(c.at[off])
	if i >= 0 && !release.Has(c.Fields[i].Since) {
		return -1
	}
	return i
}

// FieldAt returns the field that contains byte off in a release, or nil.
func (c *Context) FieldAt(release uapi.Release, off int) *Field {
	if i := c.Number(release, off); i >= 0 {
		return &c.Fields[i]
	}
	return nil
}

// Field returns the field with a name, or nil if there is none in any release.
func (c *Context) Field(name string) *Field {
	for i := range c.Fields {
		if c.Fields[i].Name == name {
			return &c.Fields[i]
		}
	}
	return nil
}

// Pair returns the index of the field after field i in the same array if an access of size bytes at
// off may cover both fields, or -1. Only aligned 8-byte accesses may do so.
func (c *Context) Pair(release uapi.Release, i, off, size int) int {
	f := &c.Fields[i]
	if !f.Pair || size != 8 || off != f.Off || off%8 != 0 {
		return -1
	}
	if j := c.Number(release, off+f.Size); j >= 0 && c.Fields[j].Pair && c.Fields[j].Group() == f.Group() {
		return j
	}
	return -1
}

// maxRecord is PERF_MAX_TRACE_SIZE. hiddenRecord is the number of bytes at the start of a
// tracepoint's record that are hidden from programs.
const (
	maxRecord    = 8192
	hiddenRecord = 8
	maxArguments = 12 // MAX_BPF_FUNC_ARGS
	maxBytes     = 1<<16 - 1
)

// CheckAccess checks a load from or store to the context by a program of an attach type, like the
// is_valid_access functions of net/core/filter.c, kernel/bpf/cgroup.c and kernel/trace/bpf_trace.c.
// The field is nil for contexts other than a [StructLayout], whose further rules depend on BTF and
// the architecture. The error is an [*AccessError].
func (r *Row) CheckAccess(release uapi.Release, a uapi.AttachType, off, size int, write bool) (*Field, error) {
	rules := r.AccessOf(a)
	c := r.Context
	if c.Layout == StructLayout {
		i, err := c.Check(release, rules, off, size, write)
		if err != nil {
			return nil, err
		}
		return &c.Fields[i], nil
	}
	refuse := func(why Reason) (*Field, error) {
		return nil, &AccessError{Reason: why, Context: c, Off: off, Size: size, Write: write}
	}
	least, most := 0, 0
	switch c.Layout {
	case RecordLayout:
		least, most = hiddenRecord, maxRecord
	case NumberLayout, ArgsLayout:
		most = 8 * maxArguments
	case BytesLayout:
		most = maxBytes
	case RegsLayout, SampleLayout:
		most = maxBytes // the architecture's struct sets the real limit
	case NoLayout, StructLayout:
	}
	switch {
	case off < least || off >= most:
		return refuse(NoField)
	case off%size != 0:
		return refuse(Unaligned)
	case write && (rules.Writes == 0 || !release.Has(rules.Writes)):
		return refuse(Forbidden)
	}
	return nil, nil
}

// Check checks an access to a struct against rules, and returns the index of the field. The error
// is an [*AccessError].
func (c *Context) Check(release uapi.Release, rules *Access, off, size int, write bool) (int, error) {
	i := c.Number(release, off)
	refuse := func(why Reason) (int, error) {
		e := &AccessError{Reason: why, Context: c, Off: off, Size: size, Write: write}
		if i >= 0 {
			e.Field = &c.Fields[i]
		}
		return -1, e
	}
	if i < 0 {
		return refuse(NoField)
	}
	f := &c.Fields[i]
	span := f.Span && c.spans(release, f, off, size)
	wide := c.Pair(release, i, off, size) >= 0 || f.Wider && size == 4 && off == f.Off && !write
	may := rules.readable
	if write {
		may = rules.writable
	}
	switch {
	case !span && !wide && off+size > f.Off+f.Size:
		return refuse(NoField)
	case off%size != 0:
		return refuse(Unaligned)
	case may>>i&1 == 0:
		return refuse(Forbidden)
	case span || wide || size == f.Size:
		return i, nil
	case write || !f.Narrow || size < f.Least:
		return refuse(WrongWidth)
	}
	return i, nil
}

// spans reports whether an access stays within the array of a field.
func (c *Context) spans(release uapi.Release, f *Field, off, size int) bool {
	last := c.FieldAt(release, off+size-1)
	return last != nil && last.Span && last.Group() == f.Group()
}
