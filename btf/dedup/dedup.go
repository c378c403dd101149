package dedup

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/bpfrun/bpfrun/btf"
)

const (
	unmapped   = ^uint32(0)
	inProgress = unmapped - 1
)

// deduper is the state of one run (struct btf_dedup of libbpf). It maps each type to its canonical
// type.
type deduper struct {
	*Types
	to []uint32
	// heads and next chain canonical types by hash, newest first; 0 ends a chain.
	heads, next []uint32
	// hypot maps types of one graph to types of the other while two structs are compared; list
	// holds the mapped ones.
	hypot       []uint32
	list        []uint32
	adjustCanon bool
	depth       int
	steps       int
	stack       []uint32
}

// Dedup merges equal types. Progress, when not nil, is called from time to time with the work done
// and the total; if it returns an error, Dedup stops and returns that error. When Dedup fails, the
// types are lost.
func (t *Types) Dedup(progress func(done, total int) error) error {
	if err := t.checkRefs(); err != nil {
		return err
	}
	n := int(t.NextID())
	d := &deduper{Types: t, to: make([]uint32, n), hypot: make([]uint32, n), next: make([]uint32, n)}
	d.heads = make([]uint32, 1<<bits.Len32(uint32(n/4+256)))
	for i := range n {
		d.to[i], d.hypot[i] = unmapped, unmapped
	}
	d.to[0] = 0
	for id := uint32(1); id < uint32(n); id++ {
		k := t.Kind(id)
		symbol := k == btf.KindVar || k == btf.KindDatasec
		if symbol || id < t.first {
			d.to[id] = id // symbols are never merged, the base cannot be changed
		}
		if id < t.first && !symbol {
			d.add(id)
		}
	}
	passes := []func(id uint32) error{d.primitive, d.composite, nil, d.reference}
	for i, pass := range passes {
		if pass == nil {
			d.forwards()
			continue
		}
		for id := t.first; id < uint32(n); id++ {
			if progress != nil && id%4096 == 0 {
				if err := progress(i*n+int(id), len(passes)*n); err != nil {
					return err
				}
			}
			if err := pass(id); err != nil {
				return err
			}
		}
	}
	d.compact()
	return nil
}

// mix adds a word to a hash.
func mix(h uint64, v uint32) uint64 {
	h = (h ^ uint64(v)) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

// hash covers what two types must have in common to be compared.
func hash(w []uint32) uint64 {
	h := mix(0, w[0])
	switch kindOf(w) {
	case btf.KindEnum, btf.KindEnum64:
		return mix(h, 1) // a declaration has neither kind nor size, so neither is hashed
	case btf.KindStruct, btf.KindUnion:
		h = mix(mix(h, w[1]), w[2])
		for i := 3; i < len(w); i += 3 {
			h = mix(mix(h, w[i]), w[i+2])
		}
		return h
	}
	for _, v := range w[1:] {
		h = mix(h, v)
	}
	return h
}

func (d *deduper) add(id uint32) {
	head := d.head(d.Of(id))
	d.next[id], *head = *head, id
}

// find returns the newest candidate that satisfies same.
func (d *deduper) find(w []uint32, same func(cand []uint32, id uint32) bool) (uint32, bool) {
	for id := *d.head(w); id != 0; id = d.next[id] {
		if same(d.Of(id), id) {
			return id, true
		}
	}
	return 0, false
}

// head returns the head of the chain of types that may equal w.
func (d *deduper) head(w []uint32) *uint32 { return &d.heads[hash(w)&uint64(len(d.heads)-1)] }

func isEnum(w []uint32) bool    { return kindOf(w).IsEnum() }
func enumDecl(w []uint32) bool  { return isEnum(w) && vlenOf(w) == 0 }
func common(a, b []uint32) bool { return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] }

func compatEnum(a, b []uint32) bool {
	if !enumDecl(a) && !enumDecl(b) {
		return slices.Equal(a, b)
	}
	return a[0] == b[0] && isEnum(a) && isEnum(b)
}

// shallowEqual compares structs, ignoring the types of members.
func shallowEqual(a, b []uint32) bool {
	if !common(a, b) {
		return false
	}
	for i := 3; i < len(a); i += 3 {
		if a[i] != b[i] || a[i+2] != b[i+2] {
			return false
		}
	}
	return true
}

// primitive is btf_dedup_prim_type: it merges types that refer to no others.
func (d *deduper) primitive(id uint32) error {
	w := d.Of(id)
	to := id
	switch kindOf(w) {
	case btf.KindInt, btf.KindFwd, btf.KindFloat:
		if c, ok := d.find(w, func(cand []uint32, _ uint32) bool { return slices.Equal(w, cand) }); ok {
			to = c
		}
	case btf.KindEnum, btf.KindEnum64:
		c, ok := d.find(w, func(cand []uint32, cid uint32) bool {
			if slices.Equal(w, cand) {
				return true
			}
			if isEnum(cand) && compatEnum(w, cand) {
				if enumDecl(w) {
					return true
				}
				d.to[cid] = id // the earlier declaration is of this enum
			}
			return false
		})
		if ok {
			to = c
		}
	default:
		return nil
	}
	d.to[id] = to
	if to == id {
		d.add(id)
	}
	return nil
}

