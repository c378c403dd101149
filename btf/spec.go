package btf

import (
	"encoding/binary"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// pageTypes is the number of types whose cache entries are allocated together.
const pageTypes = 128

type typePage [pageTypes]atomic.Pointer[Type]

// Spec is one parsed BTF: that of a kernel, of a module on top of its kernel (split BTF), or of a
// BPF object. [Parse], [Load] and [LoadBytes] return one. It is immutable and safe for concurrent
// use.
type Spec struct {
	name    string
	raw     []byte
	hdr     header
	big     bool
	ptrSize int
	base    *Spec
	first   ID     // first own id
	strBase uint32 // length of the string tables of all bases
	types   []byte // own type section, in little-endian words
	strs    string // own string table
	// strTable is strs as bytes, for word loads.
	strTable []byte
	offs     []uint32

	pages []atomic.Pointer[typePage]

	namedTypes             []uint32 // positions in offs of named types other than symbols
	typeNames, symbolNames nameIndex
	enumOnce               sync.Once
	enums                  map[string]enumRef

	distilled *Spec // .BTF.base of the file, if it has one
}

var voidType = &Type{Kind: KindVoid}

// Parse parses raw BTF, the bytes of a .BTF section or of /sys/kernel/btf/vmlinux, in either byte
// order. For split BTF, base is the Spec it continues, else nil. The Spec keeps a reference to raw,
// which must not change.
//
// Parse checks all headers, string offsets and type ids, so that following a reference of a decoded
// type never fails. Semantic errors (sizes, cycles) are reported by the methods that depend on
// them. The error is an *[Error].
func Parse(raw []byte, base *Spec) (*Spec, error) {
	s, err := open(raw, base)
	if err != nil {
		return nil, err
	}
	if err := s.scan(); err != nil {
		return nil, err
	}
	if s.ptrSize == 0 {
		s.ptrSize = 8
	}
	s.makePages()
	return s, nil
}

// open checks all but the types.
func open(raw []byte, base *Spec) (*Spec, error) {
	h, err := parseHeader(raw)
	if err != nil {
		return nil, err
	}
	s := &Spec{raw: raw, hdr: h, big: h.order == binary.BigEndian, base: base, first: 1}
	s.types = raw[h.typeOff : h.typeOff+h.typeLen : h.typeOff+h.typeLen]
	if s.big {
		s.types = swapWords(s.types)
	}
	if s.strTable = raw[h.strOff : h.strOff+h.strLen : h.strOff+h.strLen]; h.strLen > 0 {
		// Not copied: the table is a third of the file, and raw must not change.
		s.strs = unsafe.String(&raw[h.strOff], h.strLen)
	}
	if base != nil {
		if base.big != s.big {
			return nil, headerError(ErrHeader, "split BTF is %s, its base is %s", orderName(s.big), orderName(base.big))
		}
		s.first = ID(base.NumTypes())
		s.strBase = base.strBase + uint32(len(base.strs))
		s.ptrSize = base.ptrSize
	}
	return s, s.checkStrings()
}

// makePages makes room for the types that are decoded.
func (s *Spec) makePages() {
	s.pages = make([]atomic.Pointer[typePage], (len(s.offs)+pageTypes-1)/pageTypes)
}

func orderName(big bool) string {
	if big {
		return "big endian"
	}
	return "little endian"
}

// checkStrings checks that the string table ends with a zero byte. A base table must also start
// with one; split BTF continues another table and may be empty.
func (s *Spec) checkStrings() error {
	n := len(s.strs)
	switch {
	case n == 0 && s.base == nil:
		return headerError(ErrStringTable, "it is empty; the first string must be \"\"")
	case n == 0:
		return nil
	case s.base == nil && s.strs[0] != 0:
		return headerError(ErrStringTable, "it starts with byte %#02x, not with \"\" (split BTF needs its base)", s.strs[0])
	case s.strs[n-1] != 0:
		return headerError(ErrStringTable, "the last of %d bytes is %#02x, not the terminator 0", n, s.strs[n-1])
	}
	return nil
}

func u32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }

// swapWords returns a copy with the bytes of each 32-bit word reversed; a type section consists of
// such words only. Trailing bytes stay as they are.
func swapWords(b []byte) []byte {
	out := append([]byte(nil), b...)
	for w := out; len(w) >= 4; w = w[4:] {
		binary.LittleEndian.PutUint32(w, binary.BigEndian.Uint32(w))
	}
	return out
}

// setName sets the display name of a Spec that is not shared yet.
func (s *Spec) setName(name string) { s.name = name }

// SourceName returns the file or name given to [Load] or [LoadBytes], or "" after [Parse].
func (s *Spec) SourceName() string { return s.name }

// ByteOrder returns the byte order of the BTF and of its target.
func (s *Spec) ByteOrder() binary.ByteOrder { return s.hdr.order }

// PointerSize returns the size of a target pointer in bytes, 4 or 8. It follows from the class of
// the ELF file, else from the size of the first INT with a spelling of "long", else it is 8. Split
// BTF has its base's.
func (s *Spec) PointerSize() int { return s.ptrSize }

