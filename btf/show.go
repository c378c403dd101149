package btf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// ShowFlags are the BTF_F_* bits of bpf_snprintf_btf (include/uapi/linux/bpf.h).
type ShowFlags uint64

const (
	// ShowCompact leaves out newlines and indentation.
	ShowCompact ShowFlags = 1 << 0
	// ShowNoName leaves out member and type names.
	ShowNoName ShowFlags = 1 << 1
	// ShowPtrRaw prints addresses unchanged instead of hashed.
	ShowPtrRaw ShowFlags = 1 << 2
	// ShowZero also prints zero values.
	ShowZero ShowFlags = 1 << 3
	// ShowAll is the set of all flags.
	ShowAll = ShowCompact | ShowNoName | ShowPtrRaw | ShowZero
)

// A ShowSource provides the memory that [Spec.Show] prints and receives the text.
type ShowSource interface {
	// ReadShown copies len(p) bytes at addr. Its error is the result of the whole call unless a
	// later copy succeeds.
	ReadShown(addr uint64, p []byte) error
	// PointerShown returns the number printed for an address without ShowPtrRaw.
	PointerShown(addr uint64) uint64
	// PutShown receives the next piece of text.
	PutShown(piece string)
}

// ErrShow means that [Spec.Show] cannot reproduce with certainty what a kernel prints.
var ErrShow = errors.New("value cannot be shown")

// Limits of Show. The kernel counts depth in a byte; no type of a kernel comes near either.
const (
	maxShowDepth = 200
	maxShowSteps = 1 << 22
	// showChunk is how many bytes of an object the kernel copies at a time; showBase is how many of
	// them the next value must have.
	showChunk, showBase = 32, 16
	maxShowName         = 79
	maxShowChain        = 10
	maxShowIndent       = 32
)

// Show prints the object of type id at addr in the form of bpf_snprintf_btf (kernel/bpf/btf.c
// btf_type_show).
//
// The kernel prints while it walks the type, and its output depends on state that survives from one
// value to the next: for example, members of structs in an array have no names until a nested array
// ends. This implementation keeps the same state.
//
// The error is one of src's, ErrUnsized for a type without a size, or ErrShow.
func (s *Spec) Show(id ID, addr uint64, flags ShowFlags, src ShowSource) error {
	w := shower{spec: s, src: src, flags: flags}
	t, err := s.Type(id)
	if err != nil {
		return err
	}
	w.show(t, id, addr, 0)
	if w.refused != nil {
		return w.refused
	}
	return w.status
}

// shower is the state of one call of Show.
type shower struct {
	spec  *Spec
	src   ShowSource
	flags ShowFlags

	// depth is the depth of the current value. checking is nonzero while an aggregate is walked
	// only to find out whether it has anything to print: it is then the depth of its members. found
	// is the depth of the deepest value that has.
	depth, checking, found int
	inArray                bool // the value is an array element, which has no name
	ended                  bool // a NUL has ended the array of characters
	chars                  bool // elements of the array are printed as characters if printable
	typ                    *Type
	id                     ID
	member                 *Member
	status                 error
	refused                error // the error that ended the walk
	steps                  int

	head, at uint64 // address of the object, and of the copied part
	size     int64
	copied   bool
	chunk    [showChunk]byte
}

// refuse ends the walk.
func (w *shower) refuse(format string, args ...any) {
	if w.refused == nil {
		w.refused = fmt.Errorf("%w: %s", ErrShow, fmt.Sprintf(format, args...))
	}
}

// begin makes a value the current one and returns its bytes, up to the end of the copied part. It
// fails if the value has no size or cannot be read; status holds the reason.
func (w *shower) begin(t *Type, id ID, addr uint64) ([]byte, bool) {
	w.typ, w.id = t, id
	size, ok := w.sizeof(t)
	if !ok {
		w.status = typeError(t, ErrUnsized, "it cannot be shown")
		return nil, false
	}
	if w.depth == 0 {
		w.size, w.head = size, addr
	} else if off := addr - w.at; w.copied && addr >= w.at && off+uint64(min(size, showBase)) < showChunk {
		return w.chunk[off:], true
	}
	left := w.size - int64(addr-w.head)
	if left < 0 {
		w.refuse("%s is %d bytes past the end of its object", w.spec.TypeString(id), -left)
		return nil, false
	}
	w.status = w.src.ReadShown(addr, w.chunk[:min(left, showChunk)])
	if w.status != nil {
		return nil, false
	}
	w.at, w.copied = addr, true
	return w.chunk[:], true
}

