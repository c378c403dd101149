package progtype

import (
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/uapi"
)

// Context is what r1 of a program points to.
type Context struct {
	// User is the struct programs declare ("__sk_buff"), empty where there is none; Kernel the struct behind it ("sk_buff"),
	// which bpf_cast_to_kern_ctx gives (include/linux/bpf_types.h).
	User, Kernel string
	Layout       Layout
	// Size in bytes of a [StructLayout]; 0 elsewhere.
	Size int
	// Fields of a [StructLayout], in the order of the struct.
	Fields []Field
}

// Layout is how a context is laid out.
type Layout uint8

// Layouts.
const (
	NoLayout     Layout = iota // programs of the type get what another program's type gets
	StructLayout               // a struct of the user space ABI whose fields the verifier rewrites
	RegsLayout                 // struct pt_regs of the architecture
	RecordLayout               // the record of a tracepoint after 8 bytes that are hidden
	NumberLayout               // up to 12 arguments of 8 bytes, all numbers
	ArgsLayout                 // arguments of 8 bytes, typed by the hook's BTF
	SampleLayout               // pt_regs, then two u64: sample_period and addr
	BytesLayout                // bytes the program's writer chose
)

// Field is a field of a context struct.
type Field struct {
	Name      string // "mark", "cb[0]"
	Off, Size int
	Since     uapi.Release // 0: before 5.10
	Yields    Pointer
	// BTF names the kernel struct that a [BTFObject] points to.
	BTF string
	// Narrow says that loads of aligned parts are permitted; stores are of the whole field always. Least is the smallest of them
	// in bytes where it is not 1.
	Narrow bool
	Least  int
	// Pair permits an access of 8 bytes to this field and the next one of the same array (bpf_ctx_wide_access_ok).
	Pair bool
	// Span permits accesses of every width that stay within the array, reads and writes.
	Span bool
	// Wider permits a load of 4 bytes of a field of 2, as it was declared once.
	Wider bool
}

// Pointer is what a load of a field yields.
type Pointer uint8

// Kinds of values.
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
	BTFObject        // a kernel object by BTF
)

// Group is the field's name without an index: "cb" of "cb[3]".
func (f *Field) Group() string { return group(f.Name) }

func group(name string) string {
	for i := range len(name) {
		if name[i] == '[' {
			return name[:i]
		}
	}
	return name
}

// Access is which fields of its context a program may read and write. Arrays are named without index.
type Access struct {
	Hidden  []string // fields that may not be read
	Written []string // fields that may be written
	// Writes permits stores to a context that is not a [StructLayout], from a release on; 0 never.
	Writes uapi.Release
}

// May reports whether the field may be read, or written.
func (a *Access) May(f *Field, write bool) bool {
	if write {
		return slices.Contains(a.Written, f.Group())
	}
	return !slices.Contains(a.Hidden, f.Group())
}

// Reason is why an access to a context is not permitted.
type Reason uint8

// Reasons.
const (
	NoField    Reason = iota // nothing there has that many bytes
	Unaligned                // the offset is no multiple of the width
	Forbidden                // the program may not read, or write, the field
	WrongWidth               // the field takes accesses of another width
)

// AccessError is an access to a context that the verifier does not permit.
type AccessError struct {
	Reason    Reason
	Context   *Context
	Field     *Field // nil with NoField
	Off, Size int
	Write     bool
}

// Error tells what the context permits instead.
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

// FieldAt returns the field that contains byte off in a release, nil when none does.
func (c *Context) FieldAt(release uapi.Release, off int) *Field {
	for i := range c.Fields {
		if f := &c.Fields[i]; off >= f.Off && off < f.Off+f.Size && release.Has(f.Since) {
			return f
		}
	}
	return nil
}

// Field returns the field of a name, nil when there is none in any release.
func (c *Context) Field(name string) *Field {
	for i := range c.Fields {
		if c.Fields[i].Name == name {
			return &c.Fields[i]
		}
	}
	return nil
}

// second returns the field of an array that follows f at off, when both may be accessed together.
func (c *Context) second(release uapi.Release, f *Field, off, size int) *Field {
	if !f.Pair || size != 8 || off != f.Off || off%8 != 0 {
		return nil
	}
	if g := c.FieldAt(release, off+f.Size); g != nil && g.Pair && g.Group() == f.Group() {
		return g
	}
	return nil
}

// Pair returns the two fields of an access of 8 bytes to both; second is nil when the access is to one field.
func (c *Context) Pair(release uapi.Release, off, size int) (first, second *Field) {
	first = c.FieldAt(release, off)
	if first == nil {
		return nil, nil
	}
	return first, c.second(release, first, off, size)
}

// maxRecord is PERF_MAX_TRACE_SIZE, hiddenRecord the part of a tracepoint's record that programs do not see.
const (
	maxRecord    = 8192
	hiddenRecord = 8
	maxArguments = 12 // MAX_BPF_FUNC_ARGS
	maxBytes     = 1<<16 - 1
)

// CheckAccess judges a load or store of the context by a program of that attach type as the is_valid_access functions of
// net/core/filter.c, kernel/bpf/cgroup.c and kernel/trace/bpf_trace.c do. The field is nil for contexts that are no
// [StructLayout]: there BTF and the architecture decide the rest. The error is an [*AccessError].
func (r *Row) CheckAccess(release uapi.Release, a uapi.AttachType, off, size int, write bool) (*Field, error) {
	rules := r.AccessOf(a)
	c := r.Context
	if c.Layout == StructLayout {
		return c.check(release, rules, off, size, write)
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
		most = maxBytes // the struct of the architecture decides
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

// check judges an access to a struct.
func (c *Context) check(release uapi.Release, rules *Access, off, size int, write bool) (*Field, error) {
	f := c.FieldAt(release, off)
	refuse := func(why Reason) (*Field, error) {
		return nil, &AccessError{Reason: why, Context: c, Field: f, Off: off, Size: size, Write: write}
	}
	if f == nil {
		return refuse(NoField)
	}
	span := f.Span && c.FieldAt(release, off+size-1) != nil && c.FieldAt(release, off+size-1).Group() == f.Group()
	wide := c.second(release, f, off, size) != nil || f.Wider && size == 4 && off == f.Off && !write
	switch {
	case !span && !wide && off+size > f.Off+f.Size:
		return refuse(NoField)
	case off%size != 0:
		return refuse(Unaligned)
	case !rules.May(f, write):
		return refuse(Forbidden)
	case span || wide || size == f.Size:
		return f, nil
	case write || !f.Narrow || size < f.Least:
		return refuse(WrongWidth)
	}
	return f, nil
}
