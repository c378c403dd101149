package fromdwarf

import (
	"debug/dwarf"
	"fmt"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/dedup"
)

// Encodings of base types (DWARF 5 section 7.8).
const (
	ateBoolean    = 0x02
	ateFloat      = 0x04
	ateSigned     = 0x05
	ateSignedChar = 0x06
)

// writer writes the types of a unit.
type writer struct {
	*maker
	*unit
	// index is the type of array indexes.
	index uint32
}

// isTag reports whether a child node is a tag annotation of that kind.
func (w *writer) isTag(n *node, kind string) bool {
	return (n.tag == tagLLVMAnnotation || n.tag == tagGNUAnnotation) && string(w.bytes(n.name)) == kind
}

// tags returns the texts of a node's tag annotations of that kind.
func (w *writer) tags(n *node, kind string) []text {
	if kind == typeTag && w.feat&TypeTag == 0 || kind == declTag && w.feat&DeclTag == 0 {
		return nil
	}
	var out []text
	w.parts(n, func(p *node) {
		if w.isTag(p, kind) {
			out = append(out, p.label)
		}
	})
	return out
}

const (
	typeTag = "btf_type_tag"
	declTag = "btf_decl_tag"
)

// count returns the number of a node's children that have a DWARF tag.
func (w *writer) count(n *node, tag dwarf.Tag) int {
	count := 0
	w.parts(n, func(p *node) {
		if p.tag == tag {
			count++
		}
	})
	return count
}

// void reports whether a node becomes no BTF type: BTF has none for the type of nullptr, and
// _Atomic is dropped.
func (n *node) void() bool { return n.tag == dwarf.TagUnspecifiedType || n.tag == dwarf.TagAtomicType }

// ids returns the number of BTF types that a node becomes.
func (w *writer) ids(n *node) uint32 {
	switch {
	case n.void():
		return 0
	case n.tag == dwarf.TagPointerType && n.first != 0:
		return 1 + uint32(len(w.tags(n, typeTag)))
	}
	return 1
}

// write assigns ids to the unit's types and writes them with the unit's functions and variables.
func (w *writer) write() error {
	if len(w.typeNodes) > maxUnitTypes {
		return fmt.Errorf("%w: a unit with %d types", ErrMalformed, len(w.typeNodes))
	}
	t := w.types
	next := t.NextID()
	arrays := false
	for _, i := range w.typeNodes {
		n := &w.nodes[i]
		if n.void() {
			continue
		}
		n.id = next
		next += w.ids(n)
		arrays = arrays || n.tag == dwarf.TagArrayType
		if n.tag == dwarf.TagBaseType && w.index == 0 && n.size == 4 && string(w.bytes(n.name)) == "int" {
			w.index = n.id
		}
	}
	if w.index == 0 {
		w.index = w.lastInt // as pahole does for units without int
	}
	w.lastInt = w.index
	missing := arrays && w.index == 0
	if missing {
		w.index = next
	}
	for _, i := range w.typeNodes {
		if n := &w.nodes[i]; !n.void() {
			w.writeType(n)
		}
	}
	if missing {
		t.Add(t.Str("__ARRAY_SIZE_TYPE__"), dedup.Info(btf.KindInt, 0, false), 4, 32)
	}
	for _, i := range w.typeNodes {
		switch n := &w.nodes[i]; n.tag {
		case dwarf.TagStructType, dwarf.TagUnionType, dwarf.TagTypedef:
			w.declTags(n, n.id, dwarf.TagMember)
		}
	}
	for _, i := range w.funcs {
		if n := &w.nodes[i]; w.in.located {
			w.keepFunc(n)
		} else {
			w.writeFunc(n)
		}
	}
	for _, i := range w.globals {
		w.writeVar(&w.nodes[i])
	}
	return nil
}

