package check

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// mode determines where the current resolution stops (enum resolve_mode).
type mode uint8

const (
	modeAny mode = iota
	modePtr
	modeStructOrArray
)

type visit uint8

const (
	notVisited visit = iota
	visited
	resolved
)

type vertex struct {
	id   uint32
	next int // entry to continue with
}

// resolver is the state of the walk over references (btf_check_all_types). Like the kernel, it
// keeps for each type the id it resolves to and the size of arrays.
type resolver struct {
	visits []visit
	ids    []uint32
	sizes  []uint32
	stack  []vertex
	mode   mode
}

func (c *checker) isModifier(t *typ) bool { return t.kind.IsMod() }

// noSize reports whether a type has no size; a missing type has none.
func (c *checker) noSize(t *typ) bool {
	if t == nil {
		return true
	}
	switch t.kind {
	case btf.KindVoid, btf.KindFwd, btf.KindFunc, btf.KindFuncProto, btf.KindDeclTag:
		return true
	}
	return false
}

// sourceOnly reports whether no type may refer to this one while references are resolved.
func sourceOnly(t *typ) bool {
	return t.kind == btf.KindVar || t.kind == btf.KindDeclTag || t.kind == btf.KindDatasec
}

func (c *checker) needsResolve(t *typ) bool {
	switch t.kind {
	case btf.KindPtr, btf.KindStruct, btf.KindUnion, btf.KindArray, btf.KindVar, btf.KindDeclTag, btf.KindDatasec:
		return true
	case btf.KindFunc:
		return c.has(since.FuncsResolve)
	}
	return c.isModifier(t)
}

// sink reports whether the current resolution ends at a type.
func (c *checker) sink(t *typ) bool {
	switch c.mode {
	case modePtr:
		return !c.isModifier(t) && t.kind != btf.KindPtr
	case modeStructOrArray:
		return !c.isModifier(t) && t.kind != btf.KindArray && !t.kind.IsComposite()
	}
	return !c.needsResolve(t)
}

// pending reports whether a type must be resolved before the one that refers to it.
func (c *checker) pending(id uint32, t *typ) bool { return !c.sink(t) && c.visits[id] != resolved }

func (c *checker) push(id uint32) *Problem {
	if len(c.stack) == maxDepth {
		p := c.problem(btf.ID(id), RuleDepth, "it is reached through more than %d types", maxDepth)
		p.Errno = uapi.E2BIG
		return p
	}
	if c.visits[id] != notVisited {
		p := c.problem(btf.ID(id), RuleLoop, "it leads back to itself by way of [%d]", c.stack[len(c.stack)-1].id)
		p.Errno = uapi.EEXIST
		return p
	}
	c.visits[id] = visited
	c.stack = append(c.stack, vertex{id: id})
	if c.mode == modeAny {
		switch t := c.byID(id); {
		case t.kind == btf.KindPtr:
			c.mode = modePtr
		case t.kind.IsComposite() || t.kind == btf.KindArray:
			c.mode = modeStructOrArray
		}
	}
	return nil
}

func (c *checker) pop(id, size uint32) {
	v := c.stack[len(c.stack)-1]
	c.stack = c.stack[:len(c.stack)-1]
	c.ids[v.id], c.sizes[v.id], c.visits[v.id] = id, size, resolved
}

// sized resolves a type to one with a size (btf_type_id_size). If there is none, t is nil and
// sizedID is id.
func (c *checker) sized(id uint32) (t *typ, sizedID, size uint32) {
	t, sizedID = c.byID(id), id
	if c.noSize(t) {
		return nil, id, 0
	}
	if c.isModifier(t) || t.kind == btf.KindVar {
		sizedID = c.ids[id]
		if t = c.byID(sizedID); c.noSize(t) || c.isModifier(t) || t.kind == btf.KindVar {
			return nil, id, 0
		}
	}
	switch t.kind {
	case btf.KindArray:
		size = c.sizes[sizedID]
	case btf.KindPtr:
		size = c.ptr
	default:
		size = t.third
	}
	return t, sizedID, size
}

// resolveAll resolves all references.
func (c *checker) resolveAll() *Problem {
	n := len(c.types)
	c.visits, c.ids, c.sizes = make([]visit, n), make([]uint32, n), make([]uint32, n)
	for id := uint32(1); id < uint32(n); id++ {
		t := &c.types[id]
		if c.needsResolve(t) && c.visits[id] != resolved {
			if p := c.resolve(id); p != nil {
				return p
			}
		}
		switch {
		case t.kind == btf.KindFuncProto:
			if p := c.protoCheck(btf.ID(id), t); p != nil {
				return p
			}
		case t.kind == btf.KindFunc && !c.has(since.FuncsResolve):
			if p := c.funcCheck(btf.ID(id), t); p != nil {
				return p
			}
		}
	}
	return nil
}

