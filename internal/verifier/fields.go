package verifier

import (
	"sort"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// fieldKind is the kind of a field of a map value or object that only certain functions may access
// (enum btf_field_type).
type fieldKind uint32

const (
	fieldSpinLock fieldKind = 1 << iota
	fieldTimer
	fieldKptrUnref
	fieldKptrRef
	fieldKptrPercpu
	fieldUptr
	fieldListHead
	fieldListNode
	fieldRBRoot
	fieldRBNode
	fieldRefcount
	fieldWorkqueue
	fieldResSpinLock
	fieldTaskWork

	kptrKinds    = fieldKptrUnref | fieldKptrRef | fieldKptrPercpu
	pointerKinds = kptrKinds | fieldUptr
)

var fieldNames = map[fieldKind]string{
	fieldSpinLock: "bpf_spin_lock", fieldTimer: "bpf_timer", fieldKptrUnref: "kptr", fieldKptrRef: "kptr", fieldKptrPercpu: "percpu_kptr",
	fieldUptr: "uptr", fieldListHead: "bpf_list_head", fieldListNode: "bpf_list_node", fieldRBRoot: "bpf_rb_root", fieldRBNode: "bpf_rb_node",
	fieldRefcount: "bpf_refcount", fieldWorkqueue: "bpf_wq", fieldResSpinLock: "bpf_res_spin_lock", fieldTaskWork: "bpf_task_work",
}

func (k fieldKind) String() string { return fieldNames[k] }

// structField is what tells the kernel's struct from another one of its name (btf_get_field_type,
// btf_find_struct).
type structField struct {
	kind        fieldKind
	size, align uint32
	since       since.Rule
}

var structFields = map[string]structField{
	"bpf_spin_lock":     {fieldSpinLock, 4, 4, since.Always},
	"bpf_res_spin_lock": {fieldResSpinLock, 4, 4, since.ResilientLocks},
	"bpf_timer":         {fieldTimer, 16, 8, since.Timers},
	"bpf_wq":            {fieldWorkqueue, 16, 8, since.Workqueues},
	"bpf_task_work":     {fieldTaskWork, 8, 8, since.TaskWork},
	"bpf_list_head":     {fieldListHead, 16, 8, since.LinkedLists},
	"bpf_list_node":     {fieldListNode, 24, 8, since.LinkedLists},
	"bpf_rb_root":       {fieldRBRoot, 16, 8, since.Trees},
	"bpf_rb_node":       {fieldRBNode, 32, 8, since.Trees},
	"bpf_refcount":      {fieldRefcount, 4, 4, since.Refcounts},
}

// field is a special field at an offset.
type field struct {
	kind fieldKind
	off  uint32
	size uint32
	// For kptrs: the pointee.
	spec uint8
	tid  btf.ID
	// For list heads and tree roots: the element type, and the offset of its node.
	nodeOff uint32
}

// record lists the special fields of a type, by offset.
type record struct{ fields []field }

func (r *record) has(k fieldKind) bool { return r.first(k) != nil }

func (r *record) first(k fieldKind) *field {
	if r == nil {
		return nil
	}
	for i := range r.fields {
		if r.fields[i].kind&k != 0 {
			return &r.fields[i]
		}
	}
	return nil
}

// find returns the field that starts at off, if it is of one of the given kinds.
func (r *record) find(off uint32, k fieldKind) *field {
	if r == nil {
		return nil
	}
	for i := range r.fields {
		if f := &r.fields[i]; f.off == off && f.kind&k != 0 {
			return f
		}
	}
	return nil
}

// mapInfo is a map with the special fields of its values.
type mapInfo struct {
	*Map
	index uint16
	spec  uint8
	rec   record
	inner *mapInfo
}

// mapOf returns the map that a register refers to.
func (u *subject) mapOf(r *reg) *mapInfo { return u.maps[r.mapp-1] }

// addMap registers a map.
// The numbers of maps are those in registers.
func (u *subject) addMap(m *Map) *mapInfo {
	for _, x := range u.maps {
		if x.Map == m {
			return x
		}
	}
	x := &mapInfo{Map: m}
	u.maps = append(u.maps, x)
	x.index = uint16(len(u.maps))
	if m.BTF != nil {
		x.spec = u.addSpec(m.BTF)
		if m.ValueType != 0 && m.Type.Fields() != uapi.NoFields {
			x.rec = u.parseRecord(x.spec, m.ValueType, m.Vars, false)
		}
	}
	// What a lookup finds is known by the map that was given as an example (map->inner_map_meta).
	if m.Inner != nil && (m.Type == uapi.MapTypeArrayOfMaps || m.Type == uapi.MapTypeHashOfMaps) {
		x.inner = u.addMap(m.Inner)
	}
	return x
}

// addSpec registers types. Their number is what registers keep.
func (u *subject) addSpec(s *btf.Spec) uint8 {
	for i, x := range u.specs {
		if x == s {
			return uint8(i + 1)
		}
	}
	u.specs = append(u.specs, s)
	return uint8(len(u.specs))
}

// allocated reports whether a register points to an object that the program allocated
// (type_is_ptr_alloc_obj). Behind the end of the RCU section that kept it, it may be gone.
func (u *subject) allocated(r *reg) bool {
	return r.typ.isAllocObj() && (r.typ&ptrUntrusted == 0 || !u.has(since.UntrustedAllocated))
}

// recordOf returns the special fields of the type that a register points to.
func (u *subject) recordOf(r *reg) *record {
	// Special fields may only be used through a pointer that was checked for NULL.
	if r.typ.base() == ptrMapValue && !r.typ.mayBeNull() {
		return &u.mapOf(r).rec
	}
	if u.allocated(r) {
		return u.objectRecord(r.spec, btf.ID(r.tid))
	}
	return nil
}

// typeKey names a type among all BTFs.
type typeKey struct {
	spec uint8
	id   btf.ID
}

// objectRecord returns the special fields of a struct of the program, or nil if it has none.
func (u *subject) objectRecord(spec uint8, id btf.ID) *record {
	k := typeKey{spec, id}
	if r, ok := u.prog.records[k]; ok {
		return r
	}
	if u.prog.records == nil {
		u.prog.records = map[typeKey]*record{}
	}
	var out *record
	if r := u.parseRecord(spec, id, nil, true); len(r.fields) > 0 {
		out = &r
	}
	u.prog.records[k] = out
	return out
}

// parseRecord finds the special fields of a type (btf_parse_fields), of a map's values or of
// objects that programs allocate.
func (u *subject) parseRecord(spec uint8, id btf.ID, vars []MapVar, object bool) record {
	s := u.specs[spec-1]
	t := s.SkipMods(id)
	p := fieldParser{e: u, s: s, spec: spec, object: object}
	switch t.Kind {
	case btf.KindStruct:
		p.structFields(t, 0, 0)
	case btf.KindDatasec:
		if vars == nil {
			for _, v := range t.Vars {
				vars = append(vars, MapVar{v.Type, v.Offset, v.Size})
			}
		}
		for _, v := range vars {
			if vt := s.MustType(v.Type); vt.Kind == btf.KindVar {
				p.one(vt, vt.Ref, -1, v.Off, v.Size, 0)
			}
		}
	}
	// With one field wrong btf_parse_fields fails, and the map or type has no special fields: its
	// bytes are ordinary memory, and the functions that need a field refuse it.
	if p.bad || !p.consistent() || len(p.out) > maxFields && p.e.has(since.NestedFields) {
		return record{}
	}
	sort.SliceStable(p.out, func(i, j int) bool { return p.out[i].off < p.out[j].off })
	return record{p.out}
}

type fieldParser struct {
	e    *subject
	s    *btf.Spec
	spec uint8
	out  []field
	seen fieldKind
	bad  bool // the kernel ignores all fields
	// object is set for types of objects that programs allocate, in which pointers to user memory
	// are plain numbers (btf_parse_struct_metas).
	object bool
}

// maxFields is BTF_FIELDS_MAX: if a type has more, the kernel ignores all of them.
const maxFields = 11

const uniqueFields = fieldSpinLock | fieldResSpinLock | fieldTimer | fieldWorkqueue | fieldTaskWork | fieldRefcount

// consistent checks that lists and trees have a lock in the same type, which protects them
// (btf_parse_fields). An object in both a list and a tree has two owners, which need a count.
func (p *fieldParser) consistent() bool {
	all := fieldKind(0)
	for i := range p.out {
		all |= p.out[i].kind
	}
	if all&(fieldListHead|fieldRBRoot) != 0 && all&(fieldSpinLock|fieldResSpinLock) == 0 {
		return false
	}
	if all&fieldSpinLock != 0 && all&fieldResSpinLock != 0 {
		return false
	}
	return all&fieldRefcount != 0 || all&fieldListNode == 0 || all&fieldRBNode == 0
}

// structFields looks at the members of a struct (btf_find_struct_field), and from 6.11 on at
// theirs.
func (p *fieldParser) structFields(t *btf.Type, off uint32, level int) {
	if level >= 32 {
		return
	}
	for i := range t.Members {
		m := &t.Members[i]
		b, _ := p.s.MemberBits(t, m)
		if b%8 != 0 {
			continue
		}
		p.one(t, m.Type, i, off+b/8, 0, level)
	}
}

// one examines a member or a variable. Modifiers are only significant for kptrs.
func (p *fieldParser) one(owner *btf.Type, id btf.ID, idx int, off, size uint32, level int) {
	t := p.s.MustType(id)
	// Arrays, of any number of dimensions, have the field in each element (btf_repeat_fields).
	n := uint32(1)
	for t.Kind == btf.KindArray {
		n *= t.Array.Nelems
		t = p.s.MustType(t.Ref)
		if t.Kind == btf.KindArray {
			continue
		}
	}
	// Before 6.11 fields in arrays are not looked for.
	if n == 0 || t.ID != id && !p.e.has(since.NestedFields) && p.s.MustType(id).Kind == btf.KindArray {
		return
	}
	if t.Kind == btf.KindStruct {
		if f, ok := structFields[t.Name]; ok && p.e.has(f.since) && t.Size == p.sizeOf(f) {
			// Functions find these without an offset, so that there can be only one.
			p.bad = p.bad || p.seen&f.kind&uniqueFields != 0
			p.seen |= f.kind
			if off%f.align != 0 || n > 1 && f.kind&(fieldListHead|fieldRBRoot) == 0 {
				return
			}
			for i := uint32(0); i < n; i++ {
				p.add(field{kind: f.kind, off: off + i*f.size, size: f.size}, owner, idx)
			}
			return
		}
		if !p.e.has(since.NestedFields) {
			// Before 6.11 the kernel looks only at direct members of the type, and at variables of
			// a data section.
			return
		}
		// More fields than the kernel counts make it ignore all, however many there are.
		if n > 64 {
			n = 64
		}
		first := len(p.out)
		p.structFields(t, off, level+1)
		one := append([]field(nil), p.out[first:]...)
		for i := uint32(1); i < n; i++ {
			for _, f := range one {
				f.off += i * t.Size
				p.out = append(p.out, f)
			}
		}
		return
	}
	if k, ok := p.kptr(t); ok && off%8 == 0 {
		for i := uint32(0); i < n; i++ {
			k.off = off + 8*i
			p.out = append(p.out, k)
		}
	}
}

// sizeOf returns the size that a field has on the release.
func (p *fieldParser) sizeOf(f structField) uint32 {
	if f.kind&(fieldListNode|fieldRBNode) != 0 && !p.e.has(since.NodeOwners) {
		return f.size - 8
	}
	return f.size
}

// kptr recognises a pointer with a type tag that the kernel manages: it drops the object when the
// map's value goes away (btf_find_kptr).
func (p *fieldParser) kptr(t *btf.Type) (field, bool) {
	// Only this qualifier is expected before the pointer, and the tag directly behind it.
	if t.Kind == btf.KindVolatile {
		t = p.s.MustType(t.Ref)
	}
	if t.Kind != btf.KindPtr {
		return field{}, false
	}
	t = p.s.MustType(t.Ref)
	if t.Kind != btf.KindTypeTag || !p.e.has(since.Kptrs) {
		return field{}, false
	}
	f := field{size: 8}
	switch t.Name {
	case "kptr_untrusted":
		p.bad = p.bad || !p.e.has(since.KptrUntrustedTag)
		f.kind = fieldKptrUnref
	case "kptr", "kptr_ref":
		f.kind = fieldKptrRef
		if t.Name == "kptr" && !p.e.has(since.KptrUntrustedTag) {
			f.kind = fieldKptrUnref
		}
	case "percpu_kptr":
		p.bad = p.bad || !p.e.has(since.PercpuKptrs)
		f.kind = fieldKptrPercpu
	case "uptr":
		if p.object {
			return field{}, false
		}
		p.bad = p.bad || !p.e.has(since.UserPtrs)
		f.kind = fieldUptr
	default:
		// If the kernel does not know a tag, it ignores all fields.
		p.bad = true
		return field{}, false
	}
	// A kptr points to a type of the kernel or a module if one has that name, else to one of the
	// program, for objects that the program allocates.
	target := p.s.SkipMods(t.Ref)
	f.spec, f.tid = p.spec, target.ID
	// A declaration alone does not say what the kernel would release.
	p.bad = p.bad || target.Kind != btf.KindStruct
	if p.e.k.BTF == nil || f.kind == fieldUptr {
		return f, true
	}
	if p.foreign(&f, target) {
		p.bad = p.bad || f.kind == fieldKptrRef && !since.Destructible(target.Name, p.e.rel)
	} else {
		p.bad = p.bad || !p.e.has(since.LocalKptrs)
	}
	return f, true
}

// foreign makes a kptr point to the type of the kernel, or of a module, that has the target's kind
// and name (bpf_find_btf_id), and reports whether there is one.
func (p *fieldParser) foreign(f *field, target *btf.Type) bool {
	k := p.e.k
	if id, ok := k.BTF.FindID(target.Kind, target.Name); ok {
		f.spec, f.tid = p.e.addSpec(k.BTF), id
		return true
	}
	for _, m := range k.Modules {
		if id, ok := m.BTF.FindID(target.Kind, target.Name); ok {
			f.spec, f.tid = p.e.addSpec(m.BTF), id
			return true
		}
	}
	return false
}

// add appends a field; roots must name the type they contain, by which the kernel frees what is
// left in them (btf_parse_graph_root).
func (p *fieldParser) add(f field, owner *btf.Type, idx int) {
	if f.kind&(fieldListHead|fieldRBRoot) != 0 {
		// The type must be one of the program, with the node that the tag names.
		name, node, ok := p.contains(owner, idx)
		id, found := p.s.FindID(btf.KindStruct, name)
		if !ok || !found {
			p.bad = true
			return
		}
		f.spec, f.tid = p.spec, id
		t := p.s.MustType(id)
		want := "bpf_list_node"
		if f.kind == fieldRBRoot {
			want = "bpf_rb_node"
		}
		found = false
		for i := range t.Members {
			if mt := p.s.MustType(t.Members[i].Type); t.Members[i].Name == node && mt.Kind == btf.KindStruct && mt.Name == want {
				b, _ := p.s.MemberBits(t, &t.Members[i])
				f.nodeOff, found = b/8, true
			}
		}
		p.bad = p.bad || !found
	}
	p.out = append(p.out, f)
}

// contains parses the tag "contains:TYPE:NODE" of a member or variable.
func (p *fieldParser) contains(owner *btf.Type, idx int) (name, node string, ok bool) {
	for _, tag := range p.e.declTags(p.spec, owner.ID, idx) {
		// The tag names the type of the elements and the member that links them, as C has no types
		// for that.
		if rest, is := strings.CutPrefix(tag, "contains:"); is {
			name, node, ok = strings.Cut(rest, ":")
			return name, node, ok && node != ""
		}
	}
	return "", "", false
}

// tagKey is what a declaration tag is about: a type, or one of its members or parameters.
type tagKey struct {
	spec uint8
	id   btf.ID
	idx  int
}

// declTags returns the tags of a type (idx -1), a member or a parameter.
func (u *subject) declTags(spec uint8, id btf.ID, idx int) []string {
	if u.prog.tags == nil {
		u.prog.tags = map[tagKey][]string{}
		u.prog.tagged = map[uint8]bool{}
	}
	if !u.prog.tagged[spec] {
		u.prog.tagged[spec] = true
		s := u.specs[spec-1]
		for i := s.FirstID(); int(i) < s.NumTypes(); i++ {
			// Tags refer to what they are about, and not the reverse.
			if s.Kind(i) == btf.KindDeclTag {
				t := s.MustType(i)
				k := tagKey{spec, t.Ref, int(t.ComponentIdx)}
				u.prog.tags[k] = append(u.prog.tags[k], t.Name)
			}
		}
	}
	return u.prog.tags[tagKey{spec, id, idx}]
}
