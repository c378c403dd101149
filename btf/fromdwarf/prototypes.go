package fromdwarf

import "github.com/bpfrun/bpfrun/btf"

// maxCompared limits the types that a comparison of two prototypes visits; larger ones count as
// different.
const maxCompared = 1 << 12

// equalPrototypes compares two functions of a name: the kinds and names of their types, const
// aside.
func (m *maker) equalPrototypes(a, b *candidate) bool {
	c := comparison{m, maxCompared}
	if len(a.params) != len(b.params) || !c.equal(a.result, b.result) {
		return false
	}
	for i := range a.params {
		if !c.equal(a.params[i].typ, b.params[i].typ) {
			return false
		}
	}
	return true
}

// comparison compares types that have not been deduplicated.
type comparison struct {
	*maker
	left int // types that may still be visited
}

// declared returns a type's kind; a forward declaration has that of what it declares.
func (c *comparison) declared(id uint32) btf.Kind {
	kind := c.types.Kind(id)
	if kind != btf.KindFwd {
		return kind
	}
	if btf.Info(c.types.Of(id)[1]).Flag() {
		return btf.KindUnion
	}
	return btf.KindStruct
}

func (c *comparison) equal(a, b uint32) bool {
	for ; c.left > 0; c.left-- {
		if a == b || a == 0 || b == 0 {
			return a == b
		}
		x, y := c.types.Of(a), c.types.Of(b)
		kind, other := c.declared(a), c.declared(b)
		switch {
		case kind == other:
		case kind == btf.KindConst:
			a = x[2]
			continue
		case other == btf.KindConst:
			b = y[2]
			continue
		default:
			return false
		}
		switch kind {
		case btf.KindInt:
			return x[0] == y[0] && x[2] == y[2] && x[3] == y[3]
		case btf.KindFloat:
			return x[0] == y[0] && x[2] == y[2]
		case btf.KindTypedef, btf.KindStruct, btf.KindUnion, btf.KindEnum, btf.KindEnum64:
			return x[0] == y[0]
		case btf.KindPtr, btf.KindVolatile, btf.KindConst, btf.KindRestrict, btf.KindTypeTag:
			a, b = x[2], y[2]
		case btf.KindArray:
			if x[5] != y[5] {
				return false
			}
			a, b = x[3], y[3]
		case btf.KindFuncProto:
			return c.equalProtos(x, y)
		default:
			return false
		}
	}
	return false
}

// equalProtos compares the words of two FUNC_PROTOs.
func (c *comparison) equalProtos(x, y []uint32) bool {
	if len(x) != len(y) || !c.equal(x[2], y[2]) {
		return false
	}
	for i := 4; i < len(x); i += 2 {
		if !c.equal(x[i], y[i]) {
			return false
		}
	}
	return true
}