// resolve is btf_resolve.
func (c *checker) resolve(id uint32) *Problem {
	c.mode = modeAny
	c.stack = c.stack[:0]
	if p := c.push(id); p != nil {
		return p
	}
	for len(c.stack) > 0 {
		v := c.stack[len(c.stack)-1]
		if p := c.step(v, c.byID(v.id)); p != nil {
			return p
		}
	}
	if !c.resolvedWell(id, c.byID(id)) {
		return c.problem(btf.ID(id), RuleReference, "what it refers to could not be resolved")
	}
	return nil
}

// resolvedWell is the kernel's final check of a type (btf_resolve_valid).
func (c *checker) resolvedWell(id uint32, t *typ) bool {
	switch {
	case c.visits[id] != resolved:
		return false
	case t.kind.IsComposite() || t.kind == btf.KindDatasec:
		return c.ids[id] == 0 && c.sizes[id] == 0
	case t.kind == btf.KindDeclTag || t.kind == btf.KindFunc:
		return c.ids[id] != 0 && c.sizes[id] == 0
	case c.isModifier(t) || t.kind == btf.KindPtr || t.kind == btf.KindVar:
		to := c.byID(c.ids[id])
		return to != nil && !c.isModifier(to) && to.kind != btf.KindVar && to.kind != btf.KindDatasec
	case t.kind == btf.KindArray:
		elem, _, size := c.sized(c.u32(t.body))
		return elem != nil && !c.isModifier(elem) && c.u32(t.body[8:])*size == c.sizes[id]
	}
	return false
}

// step continues the type on top of the stack with the resolve function of its kind.
func (c *checker) step(v vertex, t *typ) *Problem {
	switch t.kind {
	case btf.KindPtr:
		return c.refStep(v, t, true)
	case btf.KindVar:
		return c.varStep(v, t)
	case btf.KindArray:
		return c.arrayStep(v, t)
	case btf.KindStruct, btf.KindUnion:
		return c.structStep(v, t)
	case btf.KindDatasec:
		return c.datasecStep(v, t)
	case btf.KindDeclTag:
		return c.declTagStep(v, t)
	case btf.KindFunc:
		if p := c.funcCheck(btf.ID(v.id), t); p != nil {
			return p
		}
		c.pop(t.third, 0)
		return nil
	}
	if c.isModifier(t) {
		return c.refStep(v, t, false)
	}
	return c.problem(btf.ID(v.id), RuleReference, "a %s cannot be resolved", t.kind)
}

func (c *checker) badRef(v vertex, id uint32) *Problem {
	t := c.byID(id)
	if t == nil {
		return c.problem(btf.ID(v.id), RuleReference, "refers to type %d, the last one is %d", id, len(c.types)-1)
	}
	return c.problem(btf.ID(v.id), RuleReference, "may not refer to [%d] %s", id, t.kind)
}

// again pushes the pointer that a modifier resolves to if it was skipped while members were
// resolved.
func (c *checker) again(id uint32) (*Problem, bool) {
	if t := c.byID(id); !c.isModifier(t) {
		return nil, false
	}
	to := c.ids[id]
	if t := c.byID(to); t != nil && t.kind == btf.KindPtr && c.pending(to, t) {
		return c.push(to), true
	}
	return nil, false
}

// refStep is btf_ptr_resolve and btf_modifier_resolve.
func (c *checker) refStep(v vertex, t *typ, ptr bool) *Problem {
	id := t.third
	next := c.byID(id)
	if next == nil || sourceOnly(next) {
		return c.badRef(v, id)
	}
	if c.pending(id, next) {
		return c.push(id)
	}
	if ptr {
		if p, done := c.again(id); done {
			return p
		}
	}
	st, sid, _ := c.sized(id)
	if st == nil {
		if c.visits[id] == resolved {
			sid = c.ids[id]
			next = c.byID(sid)
		}
		if next == nil || next.kind != btf.KindVoid && next.kind != btf.KindFwd && next.kind != btf.KindFuncProto {
			return c.badRef(v, id)
		}
	}
	c.pop(sid, 0)
	return nil
}

