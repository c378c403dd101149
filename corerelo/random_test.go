package corerelo

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
)

// types is a source of random types that often match one another: few names,
// few shapes.
type types struct{ *rand.Rand }

var scalars = []*ty{tInt, tU8, tS8, tU16, tU32, tLong, tULong, tU64, tBool, tFloat}

func (r types) name() string { return string("abcde"[r.IntN(5)]) }

func (r types) scalar() *ty { return scalars[r.IntN(len(scalars))] }

func (r types) enum(name string) *ty {
	var v []val
	for i := range 1 + r.IntN(3) {
		v = append(v, val{fmt.Sprintf("E%c", 'A'+byte(r.IntN(4))), int64(i*3 + r.IntN(3))})
	}
	if r.IntN(3) == 0 {
		return enum64(name, r.IntN(2) == 0, append(v, val{"EBIG", int64(r.Uint64())})...)
	}
	return enum(name, 4, r.IntN(2) == 0, v...)
}

// any returns a type of at most that many levels.
func (r types) any(depth int) *ty {
	n := r.IntN(16)
	switch {
	case depth == 0 || n < 4:
		return r.scalar()
	case n < 6:
		return ptr(r.any(depth - 1))
	case n < 9:
		return array(uint32(r.IntN(4)), r.any(depth-1))
	case n < 10:
		return typedef("t"+r.name(), r.any(depth-1))
	case n < 11:
		return konst(r.any(depth - 1))
	case n < 12:
		return r.enum([]string{"", "e", "f"}[r.IntN(3)])
	case n < 13:
		return ptr(proto(r.scalar(), r.any(depth-1)))
	}
	return r.composite([]string{"", "n", "m"}[r.IntN(3)], depth-1)
}

// composite has distinct member names, also through anonymous members, as C
// has; libbpf's answer for doubled names depends on stale state.
func (r types) composite(name string, depth int) *ty {
	kind := btf.KindStruct
	if r.IntN(4) == 0 {
		kind = btf.KindUnion
	}
	var members []mem
	used := map[string]bool{}
	for range 1 + r.IntN(5) {
		typ := r.any(depth)
		n := r.name()
		if typ.kind.IsComposite() && typ.name == "" && r.IntN(2) == 0 {
			n = ""
		}
		if !claim(used, n, typ) {
			continue
		}
		m := member(n, typ)
		if typ.kind == btf.KindInt && r.IntN(4) == 0 {
			at := r.IntN(96)
			m = bitfield(n, typ, at, uint32(1+r.IntN(int(typ.size)*8)))
		}
		members = append(members, m)
	}
	return composite(kind, name, members)
}

func claim(used map[string]bool, name string, typ *ty) bool {
	if name != "" {
		fresh := !used[name]
		used[name] = true
		return fresh
	}
	for _, m := range typ.members {
		if !claim(used, m.name, m.typ) {
			return false
		}
	}
	return true
}

func (r types) root(name string) *ty {
	switch r.IntN(8) {
	case 0:
		return r.enum(name)
	case 1:
		return typedef(name, r.any(3))
	}
	return r.composite(name, 3)
}

// randomRule makes some local roots and a target that has variants of them.
func randomRule(rng *rand.Rand) rule {
	r := types{rng}
	var out rule
	locals := []*ty{r.root("s"), r.root("u___x"), r.composite("s", 2)}
	for i, name := range []string{"s", "s___b", "u", "u___y", "s"} {
		if r.IntN(3) > 0 {
			out.target = append(out.target, r.root(name))
		} else if same := locals[i%len(locals)]; r.IntN(2) == 0 {
			twin := *same
			twin.name = name
			out.target = append(out.target, &twin)
		}
	}
	out.target = append(out.target, tInt)
	for range 6 {
		out.steps = append(out.steps, r.step(locals[r.IntN(len(locals))]))
	}
	return out
}