// typeAt returns the node of the type at an offset in .debug_info, or nil.
func (w *writer) typeAt(off uint64) *node {
	n := w.at(off)
	if n == nil || classOf(n.tag) != classType {
		return nil
	}
	return n
}

// ref returns the id of the type at an offset in .debug_info; 0 for void and for types that BTF
// cannot describe.
func (w *writer) ref(off uint64) uint32 {
	if off == 0 {
		return 0
	}
	for range maxNesting {
		n := w.typeAt(off)
		if n == nil {
			return 0
		}
		if n.tag != dwarf.TagAtomicType {
			return n.id
		}
		off = n.ref
	}
	return 0
}

func (w *writer) writeType(n *node) {
	t := w.types
	simple := func(kind btf.Kind, name text) { t.Add(w.str(name), dedup.Info(kind, 0, false), w.ref(n.ref)) }
	switch n.tag {
	case dwarf.TagBaseType:
		w.writeBase(n)
	case dwarf.TagPointerType:
		w.writePointer(n)
	case dwarf.TagTypedef:
		simple(btf.KindTypedef, n.name)
	case dwarf.TagConstType:
		simple(btf.KindConst, 0)
	case dwarf.TagVolatileType:
		simple(btf.KindVolatile, 0)
	case dwarf.TagRestrictType:
		simple(btf.KindRestrict, 0)
	case dwarf.TagArrayType:
		total := n.elements
		if total < 0 || total >= maxElements {
			total = 0
		}
		t.Add(0, dedup.Info(btf.KindArray, 0, false), 0, w.ref(n.ref), w.index, uint32(total))
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
		w.writeStruct(n)
	case dwarf.TagEnumerationType:
		w.writeEnum(n)
	case dwarf.TagSubroutineType:
		w.writeProto(n)
	}
}

func (w *writer) writeBase(n *node) {
	t := w.types
	if n.encoding == ateFloat && w.feat&Float != 0 {
		t.Add(w.str(n.name), dedup.Info(btf.KindFloat, 0, false), uint32(n.size))
		return
	}
	enc := uint32(0)
	switch n.encoding {
	case ateSigned, ateSignedChar:
		enc = btf.IntSigned
	case ateBoolean:
		enc = btf.IntBool
	}
	t.Add(w.str(n.name), dedup.Info(btf.KindInt, 0, false), uint32(n.size), enc<<24|uint32(n.size*8)&0xff)
}

// writePointer writes a pointer and the type tags of its pointee; the last tag is the innermost.
func (w *writer) writePointer(n *node) {
	t := w.types
	to := w.ref(n.ref)
	if n.first == 0 {
		t.Add(0, dedup.Info(btf.KindPtr, 0, false), to)
		return
	}
	tags := w.tags(n, typeTag)
	if len(tags) > 0 {
		to = n.id + uint32(len(tags))
	}
	t.Add(0, dedup.Info(btf.KindPtr, 0, false), to)
	for i, tag := range tags {
		to := n.id + uint32(i)
		if i == 0 {
			to = w.ref(n.ref)
		}
		t.Add(w.str(tag), dedup.Info(btf.KindTypeTag, 0, false), to)
	}
}

func (w *writer) writeStruct(n *node) {
	t := w.types
	union := n.tag == dwarf.TagUnionType
	if n.declared {
		t.Add(w.str(n.name), dedup.Info(btf.KindFwd, 0, union), 0)
		return
	}
	bits, count := false, 0
	w.parts(n, func(m *node) {
		if m.tag == dwarf.TagMember {
			bits = bits || m.bitSize != 0
			count++
		}
	})
	kind := btf.KindStruct
	if union {
		kind = btf.KindUnion
	}
	count = w.vlen(kind, count)
	t.Add(w.str(n.name), dedup.Info(kind, count, bits), uint32(n.size))
	w.parts(n, func(m *node) {
		if m.tag != dwarf.TagMember || count == 0 {
			return
		}
		count--
		off := uint32(m.location * 8)
		if m.bitSize != 0 {
			off = uint32(w.bitPlace(m))&0xffffff | uint32(m.bitSize)<<24
		}
		t.Extend(w.str(m.name), w.ref(m.ref), off)
	})
}