// resolve returns the canonical type of a type.
func (d *deduper) resolve(id uint32) uint32 {
	for d.to[id] < inProgress && d.to[id] != id {
		id = d.to[id]
	}
	return id
}

// resolveFwd is resolve that also follows a declaration to its definition.
func (d *deduper) resolveFwd(id uint32) uint32 {
	orig := id
	if d.Kind(id) != btf.KindFwd {
		return id
	}
	for d.to[id] < inProgress && d.to[id] != id {
		id = d.to[id]
	}
	if d.Kind(id) == btf.KindFwd {
		return orig
	}
	return id
}

// composite is btf_dedup_struct_type.
func (d *deduper) composite(id uint32) error {
	if d.to[id] < inProgress || !d.Kind(id).IsComposite() {
		return nil
	}
	w := d.Of(id)
	var failed error
	to, ok := d.find(w, func(cand []uint32, cid uint32) bool {
		if failed != nil || !shallowEqual(w, cand) {
			return false
		}
		d.clear()
		d.depth, d.steps = 0, 0
		eq, err := d.equivalent(id, cid)
		if err != nil {
			failed = err
		}
		if !eq || err != nil {
			return false
		}
		d.merge()
		return !d.adjustCanon
	})
	d.clear()
	if failed != nil {
		return failed
	}
	if !ok {
		to = id
	}
	d.to[id] = to
	if !ok {
		d.add(id)
	}
	return nil
}

func (d *deduper) clear() {
	for _, id := range d.list {
		d.hypot[id] = unmapped
	}
	d.list = d.list[:0]
	d.adjustCanon = false
}

// fwdKind returns the kind that a FWD declares.
func fwdKind(w []uint32) btf.Kind {
	if flagOf(w) {
		return btf.KindUnion
	}
	return btf.KindStruct
}

// maxNesting limits the recursion over types that refer to each other.
const maxNesting = 100000

// equivalent is btf_dedup_is_equiv: whether two type graphs are equal, assuming that each pair met
// on the way is.
func (d *deduper) equivalent(cand, canon uint32) (bool, error) {
	if d.resolve(cand) == d.resolve(canon) {
		return true, nil
	}
	canon = d.resolveFwd(canon)
	if h := d.hypot[canon]; h != unmapped {
		// Compilers emit an anonymous struct, array or pointer more than once.
		return h == cand || d.sameArray(h, cand) || d.sameStruct(h, cand, 0) || d.samePtr(h, cand), nil
	}
	if d.depth++; d.depth > maxNesting {
		return false, fmt.Errorf("%w: types are nested more than %d deep", ErrLoop, maxNesting)
	}
	d.hypot[canon] = cand
	d.list = append(d.list, canon)
	eq, err := d.sameGraph(cand, canon)
	d.depth--
	return eq, err
}

// sameGraph compares two types and, with equivalent, the types they refer to.
func (d *deduper) sameGraph(cand, canon uint32) (bool, error) {
	a, b := d.Of(cand), d.Of(canon)
	if a[0] != b[0] {
		return false, nil
	}
	ka, kb := kindOf(a), kindOf(b)
	if (ka == btf.KindFwd || kb == btf.KindFwd) && ka != kb {
		if ka == btf.KindFwd {
			return fwdKind(a) == kb, nil
		}
		if fwdKind(b) == ka && canon < d.first {
			d.adjustCanon = true // the base cannot be changed
		}
		return fwdKind(b) == ka, nil
	}
	if ka != kb {
		return false, nil
	}
	switch ka {
	case btf.KindInt, btf.KindFwd, btf.KindFloat:
		return slices.Equal(a, b), nil
	case btf.KindEnum, btf.KindEnum64:
		return compatEnum(a, b), nil
	case btf.KindConst, btf.KindVolatile, btf.KindRestrict, btf.KindPtr, btf.KindTypedef, btf.KindFunc, btf.KindTypeTag:
		if a[1] != b[1] {
			return false, nil
		}
		return d.equivalent(a[2], b[2])
	case btf.KindArray:
		if !common(a, b) || a[5] != b[5] {
			return false, nil
		}
		if eq, err := d.equivalent(a[4], b[4]); !eq || err != nil {
			return eq, err
		}
		return d.equivalent(a[3], b[3])
	case btf.KindStruct, btf.KindUnion:
		if !shallowEqual(a, b) {
			return false, nil
		}
		return d.entries(a, b, 3)
	case btf.KindFuncProto:
		if a[1] != b[1] {
			return false, nil
		}
		for i := 3; i < len(a); i += 2 {
			if a[i] != b[i] {
				return false, nil
			}
		}
		if eq, err := d.equivalent(a[2], b[2]); !eq || err != nil {
			return eq, err
		}
		return d.entries(a, b, 2)
	}
	return false, fmt.Errorf("%w: [%d] %s is referred to as a type", ErrBadID, cand, ka)
}