// mutatedRule makes some local roots, and a target that has each of them once or twice with a few
// changes: of a kernel that moved on, rather than of an unrelated one.
func mutatedRule(rng *rand.Rand) rule {
	r := types{rng}
	var out rule
	locals := []*ty{r.composite("s", 3), r.composite("u___x", 3), r.root("t")}
	for _, l := range locals {
		for range 1 + r.IntN(2) {
			m := r.mutate(l, 3)
			if r.IntN(3) == 0 {
				m.name += "___m"
			}
			out.target = append(out.target, m)
		}
	}
	out.target = append(out.target, tInt)
	for range 8 {
		out.steps = append(out.steps, r.step(locals[r.IntN(len(locals))]))
	}
	return out
}

// mutate copies a type with some changes below it.
func (r types) mutate(t *ty, depth int) *ty {
	c := *t
	if depth == 0 {
		return &c
	}
	switch {
	case t.kind.IsComposite():
		c.members = nil
		for _, m := range t.members {
			switch r.IntN(12) {
			case 0: // gone
				continue
			case 1: // another type
				if m.bits == 0 {
					m.typ = r.any(depth - 1)
				}
			case 2, 3, 4:
				m.typ = r.mutate(m.typ, depth-1)
			}
			c.members = append(c.members, m)
		}
		if r.IntN(3) == 0 {
			r.Shuffle(len(c.members), func(i, j int) { c.members[i], c.members[j] = c.members[j], c.members[i] })
		}
		if r.IntN(8) == 0 && len(c.members) > 0 { // some move into an anonymous struct
			n := 1 + r.IntN(len(c.members))
			c.members = append([]mem{member("", composite(btf.KindStruct, "", c.members[:n]))}, c.members[n:]...)
		}
		used := map[string]bool{}
		kept := c.members[:0:0]
		for _, m := range c.members {
			if claim(used, m.name, m.typ) {
				kept = append(kept, m)
			}
		}
		c.members = kept
	case t.kind == btf.KindPtr || t.kind == btf.KindTypedef || t.kind == btf.KindConst:
		c.ref = r.mutate(t.ref, depth-1)
	case t.kind == btf.KindArray:
		c.ref = r.mutate(t.ref, depth-1)
		c.nelems = uint32(int(t.nelems) + r.IntN(3) - min(1, int(t.nelems)))
	case t.kind.IsEnum():
		c = *r.enum(t.name)
	case t.kind == btf.KindInt && r.IntN(3) == 0:
		c = *r.scalar()
	}
	return &c
}

func (r types) step(root *ty) step {
	kind := Kind(r.IntN(numKinds))
	if r.IntN(3) == 0 {
		kind = FieldByteOffset
	}
	s := step{root: root, access: "0", kind: kind}
	leaf := root
	switch {
	case kind.IsEnumval():
		s.access = fmt.Sprint(r.IntN(3))
	case kind.IsField():
		s.access, leaf = r.path(root)
	}
	if r.IntN(40) == 0 {
		s.access += ":1"
	}
	leaf = strip(leaf)
	if size, _ := leaf.layout(); kind == FieldByteOffset && (size == 1 || size == 2 || size == 4 || size == 8) && r.IntN(2) == 0 {
		s.insn = &decode.Insn{Code: 0x61 | sizeCode(int(size)), Dst: 1, Src: 2}
		s.fillOffset = true
	}
	return s
}

// path walks down from root at random and returns the access string.
func (r types) path(root *ty) (string, *ty) {
	steps := []string{fmt.Sprint(r.IntN(8) / 7)}
	t := strip(root)
	for r.IntN(5) > 0 {
		switch {
		case t.kind.IsComposite() && len(t.members) > 0:
			i := r.IntN(len(t.members))
			steps = append(steps, fmt.Sprint(i))
			t = strip(t.members[i].typ)
		case t.kind == btf.KindArray && t.nelems > 0:
			steps = append(steps, fmt.Sprint(r.IntN(int(t.nelems))))
			t = strip(t.ref)
		default:
			return strings.Join(steps, ":"), t
		}
	}
	return strings.Join(steps, ":"), t
}

func strip(t *ty) *ty {
	for t.kind == btf.KindTypedef || t.kind == btf.KindConst {
		t = t.ref
	}
	return t
}