// sizeof mirrors the kernel's btf_resolve_size, which supports fewer kinds than C.
func (w *shower) sizeof(t *Type) (int64, bool) {
	target := t
	for n := 0; n < maxDepth && (target.Kind.IsMod() || target.Kind == KindArray); n++ {
		target = w.spec.MustType(target.Ref)
	}
	switch target.Kind {
	case KindInt, KindPtr, KindStruct, KindUnion, KindEnum, KindEnum64, KindFloat:
	default:
		return 0, false
	}
	if t.ID == 0 {
		return 0, false
	}
	n, err := w.spec.Sizeof(t.ID)
	// The kernel keeps sizes in 32 bits.
	return n, err == nil && n < 1<<31
}

func (w *shower) end() { w.typ, w.id = nil, 0 }

// take returns the first n bytes of a value. For a packed enum at the end of a copy the kernel
// reads past it; those bytes are unknown.
func (w *shower) take(b []byte, n int) []byte {
	if len(b) < n {
		w.refuse("a kernel would read %s beyond its copy", w.spec.TypeString(w.id))
		return make([]byte, n)
	}
	return b[:n]
}

// value prints one value. A zero within an aggregate is left out unless ShowZero is set.
func (w *shower) value(text string, zero bool) {
	if zero && w.flags&ShowZero == 0 && w.depth != 0 {
		return
	}
	if w.checking == 0 {
		w.src.PutShown(w.indent() + w.name() + text + w.delim() + w.newline())
	}
	w.found = max(w.found, w.depth)
}

func (w *shower) indent() string {
	if w.flags&ShowCompact != 0 {
		return ""
	}
	return strings.Repeat(" ", min(w.depth, maxShowIndent))
}

func (w *shower) newline() string {
	if w.flags&ShowCompact != 0 {
		return ""
	}
	return "\n"
}

func (w *shower) delim() string {
	switch {
	case w.depth == 0:
		return ""
	case w.flags&ShowCompact != 0 && w.typ != nil && w.typ.Kind == KindUnion:
		return "|"
	}
	return ","
}

// name returns the text before a value: ".member = (type)" and the opening parenthesis.
func (w *shower) name() string {
	if w.inArray {
		return ""
	}
	id, member := w.id, ""
	if w.member != nil {
		id, member = w.member.Type, w.member.Name
	}
	t := w.spec.MustType(id)
	name, named := "", false
	pointers, arrays, chain := 0, 0, 0
	for ; chain < maxShowChain; chain++ {
		next := ID(0)
		switch t.Kind {
		case KindTypedef:
			if !named {
				name, named = t.Name, true
			}
			next = t.Ref
		case KindArray:
			arrays++
			next = t.Ref
		case KindPtr:
			pointers++
			next = t.Ref
		}
		if next == 0 {
			break
		}
		t = w.unqualified(next)
	}
	if chain == maxShowChain {
		return "" // the kernel gives up here
	}
	prefix, open := "", ""
	if arrays > 0 {
		open = "["
	}
	switch t.Kind {
	case KindStruct, KindUnion:
		prefix = strings.ToLower(t.Kind.String())
		if arrays == 0 {
			open = "{"
		}
	case KindEnum, KindEnum64:
		prefix = "enum"
	}
	if pointers > 0 {
		open = ""
	}
	if w.flags&ShowNoName != 0 {
		return open
	}
	if named {
		prefix = ""
	} else {
		name = t.Name
	}
	var b strings.Builder
	if member != "" {
		b.WriteString("." + member + " = ")
	}
	b.WriteString("(" + prefix)
	if prefix != "" && name != "" {
		b.WriteByte(' ')
	}
	b.WriteString(name)
	if pointers > 0 {
		b.WriteString(" " + strings.Repeat("*", pointers))
	}
	b.WriteString(strings.Repeat("[]", arrays) + ")" + open)
	text := b.String()
	return text[:min(len(text), maxShowName)]
}

// unqualified skips qualifiers but not typedefs.
func (w *shower) unqualified(id ID) *Type {
	t := w.spec.MustType(id)
	for n := 0; n < maxDepth && t.Kind.IsMod() && t.Kind != KindTypedef; n++ {
		t = w.spec.MustType(t.Ref)
	}
	return t
}

func (w *shower) order() binary.ByteOrder { return w.spec.ByteOrder() }