func (d *deduper) entries(a, b []uint32, stride int) (bool, error) {
	for i := 3; i < len(a); i += stride {
		if eq, err := d.equivalent(a[i+1], b[i+1]); !eq || err != nil {
			return eq, err
		}
	}
	return true, nil
}

func (d *deduper) sameArray(x, y uint32) bool {
	return d.Kind(x) == btf.KindArray && slices.Equal(d.Of(x), d.Of(y))
}

func (d *deduper) samePtr(x, y uint32) bool {
	return d.Kind(x) == btf.KindPtr && d.Kind(y) == btf.KindPtr && d.Of(x)[2] == d.Of(y)[2]
}

func (d *deduper) sameStruct(x, y uint32, depth int) bool {
	if d.steps++; d.steps > 1<<20 || depth > 1000 || !d.Kind(x).IsComposite() || d.Kind(x) != d.Kind(y) {
		return false
	}
	a, b := d.Of(x), d.Of(y)
	if !shallowEqual(a, b) {
		return false
	}
	for i := 3; i < len(a); i += 3 {
		if m, n := a[i+1], b[i+1]; m != n && !d.sameArray(m, n) && !d.sameStruct(m, n, depth+1) {
			return false
		}
	}
	return true
}

// merge records the mapping of a successful comparison (btf_dedup_merge_hypot_map).
func (d *deduper) merge() {
	for _, canon := range d.list {
		t, c := d.resolve(d.hypot[canon]), d.resolve(canon)
		tk, ck := d.Kind(t), d.Kind(c)
		if tk != btf.KindFwd && ck == btf.KindFwd {
			d.to[c] = t
		}
		if d.adjustCanon {
			continue
		}
		if tk == btf.KindFwd && ck != btf.KindFwd {
			d.to[t] = c
		}
		if tk.IsComposite() && ck != btf.KindFwd && d.to[c] < inProgress && d.to[t] >= inProgress {
			d.to[t] = c
		}
	}
}

// forwards resolves declarations whose name only one struct or union has (btf_dedup_resolve_fwds).
func (d *deduper) forwards() {
	names := map[uint32]uint32{}
	for id := uint32(1); id < d.NextID(); id++ {
		if !d.Kind(id).IsComposite() || d.to[id] != id {
			continue
		}
		name := d.Of(id)[0]
		if _, twice := names[name]; twice {
			names[name] = 0
		} else {
			names[name] = id
		}
	}
	for id := d.first; id < d.NextID(); id++ {
		if d.Kind(id) != btf.KindFwd || d.to[id] != id {
			continue
		}
		w := d.Of(id)
		if c := names[w[0]]; c != 0 && d.Kind(c) == fwdKind(w) {
			d.to[id] = c
		}
	}
}

// reference is btf_dedup_ref_type for one type and all types that must come first, without
// recursion.
func (d *deduper) reference(id uint32) error {
	stack := append(d.stack[:0], id)
	defer func() { d.stack = stack[:0] }()
	for len(stack) > 0 {
		id := stack[len(stack)-1]
		if d.to[id] < inProgress {
			stack = stack[:len(stack)-1]
			continue
		}
		w := d.Of(id)
		before := len(stack)
		loop := false
		eachRef(w, func(r *uint32) {
			if d.to[*r] == inProgress {
				loop = true
			} else if d.to[*r] == unmapped {
				stack = append(stack, *r)
			}
		})
		if loop {
			return fmt.Errorf("%w: [%d] %s", ErrLoop, id, d.Kind(id))
		}
		if len(stack) > before {
			d.to[id] = inProgress
			continue
		}
		eachRef(w, func(r *uint32) { *r = d.resolve(*r) })
		to, ok := d.find(w, func(cand []uint32, _ uint32) bool { return slices.Equal(w, cand) })
		d.to[id] = to
		if !ok {
			d.to[id] = id
			d.add(id)
		}
		stack = stack[:len(stack)-1]
	}
	return nil
}

// compact removes merged types and renumbers the rest.
func (d *deduper) compact() {
	n := d.NextID()
	fresh := make([]uint32, n)
	next := d.first
	for id := uint32(0); id < n; id++ {
		switch {
		case id < d.first:
			fresh[id] = id
		case d.to[id] == id:
			fresh[id] = next
			next++
		}
	}
	words := append([]uint32(nil), d.words[:d.placeOf(d.first)]...)
	at := append([]uint32(nil), d.at[:d.first]...)
	for id := d.first; id < n; id++ {
		if d.to[id] != id {
			continue
		}
		start := len(words)
		at = append(at, uint32(start))
		words = append(words, d.Of(id)...)
		eachRef(words[start:], func(r *uint32) { *r = fresh[d.resolve(*r)] })
	}
	d.words, d.at = words, at
}

func (t *Types) placeOf(id uint32) int {
	if int(id) < len(t.at) {
		return int(t.at[id])
	}
	return len(t.words)
}
