package fromdwarf

import (
	"debug/dwarf"
	"fmt"
	"strings"

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

// tags splits the children of a node that are tags of that kind off.
func (n *node) tags(kind string) []string {
	var out []string
	for _, c := range n.children {
		if c.tag == tagLLVMAnnot {
			if text, ok := strings.CutPrefix(c.name, kind+"\x00"); ok {
				out = append(out, text)
			}
		}
	}
	return out
}

// list returns the children of one tag.
func (n *node) list(tag dwarf.Tag) []*node {
	var out []*node
	for _, c := range n.children {
		if c.tag == tag {
			out = append(out, c)
		}
	}
	return out
}

// void reports whether a node stands for no type of its own: BTF has none for the type of nullptr, and _Atomic is left out.
func (n *node) void() bool { return n.tag == dwarf.TagUnspecifiedType || n.tag == dwarf.TagAtomicType }

// ids is the number of types a node becomes.
func (n *node) ids() uint32 {
	switch {
	case n.void():
		return 0
	case n.tag == dwarf.TagPointerType:
		return 1 + uint32(len(n.tags("btf_type_tag")))
	}
	return 1
}

// write gives the unit's types ids, and writes them, its functions and variables.
func (u *unit) write() error {
	if len(u.nodes) > maxUnitTypes {
		return fmt.Errorf("%w: a unit with %d types", ErrMalformed, len(u.nodes))
	}
	next := u.types.NextID()
	arrays := false
	for _, n := range u.nodes {
		if n.void() {
			continue
		}
		n.id = next
		next += n.ids()
		arrays = arrays || n.tag == dwarf.TagArrayType
		if n.tag == dwarf.TagBaseType && n.name == "int" && n.size == 4 && u.index == 0 {
			u.index = n.id
		}
	}
	if u.index == 0 {
		u.index = u.lastInt // as pahole does for units without int
	}
	u.lastInt = u.index
	missing := arrays && u.index == 0
	if missing {
		u.index = next
	}
	for _, n := range u.nodes {
		if !n.void() {
			u.writeType(n)
		}
	}
	if missing {
		u.types.Add(u.types.Str("__ARRAY_SIZE_TYPE__"), dedup.Info(btf.KindInt, 0, false), 4, 32)
	}
	for _, n := range u.nodes {
		if n.tag == dwarf.TagStructType || n.tag == dwarf.TagUnionType || n.tag == dwarf.TagTypedef {
			u.declTags(n, n.id, dwarf.TagMember)
		}
	}
	for _, n := range u.funcs {
		u.writeFunc(n)
	}
	for _, n := range u.globals {
		u.writeVar(n)
	}
	return nil
}

// ref is the id of a type by its place in .debug_info; 0 is void and what BTF cannot describe.
func (u *unit) ref(off dwarf.Offset) uint32 {
	if off == 0 {
		return 0
	}
	for range maxNesting {
		i, ok := u.byOffset[off]
		if !ok || i < 0 {
			return 0
		}
		n := u.nodes[i]
		if n.tag != dwarf.TagAtomicType {
			return n.id
		}
		off = n.ref
	}
	return 0
}

func (u *unit) writeType(n *node) {
	t := u.types
	simple := func(kind btf.Kind, name string) { t.Add(t.Str(name), dedup.Info(kind, 0, false), u.ref(n.ref)) }
	switch n.tag {
	case dwarf.TagBaseType:
		u.writeBase(n)
	case dwarf.TagPointerType:
		u.writePointer(n)
	case dwarf.TagTypedef:
		simple(btf.KindTypedef, n.name)
	case dwarf.TagConstType:
		simple(btf.KindConst, "")
	case dwarf.TagVolatileType:
		simple(btf.KindVolatile, "")
	case dwarf.TagRestrictType:
		simple(btf.KindRestrict, "")
	case dwarf.TagArrayType:
		// All dimensions are one, as pahole writes them.
		total := int64(1)
		for _, c := range n.counts {
			total *= max(c, 0)
		}
		if len(n.counts) == 0 || total < 0 || total > 1<<32-1 {
			total = 0
		}
		t.Add(0, dedup.Info(btf.KindArray, 0, false), 0, u.ref(n.ref), u.index, uint32(total))
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
		u.writeStruct(n)
	case dwarf.TagEnumerationType:
		u.writeEnum(n)
	case dwarf.TagSubroutineType:
		u.writeProto(n)
	}
}

func (u *unit) writeBase(n *node) {
	t := u.types
	if n.encoding == ateFloat {
		t.Add(t.Str(n.name), dedup.Info(btf.KindFloat, 0, false), uint32(n.size))
		return
	}
	enc := uint32(0)
	switch n.encoding {
	case ateSigned, ateSignedChar:
		enc = btf.IntSigned
	case ateBoolean:
		enc = btf.IntBool
	}
	t.Add(t.Str(n.name), dedup.Info(btf.KindInt, 0, false), uint32(n.size), enc<<24|uint32(n.size*8)&0xff)
}

// writePointer writes a pointer and the type tags of what it points to, of which the last is the innermost.
func (u *unit) writePointer(n *node) {
	t := u.types
	tags := n.tags("btf_type_tag")
	to := u.ref(n.ref)
	if len(tags) > 0 {
		to = n.id + uint32(len(tags))
	}
	t.Add(0, dedup.Info(btf.KindPtr, 0, false), to)
	for i, tag := range tags {
		to := n.id + uint32(i)
		if i == 0 {
			to = u.ref(n.ref)
		}
		t.Add(t.Str(tag), dedup.Info(btf.KindTypeTag, 0, false), to)
	}
}

func (u *unit) writeStruct(n *node) {
	t := u.types
	union := n.tag == dwarf.TagUnionType
	members := n.list(dwarf.TagMember)
	if n.declared {
		t.Add(t.Str(n.name), dedup.Info(btf.KindFwd, 0, union), 0)
		return
	}
	bits := false
	for _, m := range members {
		bits = bits || m.bitSize != 0
	}
	kind := btf.KindStruct
	if union {
		kind = btf.KindUnion
	}
	t.Add(t.Str(n.name), dedup.Info(kind, min(len(members), 0xffff), bits), uint32(n.size))
	for i, m := range members {
		if i == 0xffff {
			break
		}
		off := uint32(m.location * 8)
		if m.bitSize != 0 {
			off = uint32(u.bitPlace(m))&0xffffff | uint32(m.bitSize)<<24
		}
		t.Extend(t.Str(m.name), u.ref(m.ref), off)
	}
}

// bitPlace is where a bit field starts, in bits from the start of the struct as BTF counts them.
func (u *unit) bitPlace(m *node) int64 {
	switch {
	case m.bitOffset >= 0:
		return m.bitOffset
	case m.oldBits < 0:
		return m.location * 8
	case u.big:
		return m.location*8 + m.oldBits
	}
	storage := m.size
	if storage == 0 {
		storage = u.storage(m.ref, 0)
	}
	return m.location*8 + storage*8 - m.oldBits - m.bitSize
}

// storage is the size of the type a bit field has.
func (u *unit) storage(off dwarf.Offset, depth int) int64 {
	i, ok := u.byOffset[off]
	if !ok || i < 0 || depth > 32 {
		return 0
	}
	if n := u.nodes[i]; n.size != 0 {
		return n.size
	} else {
		return u.storage(n.ref, depth+1)
	}
}

func (u *unit) writeEnum(n *node) {
	t := u.types
	values := n.list(dwarf.TagEnumerator)
	size := n.size
	if size == 0 {
		size = 4
	}
	negative := false
	for _, v := range values {
		negative = negative || v.value < 0
	}
	if i, ok := u.byOffset[n.ref]; ok && n.ref != 0 && i >= 0 && size > 4 {
		// 8-byte values do not tell whether they are signed; the type of the enum does.
		e := u.nodes[i].encoding
		negative = e == ateSigned || e == ateSignedChar
	}
	count := min(len(values), 0xffff)
	kind := btf.KindEnum
	if size > 4 {
		kind = btf.KindEnum64
	}
	t.Add(t.Str(n.name), dedup.Info(kind, count, negative), uint32(size))
	for _, v := range values[:count] {
		t.Extend(t.Str(v.name), uint32(v.value))
		if kind == btf.KindEnum64 {
			t.Extend(uint32(v.value >> 32))
		}
	}
}

// writeProto writes a FUNC_PROTO.
func (u *unit) writeProto(n *node) uint32 {
	t := u.types
	var params []*node
	for _, c := range n.children {
		if c.tag == dwarf.TagFormalParameter || c.tag == dwarf.TagUnspecifiedParameters {
			params = append(params, c)
		}
	}
	id := t.Add(0, dedup.Info(btf.KindFuncProto, min(len(params), 0xffff), false), u.ref(n.ref))
	for i, p := range params {
		switch {
		case i == 0xffff:
			return id
		case p.tag == dwarf.TagUnspecifiedParameters:
			t.Extend(0, 0)
		default:
			t.Extend(t.Str(p.name), u.ref(p.ref))
		}
	}
	return id
}

// writeFunc writes a function that the file's symbols have, the first of its name.
func (u *unit) writeFunc(n *node) {
	name, ref := u.completed(n)
	if name == "" || u.done[name] || len(u.syms.funcs) > 0 && !u.syms.funcs[name] || len(u.syms.funcs) == 0 && !n.external {
		return
	}
	whole := *n
	whole.ref, whole.children = ref, make([]*node, 0, len(n.children))
	for _, c := range n.children {
		if c.tag == dwarf.TagFormalParameter {
			p := *c
			if p.name, p.ref = u.completed(c); p.name == "" {
				return
			}
			c = &p
		}
		whole.children = append(whole.children, c)
	}
	u.done[name] = true
	proto := u.writeProto(&whole)
	t := u.types
	id := t.Add(t.Str(name), dedup.Info(btf.KindFunc, 0, false), proto)
	u.res.Functions++
	u.declTags(&whole, id, dwarf.TagFormalParameter)
}

func (u *unit) writeVar(n *node) {
	name, ref := n.name, n.ref
	if n.origin != 0 {
		if i, ok := u.byOffset[n.origin]; ok && i < 0 {
			name, ref = u.globals[-i-1].name, u.globals[-i-1].ref
		}
	} else if n.declared {
		return
	}
	if name == "" {
		return
	}
	typ := u.ref(ref)
	if typ == 0 {
		return
	}
	if id, ok := u.addVar(name, typ, n); ok {
		u.declTags(n, id, 0)
	}
}

// declTags writes the decl tags of a type, function or variable, and of its members or parameters.
func (u *unit) declTags(n *node, id uint32, entries dwarf.Tag) {
	if len(n.children) == 0 {
		return
	}
	add := func(text string, component uint32) {
		u.types.Add(u.types.Str(text), dedup.Info(btf.KindDeclTag, 0, false), id, component)
	}
	for _, text := range n.tags("btf_decl_tag") {
		add(text, 1<<32-1)
	}
	if entries == 0 {
		return
	}
	for i, c := range n.list(entries) {
		for _, text := range c.tags("btf_decl_tag") {
			add(text, uint32(i))
		}
	}
}