// varStep is btf_var_resolve.
func (c *checker) varStep(v vertex, t *typ) *Problem {
	id := t.third
	next := c.byID(id)
	if next == nil || sourceOnly(next) {
		return c.badRef(v, id)
	}
	if c.pending(id, next) {
		return c.push(id)
	}
	if p, done := c.again(id); done {
		return p
	}
	st, sid, _ := c.sized(id)
	if st == nil {
		return c.problem(btf.ID(v.id), RuleReference, "a variable of type [%d], which has no size", id)
	}
	c.pop(sid, 0)
	return nil
}

// arrayStep is btf_array_resolve.
func (c *checker) arrayStep(v vertex, t *typ) *Problem {
	elem, index, n := c.u32(t.body), c.u32(t.body[4:]), c.u32(t.body[8:])
	bad := func(what string, id uint32) *Problem {
		return c.problem(btf.ID(v.id), RuleArray, "%s is type %d, which is not allowed there", what, id)
	}
	it := c.byID(index)
	if c.noSize(it) || sourceOnly(it) {
		return bad("its index", index)
	}
	if c.pending(index, it) {
		return c.push(index)
	}
	if it, _, _ = c.sized(index); it == nil || it.kind != btf.KindInt || !c.regular(it) {
		return bad("its index", index)
	}
	et := c.byID(elem)
	if c.noSize(et) || sourceOnly(et) {
		return bad("its element", elem)
	}
	if c.pending(elem, et) {
		return c.push(elem)
	}
	et, eid, size := c.sized(elem)
	switch {
	case et == nil, et.kind == btf.KindInt && !c.regular(et):
		return bad("its element", elem)
	case n != 0 && size > maxUint32/n:
		return c.problem(btf.ID(v.id), RuleArray, "%d elements of %d bytes", n, size)
	}
	c.pop(eid, size*n)
	return nil
}

// structStep is btf_struct_resolve.
func (c *checker) structStep(v vertex, t *typ) *Problem {
	if v.next > 0 { // the member pushed last is resolved now
		m := c.member(t, v.next-1)
		if p := c.memberCheck(v.id, t, v.next-1, m); p != nil {
			return p
		}
	}
	for i := v.next; i < int(t.vlen); i++ {
		m := c.member(t, i)
		mt := c.byID(m.typ)
		if c.noSize(mt) || sourceOnly(mt) {
			return c.entryProblem(btf.ID(v.id), i, RuleMember, "a member cannot have type %d", m.typ)
		}
		if c.pending(m.typ, mt) {
			c.stack[len(c.stack)-1].next = i + 1
			return c.push(m.typ)
		}
		if p := c.memberCheck(v.id, t, i, m); p != nil {
			return p
		}
	}
	c.pop(0, 0)
	return nil
}

// datasecStep is btf_datasec_resolve.
func (c *checker) datasecStep(v vertex, t *typ) *Problem {
	c.mode = modeAny
	for i := v.next; i < int(t.vlen); i++ {
		s := c.secVar(t, i)
		vt := c.byID(s.typ)
		if vt == nil || vt.kind != btf.KindVar {
			return c.entryProblem(btf.ID(v.id), i, RuleSection, "type %d is not a variable", s.typ)
		}
		if c.pending(s.typ, vt) {
			// The kernel does not check the size of this one again.
			c.stack[len(c.stack)-1].next = i + 1
			return c.push(s.typ)
		}
		st, _, size := c.sized(vt.third)
		if st == nil {
			return c.entryProblem(btf.ID(v.id), i, RuleSection, "its type %d has no size", vt.third)
		}
		if s.size < size {
			return c.entryProblem(btf.ID(v.id), i, RuleSection, "it has %d bytes in the section, its type %d", s.size, size)
		}
	}
	c.pop(0, 0)
	return nil
}

// declTagStep is btf_decl_tag_resolve.
func (c *checker) declTagStep(v vertex, t *typ) *Problem {
	id := t.third
	next := c.byID(id)
	if next == nil {
		return c.badRef(v, id)
	}
	switch next.kind {
	case btf.KindFunc, btf.KindStruct, btf.KindUnion, btf.KindVar, btf.KindTypedef:
	default:
		return c.badRef(v, id)
	}
	if c.pending(id, next) {
		return c.push(id)
	}
	if i := int32(c.u32(t.body)); i != -1 {
		what, vlen := next, uint32(0)
		switch next.kind {
		case btf.KindVar, btf.KindTypedef:
			return c.problem(btf.ID(v.id), RuleComponent, "component %d of a %s, which has none", i, next.kind)
		case btf.KindFunc:
			what = c.byID(next.third)
		}
		if what != nil {
			vlen = what.vlen
		}
		if uint32(i) >= vlen {
			return c.problem(btf.ID(v.id), RuleComponent, "component %d of %d", i, vlen)
		}
	}
	c.pop(id, 0)
	return nil
}