// bitPlace returns the offset of a bit-field in bits from the start of the struct, in BTF's bit
// order.
func (w *writer) bitPlace(m *node) int64 {
	switch {
	case m.bitOffset >= 0:
		return m.bitOffset
	case m.oldBits < 0:
		return m.location * 8
	case w.in.big:
		return m.location*8 + m.oldBits
	}
	storage := m.size
	if storage == 0 {
		storage = w.storage(m.ref, 0)
	}
	return m.location*8 + storage*8 - m.oldBits - int64(m.bitSize)
}

// storage returns the size in bytes of a bit-field's declared type.
func (w *writer) storage(off uint64, depth int) int64 {
	n := w.typeAt(off)
	switch {
	case n == nil || depth > 32:
		return 0
	case n.size != 0:
		return n.size
	}
	return w.storage(n.ref, depth+1)
}

func (w *writer) writeEnum(n *node) {
	t := w.types
	size := n.size
	if size == 0 {
		size = 4
	}
	negative, count := false, 0
	w.parts(n, func(v *node) {
		if v.tag == dwarf.TagEnumerator {
			negative = negative || v.value < 0
			count++
		}
	})
	if e := w.typeAt(n.ref); e != nil && size > 4 {
		// 8-byte constants do not show their sign; the enum's underlying type does.
		negative = e.encoding == ateSigned || e.encoding == ateSignedChar
	}
	kind := btf.KindEnum
	if size > 4 && w.feat&Enum64 != 0 {
		kind = btf.KindEnum64
	}
	count = w.vlen(kind, count)
	t.Add(w.str(n.name), dedup.Info(kind, count, negative), uint32(size))
	w.parts(n, func(v *node) {
		if v.tag != dwarf.TagEnumerator || count == 0 {
			return
		}
		count--
		t.Extend(w.str(v.name), uint32(v.value))
		if kind == btf.KindEnum64 {
			t.Extend(uint32(v.value >> 32))
		}
	})
}

// writeProto writes a FUNC_PROTO that returns the type the node refers to.
func (w *writer) writeProto(n *node) uint32 { return w.proto(n, n.ref) }

func (w *writer) proto(n *node, result uint64) uint32 {
	t := w.types
	count := w.vlen(btf.KindFuncProto, w.count(n, dwarf.TagFormalParameter)+w.count(n, dwarf.TagUnspecifiedParameters))
	id := t.Add(0, dedup.Info(btf.KindFuncProto, count, false), w.ref(result))
	w.parts(n, func(p *node) {
		switch {
		case p.tag != dwarf.TagFormalParameter && p.tag != dwarf.TagUnspecifiedParameters || count == 0:
			return
		case p.tag == dwarf.TagUnspecifiedParameters:
			t.Extend(0, 0)
		default:
			name, ref := w.completed(p)
			t.Extend(w.str(name), w.ref(ref))
		}
		count--
	})
	return id
}

// writeFunc writes a function if the file's symbols contain it and no function of that name has
// been written.
func (w *writer) writeFunc(n *node) {
	at, ref := w.completed(n)
	name := w.bytes(at)
	known := w.syms.funcs
	if len(name) == 0 || w.done[string(name)] || len(known) > 0 && !known[string(name)] || len(known) == 0 && !n.external {
		return
	}
	if w.unnamedParams(n) {
		return
	}
	w.done[string(name)] = true
	id := w.addFunc(string(name), w.str(at), w.proto(n, ref))
	w.declTags(n, id, dwarf.TagFormalParameter)
	w.tagKfunc(string(name), id)
}