// Base returns the BTF that split BTF continues, or nil.
func (s *Spec) Base() *Spec { return s.base }

// StandsAlone reports whether BTF that was parsed on top of a base does not look like split BTF:
// writers (libbpf) put the empty string only into the table of the base. Its names and references
// would be looked up in the wrong BTF.
func (s *Spec) StandsAlone() bool { return s.base != nil && s.strs != "" && s.strs[0] == 0 }

// DistilledBase returns the .BTF.base of the ELF file (btf.rst 4.4), or nil. The Spec's ids refer
// to that base until [Relocate] moves it onto a kernel's BTF.
func (s *Spec) DistilledBase() *Spec { return s.distilled }

// FirstID returns the first id after those of the base: 1 without a base.
func (s *Spec) FirstID() ID { return s.first }

// NumTypes returns the number of ids, including void and the base. Valid ids are 0 to NumTypes()-1.
func (s *Spec) NumTypes() int { return int(s.first) + len(s.offs) }

// Raw returns the bytes that the Spec was parsed from.
func (s *Spec) Raw() []byte { return s.raw }

// Sections returns where the types and the string table are in [Spec.Raw].
func (s *Spec) Sections() (types, strs struct{ Off, Len uint32 }) {
	types.Off, types.Len = s.hdr.typeOff, s.hdr.typeLen
	strs.Off, strs.Len = s.hdr.strOff, s.hdr.strLen
	return types, strs
}

// owner returns the Spec that holds id, and the offset of the type header in its type section. ok
// is false for void and ids out of range.
func (s *Spec) owner(id ID) (o *Spec, off uint32, ok bool) {
	for o = s; o != nil; o = o.base {
		if id >= o.first {
			if i := int(id - o.first); i < len(o.offs) {
				return o, o.offs[i], true
			}
			return nil, 0, false
		}
	}
	return nil, 0, false
}

// Kind returns the kind of a type without decoding it, or KindVoid for id 0 and ids out of range.
func (s *Spec) Kind(id ID) Kind {
	o, off, ok := s.owner(id)
	if !ok {
		return KindVoid
	}
	return o.kindAt(off)
}

func (s *Spec) kindAt(off uint32) Kind {
	return Kind(s.types[off+7] & 0x7f)
}

// Ref returns what [Type].Ref is without decoding the type: the prototype of a function, the type
// behind a pointer, typedef or variable. It is 0 for arrays, for kinds that refer to no type, and
// for ids out of range.
func (s *Spec) Ref(id ID) ID {
	o, off, ok := s.owner(id)
	if !ok || !o.kindAt(off).hasRef() {
		return 0
	}
	return ID(u32(o.types[off+8:]))
}

// Name returns the name of a type without decoding it, or "" for anonymous types, void and ids out
// of range.
func (s *Spec) Name(id ID) string {
	o, off, ok := s.owner(id)
	if !ok {
		return ""
	}
	return o.str(u32(o.types[off:]))
}

// str returns the string at an offset into the concatenated tables, or "" if it is out of range.
func (s *Spec) str(off uint32) string {
	for s.base != nil && off < s.strBase {
		s = s.base
	}
	if off -= s.strBase; off >= uint32(len(s.strs)) {
		return ""
	}
	rest := s.strs[off:]
	if i := strings.IndexByte(rest, 0); i >= 0 {
		return rest[:i]
	}
	return rest
}

// String returns the string at an offset; offsets of split BTF continue those of its base. ok is
// false if it is out of range.
func (s *Spec) String(off uint32) (str string, ok bool) {
	if !s.hasString(off) {
		return "", false
	}
	return s.str(off), true
}

func (s *Spec) hasString(off uint32) bool { return uint64(off) < uint64(s.strBase)+uint64(len(s.strs)) }

// Type returns a type, which is decoded on first use. The error is ErrBadID.
func (s *Spec) Type(id ID) (*Type, error) {
	if id == 0 {
		return voidType, nil
	}
	o := s
	for o.base != nil && id < o.first {
		o = o.base
	}
	i := int(id) - int(o.first)
	if i < 0 || i >= len(o.offs) {
		return nil, &Error{ID: id, Offset: -1, Detail: "the last id is " + utoa(s.NumTypes()-1), Err: ErrBadID}
	}
	slot := &o.pages[i/pageTypes]
	p := slot.Load()
	if p == nil {
		p = new(typePage)
		if !slot.CompareAndSwap(nil, p) {
			p = slot.Load()
		}
	}
	if t := p[i%pageTypes].Load(); t != nil {
		return t, nil
	}
	t := o.decode(id, o.offs[i])
	if !p[i%pageTypes].CompareAndSwap(nil, t) {
		t = p[i%pageTypes].Load()
	}
	return t, nil
}

// MustType is [Spec.Type] for an id known to be valid, like every id in a decoded type. It panics
// for others.
func (s *Spec) MustType(id ID) *Type {
	t, err := s.Type(id)
	if err != nil {
		panic(err)
	}
	return t
}
