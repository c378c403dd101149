package check

import (
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// field is a set of kinds of special fields (enum btf_field_type).
type field uint16

const (
	spinLock field = 1 << iota
	resLock
	listHead
	listNode
	rbRoot
	rbNode
	refcount
	kptrUnref
	kptrRef
	kptrPercpu
	userPtr

	kptrs = kptrUnref | kptrRef | kptrPercpu
	roots = listHead | rbRoot
	nodes = listNode | rbNode
)

// fieldKind is a struct type whose members are special fields. Sizes and alignments are those of
// include/uapi/linux/bpf.h.
type fieldKind struct {
	kind        field
	name        string
	size, align uint32
	since       since.Rule
	// unique fields occur at most once in a struct; from is the fact that makes them unique.
	unique bool
	from   since.Rule
}

// fieldKinds are the fields that BPF_BTF_LOAD checks; timers and work queues are checked when maps
// are created.
var fieldKinds = []fieldKind{
	{kind: spinLock, name: "bpf_spin_lock", size: 4, align: 4, since: since.OwnedFields, unique: true, from: since.OwnedFields},
	{kind: resLock, name: "bpf_res_spin_lock", size: 4, align: 4, since: since.ResilientLocks, unique: true, from: since.ResilientLocks},
	{kind: listHead, name: "bpf_list_head", size: 16, align: 8, since: since.OwnedFields},
	{kind: listNode, name: "bpf_list_node", size: 24, align: 8, since: since.OwnedFields},
	{kind: rbRoot, name: "bpf_rb_root", size: 16, align: 8, since: since.OwnedTrees},
	{kind: rbNode, name: "bpf_rb_node", size: 32, align: 8, since: since.OwnedTrees},
	{kind: refcount, name: "bpf_refcount", size: 4, align: 4, since: since.OwnedRefcounts, unique: true, from: since.UniqueRefcounts},
}

// marks reports whether a member of this kind makes the kernel check the struct's fields; a
// resilient lock does not.
func (k *fieldKind) marks() bool { return k.kind != resLock }

// fieldSize returns the size that a field has on the release.
func (c *checker) fieldSize(f field) uint32 {
	for i := range fieldKinds {
		k := &fieldKinds[i]
		switch {
		case k.kind != f:
		case f&nodes != 0 && !c.has(since.NodeOwners):
			return k.size - 8
		default:
			return k.size
		}
	}
	return 8
}

// found is a special field of a struct.
type found struct {
	kind field
	off  uint32
	// value is the struct that a root or kptr refers to; node is the name of its node.
	value uint32
	node  string
	// foreign means that a kptr refers to a kernel type.
	foreign bool
}

// meta is a struct with special fields (struct btf_struct_meta).
type meta struct {
	id     uint32
	mask   field
	fields []found
}

// kptrTag returns the kind of kptr that a type tag declares, 0 if none.
func (c *checker) kptrTag(s string) field {
	switch {
	case s == "kptr_untrusted":
		return kptrUnref
	case s == "kptr":
		return kptrRef
	case s == "percpu_kptr" && c.has(since.PercpuKptrs):
		return kptrPercpu
	case s == "uptr" && c.has(since.UserPtrs):
		return userPtr
	}
	return 0
}

// errField is the reason why a field is refused.
type errField struct {
	errno  uapi.Errno
	detail string
	unsafe bool
}

func refuse(errno uapi.Errno, detail string) *errField {
	return &errField{errno: errno, detail: detail}
}

// ownedFields checks special fields (btf_parse_struct_metas, btf_check_and_fixup_fields).
func (c *checker) ownedFields() *Problem {
	marked := map[uint32]bool{}
	for i := range fieldKinds {
		k := &fieldKinds[i]
		if !k.marks() {
			continue
		}
		if id := c.structNamed(k.name); id != 0 && c.has(k.since) {
			marked[id] = true
		}
	}
	tagged := slices.ContainsFunc(c.types[1:], func(t typ) bool { return t.kind == btf.KindTypeTag })
	if tagged && c.has(since.OwnedKptrs) {
		for id := uint32(1); id < uint32(len(c.types)); id++ {
			if f, e := c.kptr(&c.types[id], 0, kptrs); e == nil && f != nil {
				marked[id] = true
			}
		}
	}
	if len(marked) == 0 || !c.has(since.OwnedFields) {
		return nil
	}
	c.empty = map[uint32]int{}
	for id := uint32(1); id < uint32(len(c.types)); id++ {
		t := &c.types[id]
		if t.kind != btf.KindStruct {
			continue
		}
		for i := range int(t.vlen) {
			if marked[c.member(t, i).typ] {
				if p := c.fieldsOf(id, t); p != nil {
					return p
				}
				break
			}
		}
	}
	return c.ownership()
}

// structNamed returns the id of the first STRUCT with a name, 0 if there is none.
func (c *checker) structNamed(name string) uint32 {
	for id := 1; id < len(c.types); id++ {
		if t := &c.types[id]; t.kind == btf.KindStruct {
			if s := c.nameOf(t); s == name {
				return uint32(id)
			}
		}
	}
	return 0
}

// nameOf returns a type's name as the kernel compares it.
func (c *checker) nameOf(t *typ) string {
	if t.name == 0 {
		return "(anon)"
	}
	s, _ := c.str(t.name)
	return s
}

func (c *checker) fieldProblem(id uint32, e *errField) *Problem {
	p := c.problem(btf.ID(id), RuleField, "%s", e.detail)
	p.Errno, p.Unsafe = e.errno, e.unsafe
	return p
}

// fieldsOf finds a struct's special fields and the types they refer to (btf_parse_fields).
func (c *checker) fieldsOf(id uint32, t *typ) *Problem {
	room := 10
	if c.has(since.ElevenFields) {
		room = 11
	}
	mask := spinLock | listHead | listNode | rbRoot | rbNode | refcount | resLock
	if c.has(since.OwnedKptrs) {
		mask |= kptrs
	}
	var seen field
	c.height = 0
	list, e := c.inStruct(t, mask, room, 0, &seen)
	if e != nil {
		return c.fieldProblem(id, e)
	}
	if len(list) == 0 {
		return c.fieldProblem(id, refuse(uapi.EFAULT, "a member has the name of a special field, but not its offset or size"))
	}
	m := meta{id: id}
	next := uint32(0)
	for i := range list {
		f := &list[i]
		size := c.fieldSize(f.kind)
		switch {
		case f.off+size > t.third:
			return c.fieldProblem(id, refuse(uapi.EFAULT, "a special field ends after the struct"))
		case f.off < next:
			return c.fieldProblem(id, refuse(uapi.EEXIST, "special fields overlap"))
		}
		next = f.off + size
		m.mask |= f.kind
		if e := c.leadsTo(f); e != nil {
			return c.fieldProblem(id, e)
		}
	}
	m.fields = list
	switch {
	case m.mask&spinLock != 0 && m.mask&resLock != 0:
		e = refuse(uapi.EINVAL, "it has both bpf_spin_lock and bpf_res_spin_lock")
	case m.mask&roots != 0 && m.mask&(spinLock|resLock) == 0:
		e = refuse(uapi.EINVAL, "it has bpf_list_head or bpf_rb_root, but no lock")
	case m.mask&refcount == 0 && m.mask&nodes == nodes:
		e = refuse(uapi.EINVAL, "it has bpf_list_node and bpf_rb_node, but no bpf_refcount")
	}
	if e != nil {
		return c.fieldProblem(id, e)
	}
	c.metas = append(c.metas, m)
	return nil
}

// inStruct is btf_find_struct_field.
func (c *checker) inStruct(t *typ, mask field, room, level int, seen *field) ([]found, *errField) {
	var list []found
	if !c.has(since.UniqueNested) {
		seen = new(field)
	}
	for i := range int(t.vlen) {
		m := c.member(t, i)
		off := bitOffset(t, m)
		if c.has(since.NestedFields) && off%8 != 0 {
			return nil, refuse(uapi.EINVAL, "it has bit fields as well as special fields")
		}
		got, e := c.inMember(t, m.typ, i, off, mask, room-len(list), level, seen)
		if e != nil {
			return nil, e
		}
		list = append(list, got...)
	}
	return list, nil
}

// fieldType is btf_get_field_type; kind 0 means none.
func (c *checker) fieldType(t *typ, mask field, seen *field) (kind field, size, align uint32, e *errField) {
	name := c.nameOf(t)
	for i := range fieldKinds {
		k := &fieldKinds[i]
		if k.kind&mask == 0 || k.name != name || !c.has(k.since) {
			continue
		}
		if k.unique && c.has(k.from) {
			if *seen&k.kind != 0 {
				return 0, 0, 0, refuse(uapi.E2BIG, "it has more than one "+k.name)
			}
			*seen |= k.kind
		}
		return k.kind, c.fieldSize(k.kind), k.align, nil
	}
	if mask&kptrs != 0 && t.kind != btf.KindStruct {
		return kptrRef, 8, 8, nil
	}
	return 0, 0, 0, nil
}

// inMember is btf_find_field_one; off is in bits.
func (c *checker) inMember(st *typ, id uint32, idx int, off uint32, mask field, room, level int, seen *field) ([]found, *errField) {
	n, t := uint32(1), c.byID(id)
	if c.has(since.NestedFields) {
		for i := 0; t.kind == btf.KindArray; i++ {
			if i == maxDepth {
				return nil, refuse(uapi.E2BIG, "arrays of arrays are too deep")
			}
			n *= c.u32(t.body[8:])
			id = c.u32(t.body)
			t = c.byID(id)
		}
		if n == 0 {
			return nil, nil
		}
	}
	kind, size, align, e := c.fieldType(t, mask, seen)
	if e != nil {
		return nil, e
	}
	if kind == 0 {
		if !c.has(since.NestedFields) || t.kind != btf.KindStruct {
			return nil, nil
		}
		height, empty := c.empty[id]
		if level+1+height >= maxDepth {
			return nil, refuse(uapi.E2BIG, "structs in structs are too deep")
		}
		if empty {
			c.height = max(c.height, 1+height)
			return nil, nil
		}
		before, above := *seen, c.height
		c.height = 0
		list, e := c.inStruct(t, mask, room, level+1, seen)
		if e == nil && len(list) == 0 && *seen == before {
			// The kernel repeats this walk for each struct, which takes exponential time for nested
			// structs.
			c.empty[id] = c.height
		}
		c.height = max(above, 1+c.height)
		if e != nil || len(list) == 0 {
			return nil, e
		}
		for i := range list {
			list[i].off += off / 8
		}
		return repeat(list, n, room, t.third)
	}
	// memberCheck has refused special fields that are not at a byte boundary.
	if off /= 8; off%align != 0 {
		return nil, nil
	}
	var f *found
	switch {
	case kind&kptrs != 0:
		f, e = c.kptr(t, off, mask)
	case t.kind != btf.KindStruct || t.third != size:
	case kind&roots != 0:
		f, e = c.root(st, idx, off, kind)
	default:
		f = &found{kind: kind, off: off}
	}
	switch {
	case e != nil:
		return nil, e
	case f == nil:
		return nil, nil
	case room == 0:
		return nil, refuse(uapi.E2BIG, "it has too many special fields")
	}
	return repeat([]found{*f}, n, room, size)
}

// repeat is btf_repeat_fields: it repeats the fields of an array's element for all elements.
func repeat(list []found, n uint32, room int, size uint32) ([]found, *errField) {
	if n <= 1 {
		return list, nil
	}
	for _, f := range list {
		if f.kind&(kptrs|userPtr|roots) == 0 {
			return nil, refuse(uapi.EINVAL, "an array of special fields, where only one is allowed")
		}
	}
	if total := uint64(len(list)) * uint64(n); total > uint64(room) {
		e := refuse(uapi.E2BIG, "an array has too many special fields")
		e.unsafe = total > maxUint32 // some kernels count in 32 bits and write far outside their table
		return nil, e
	}
	one := len(list)
	for i := uint32(1); i < n; i++ {
		for _, f := range list[:one] {
			f.off += i * size
			list = append(list, f)
		}
	}
	return list, nil
}

// kptr is btf_find_kptr.
func (c *checker) kptr(t *typ, off uint32, mask field) (*found, *errField) {
	if t.kind == btf.KindVolatile {
		if t = c.byID(t.third); t == nil {
			return nil, nil
		}
	}
	if t.kind != btf.KindPtr {
		return nil, nil
	}
	id := t.third
	to := c.byID(id)
	var kind field
	if c.has(since.LooseKptrTags) {
		for c.isModifier(to) {
			if to.kind == btf.KindTypeTag && !to.flag {
				kind |= c.kptrTag(c.nameOf(to))
			}
			id = to.third
			to = c.byID(id)
		}
		if kind&(kind-1) != 0 {
			return nil, refuse(uapi.EINVAL, "a pointer has more than one kptr tag")
		}
	} else {
		if to.kind != btf.KindTypeTag || to.flag && c.has(since.AttributeTags) {
			return nil, nil
		}
		id = to.third
		if c.byID(id).kind == btf.KindTypeTag {
			return nil, refuse(uapi.EINVAL, "a pointer to a type with two tags")
		}
		if kind = c.kptrTag(c.nameOf(to)); kind == 0 {
			return nil, refuse(uapi.EINVAL, "a pointer to a type with the tag "+c.nameOf(to)+", which is not a kptr tag")
		}
		for to = c.byID(id); c.isModifier(to); to = c.byID(id) {
			id = to.third
		}
	}
	switch {
	case kind&mask == 0:
		return nil, nil
	case to.kind != btf.KindStruct:
		return nil, refuse(uapi.EINVAL, "a kptr that does not point to a struct")
	}
	return &found{kind: kind, off: off, value: id}, nil
}

// root is btf_find_graph_root: the decl tag "contains:STRUCT:NODE" of the member.
func (c *checker) root(st *typ, idx int, off uint32, kind field) (*found, *errField) {
	value, n := "", 0
	for id := 1; id < len(c.types); id++ {
		t := &c.types[id]
		if t.kind != btf.KindDeclTag || c.byID(t.third) != st || int32(c.u32(t.body)) != int32(idx) {
			continue
		}
		s, ok := strings.CutPrefix(c.nameOf(t), "contains:")
		if !ok {
			continue
		}
		if n++; n == 1 {
			value = s
		}
	}
	switch {
	case n == 0:
		return nil, refuse(uapi.EINVAL, "a list or tree without a decl tag contains:STRUCT:NODE")
	case n > 1 && c.has(since.UniqueTags):
		return nil, refuse(uapi.EINVAL, "a list or tree with two decl tags contains:")
	}
	name, node, ok := strings.Cut(value, ":")
	if !ok {
		return nil, refuse(uapi.EINVAL, "the decl tag contains:"+value+" names no node")
	}
	id := c.structNamed(name)
	switch {
	case id == 0:
		return nil, refuse(uapi.ENOENT, "no struct "+name+" that a decl tag contains: names")
	case node == "":
		return nil, refuse(uapi.EINVAL, "the decl tag contains:"+value+" names no node")
	}
	return &found{kind: kind, off: off, value: id, node: node}, nil
}

// leadsTo checks the type that a kptr or root refers to (btf_parse_kptr, btf_parse_graph_root).
func (c *checker) leadsTo(f *found) *errField {
	to := c.byID(f.value)
	switch {
	case f.kind&kptrs != 0:
		name := c.nameOf(to)
		if c.opts.InKernel == nil || !c.opts.InKernel(to.kind, name) {
			return nil
		}
		f.foreign = true
		if f.kind == kptrRef && !since.Destructible(name, c.rules.exactly()) {
			return refuse(uapi.ENOENT, "a kptr to struct "+name+", for which the kernel has no destructor")
		}
	case f.kind&roots != 0:
		want, align := "bpf_list_node", uint32(8)
		if f.kind == rbRoot {
			want = "bpf_rb_node"
		}
		seen := false
		for i := range int(to.vlen) {
			m := c.member(to, i)
			if c.memberName(m) != f.node {
				continue
			}
			if seen {
				return refuse(uapi.EINVAL, "a node's name "+f.node+" appears twice")
			}
			seen = true
			n := c.byID(m.typ)
			if n.kind != btf.KindStruct || c.nameOf(n) != want {
				return refuse(uapi.EINVAL, "the node "+f.node+" is not a struct "+want)
			}
			// The kernel decodes the offset with the kind_flag of the node's type.
			if off := bitOffset(n, m); off%8 != 0 || off/8%align != 0 {
				return refuse(uapi.EINVAL, "the node "+f.node+" is not aligned")
			}
		}
		if !seen {
			return refuse(uapi.ENOENT, "no node "+f.node)
		}
	}
	return nil
}

func (c *checker) memberName(m member) string {
	if m.name == 0 {
		return "(anon)"
	}
	s, _ := c.str(m.name)
	return s
}

// ownership checks that ownership between structs has no cycles and is not too deep.
func (c *checker) ownership() *Problem {
	byID := map[uint32]int{}
	for i := range c.metas {
		byID[c.metas[i].id] = i
	}
	deep := c.has(since.OwnershipDepth)
	for i := range c.metas {
		m := &c.metas[i]
		for _, f := range m.fields {
			if f.kind&roots == 0 {
				continue
			}
			to, ok := byID[f.value]
			if !ok {
				return c.ownerProblem(m.id, uapi.EFAULT, "it owns [%d], which has no special fields", f.value)
			}
			if !deep && m.mask&nodes != 0 && c.metas[to].mask&roots != 0 {
				return c.ownerProblem(m.id, uapi.ELOOP, "it is owned and owns [%d], which is also an owner", f.value)
			}
		}
	}
	if !deep {
		return nil
	}
	depth := make([]int, len(c.metas))
	for i := range c.metas {
		if c.owners(byID, depth, i, maxOwners) < 0 {
			return c.ownerProblem(c.metas[i].id, uapi.ELOOP, "ownership nests more than %d deep", maxOwners)
		}
	}
	return nil
}

const maxOwners = 8

func (c *checker) ownerProblem(id uint32, errno uapi.Errno, format string, args ...any) *Problem {
	p := c.problem(btf.ID(id), RuleOwnership, format, args...)
	p.Errno = errno
	return p
}

// owners is btf_ownership_depth: the depth of ownership below a struct, negative when it is too
// deep.
func (c *checker) owners(byID map[uint32]int, depth []int, i, left int) int {
	if left == 0 {
		return -1
	}
	if depth[i] == 0 {
		most := 0
		for _, f := range c.metas[i].fields {
			if f.kind&(roots|kptrRef|kptrPercpu) == 0 || f.foreign {
				continue
			}
			to, ok := byID[f.value]
			if !ok {
				continue
			}
			d := c.owners(byID, depth, to, left-1)
			if d < 0 {
				return d
			}
			most = max(most, d)
		}
		depth[i] = most + 1
	}
	if depth[i] > left {
		return -1
	}
	return depth[i]
}