// unnamedParams reports whether a parameter of a function has no name.
func (w *writer) unnamedParams(n *node) bool {
	unnamed := false
	w.parts(n, func(p *node) {
		if p.tag == dwarf.TagFormalParameter {
			name, _ := w.completed(p)
			unnamed = unnamed || len(w.bytes(name)) == 0
		}
	})
	return unnamed
}

// addFunc writes a FUNC and returns its id. name is the name that the file's kfuncs have, text the
// one in the BTF.
func (m *maker) addFunc(name string, text, proto uint32) uint32 {
	if flags, kfunc := m.opt.Kfuncs[name]; kfunc && m.feat&Attributes != 0 {
		m.arenaPointers(proto, flags)
	}
	m.res.Functions++
	return m.types.Add(text, dedup.Info(btf.KindFunc, 0, false), proto)
}

// tagKfunc writes the decl tags of a kfunc.
func (m *maker) tagKfunc(name string, id uint32) {
	flags, kfunc := m.opt.Kfuncs[name]
	if !kfunc || m.feat&KfuncTags == 0 {
		return
	}
	t := m.types
	m.res.Kfuncs++
	t.Add(t.Str("bpf_kfunc"), dedup.Info(btf.KindDeclTag, 0, false), id, 1<<32-1)
	if flags&kfuncFastcall != 0 {
		t.Add(t.Str("bpf_fastcall"), dedup.Info(btf.KindDeclTag, 0, false), id, 1<<32-1)
	}
}

// Flags of kfuncs that affect their BTF (include/linux/btf.h).
const (
	kfuncFastcall  = 1 << 12
	kfuncArenaRet  = 1 << 13
	kfuncArenaArg1 = 1 << 14
	kfuncArenaArg2 = 1 << 15
)

// arenaPointers adds an attribute, a TYPE_TAG with kind_flag, to the pointers of a prototype that
// point into an arena.
func (m *maker) arenaPointers(proto, flags uint32) {
	t := m.types
	tagged := func(ptr uint32) uint32 {
		if ptr == 0 || t.Kind(ptr) != btf.KindPtr {
			return ptr
		}
		to := t.Of(ptr)[2]
		tag := t.Add(t.Str("address_space(1)"), dedup.Info(btf.KindTypeTag, 0, true), to)
		return t.Add(0, dedup.Info(btf.KindPtr, 0, false), tag)
	}
	if flags&kfuncArenaRet != 0 {
		ptr := tagged(t.Of(proto)[2])
		t.Of(proto)[2] = ptr
	}
	for i, flag := range []uint32{kfuncArenaArg1, kfuncArenaArg2} {
		if at := 3 + 2*i + 1; flags&flag != 0 && at < len(t.Of(proto)) {
			ptr := tagged(t.Of(proto)[at])
			t.Of(proto)[at] = ptr
		}
	}
}

func (w *writer) writeVar(n *node) {
	at, typ := n.name, n.ref
	if n.origin != 0 {
		at, typ = w.completed(n)
	} else if n.declared {
		return
	}
	name := w.bytes(at)
	if len(name) == 0 || w.ref(typ) == 0 {
		return
	}
	if id, ok := w.addVar(string(name), w.ref(typ), n); ok {
		w.declTags(n, id, 0)
	}
}

// declTags writes the decl tags of a type, function or variable, and of its members or parameters.
func (w *writer) declTags(n *node, id uint32, entries dwarf.Tag) {
	if n.first == 0 {
		return
	}
	t := w.types
	add := func(from *node, component uint32) {
		for _, tag := range w.tags(from, declTag) {
			t.Add(w.str(tag), dedup.Info(btf.KindDeclTag, 0, false), id, component)
		}
	}
	add(n, 1<<32-1)
	if entries == 0 {
		return
	}
	i := uint32(0)
	w.parts(n, func(p *node) {
		if p.tag != entries {
			return
		}
		if p.first != 0 {
			add(p, i)
		}
		i++
	})
}