// funcCheck is btf_func_check.
func (c *checker) funcCheck(id btf.ID, t *typ) *Problem {
	proto := c.byID(t.third)
	if proto == nil || proto.kind != btf.KindFuncProto {
		return c.problem(id, RuleReference, "type %d is not a FUNC_PROTO", t.third)
	}
	for i := range int(proto.vlen) {
		if b := proto.body[8*i:]; c.u32(b) == 0 && c.u32(b[4:]) != 0 {
			return c.entryProblem(id, i, RuleParameter, "parameter %d has no name", i+1)
		}
	}
	return nil
}

// protoCheck is btf_func_proto_check.
func (c *checker) protoCheck(id btf.ID, t *typ) *Problem {
	if ret := t.third; ret != 0 {
		rt := c.byID(ret)
		if rt == nil || sourceOnly(rt) && c.has(since.ReturnsTypes) {
			return c.problem(id, RuleReturn, "it returns type %d, which does not exist or is not a value type", ret)
		}
		if c.needsResolve(rt) && c.visits[ret] != resolved {
			if p := c.resolve(ret); p != nil {
				return p
			}
		}
		if st, _, _ := c.sized(ret); st == nil {
			return c.problem(id, RuleReturn, "it returns type [%d] %s, which has no size", ret, rt.kind)
		}
	}
	n := int(t.vlen)
	if n == 0 {
		return nil
	}
	if last := t.body[8*(n-1):]; c.u32(last[4:]) == 0 {
		if c.u32(last) != 0 {
			return c.entryProblem(id, n-1, RuleParameter, "parameter %d has a name and no type", n)
		}
		n--
	}
	for i := range n {
		name, arg := c.u32(t.body[8*i:]), c.u32(t.body[8*i+4:])
		at := c.byID(arg)
		switch {
		case at == nil || sourceOnly(at):
			return c.entryProblem(id, i, RuleParameter, "parameter %d is of type %d, which does not exist or is not a value type", i+1, arg)
		case name != 0 && (!c.nameExists(name) || !c.identifier(name)):
			return c.entryProblem(id, i, RuleParameter, "parameter %d is named %q, which is not a name this kernel accepts", i+1, c.shown(name))
		}
		if c.needsResolve(at) && c.visits[arg] != resolved {
			if p := c.resolve(arg); p != nil {
				return p
			}
		}
		if st, _, _ := c.sized(arg); st == nil {
			return c.entryProblem(id, i, RuleParameter, "parameter %d is of type [%d] %s, which has no size", i+1, arg, at.kind)
		}
	}
	return nil
}

// shortAndUntagged reports whether chains of modifiers keep the rules of all releases.
func (c *checker) shortAndUntagged() bool {
	for i := range c.types[1:] {
		length := 0
		for t := &c.types[1+i]; c.isModifier(t); length++ {
			if length == 32 || t.kind == btf.KindTypeTag {
				return false
			}
			if t = c.byID(t.third); t == nil {
				return false
			}
		}
	}
	return true
}

// modifiers checks chains of modifiers (btf_check_type_tags, btf_check_modifier_chain_length).
func (c *checker) modifiers() *Problem {
	if c.shortAndUntagged() {
		return nil
	}
	order := c.has(since.TagsFirst) && !c.has(since.ShortChains)
	if !order && !c.has(since.ShortChains) {
		return nil
	}
	good := uint32(0)
	for i := uint32(1); i < uint32(len(c.types)); i++ {
		t := &c.types[i]
		if !c.isModifier(t) {
			continue
		}
		limit, id := 32, i
		inTags := t.kind == btf.KindTypeTag
		for c.isModifier(t) {
			if limit == 0 {
				p := c.problem(btf.ID(i), RuleChain, "more than 32 modifiers in a row, or a loop of modifiers")
				p.Errno = uapi.ELOOP
				return p
			}
			limit--
			if t.kind == btf.KindTypeTag {
				if order && !inTags {
					return c.problem(btf.ID(i), RuleTagOrder, "the type tag [%d] follows another modifier", id)
				}
			} else {
				inTags = false
			}
			if id <= good {
				break
			}
			id = t.third
			if t = c.byID(id); t == nil {
				return c.problem(btf.ID(i), RuleReference, "leads to type %d, which does not exist", id)
			}
		}
		good = i
	}
	return nil
}
