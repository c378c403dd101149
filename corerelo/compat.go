package corerelo

import "github.com/bpfrun/bpfrun/btf"

// maxLevel and maxDepth are libbpf's limits: recursion through function prototypes, and consecutive
// pointers or arrays.
const (
	maxLevel = 32
	// kernelLevel is the kernel's own limit (MAX_TYPES_ARE_COMPAT_DEPTH, MAX_TYPES_MATCH_DEPTH).
	kernelLevel = 2
	maxDepth    = 32
)

// pair skips modifiers and typedefs on both sides.
func (m *matcher) pair(local, target btf.ID) (l, t *btf.Type, f *fault) {
	if f := m.step(); f != nil {
		return nil, nil, f
	}
	l, t = skip(m.local, local), skip(m.target, target)
	if l == nil || t == nil {
		return nil, nil, faultf(ErrInvalidRecord, eINVAL, "local type %d or target type %d does not lead to a type", local, target)
	}
	return l, t, nil
}

// fieldsCompatible reports whether a field of type target is compatible with one of type local
// (libbpf bpf_core_fields_are_compat): any two composites; integers of any size and sign; pointers
// to anything; arrays with compatible elements; enums and forward declarations with equal essential
// names, or if one of them has no name.
func (m *matcher) fieldsCompatible(local, target btf.ID) (bool, *fault) {
	for depth := 0; ; depth++ {
		l, t, f := m.pair(local, target)
		if f != nil {
			return false, f
		}
		if l.Kind.IsComposite() && t.Kind.IsComposite() {
			return true, nil
		}
		if !sameKind(l.Kind, t.Kind) {
			return false, nil
		}
		switch l.Kind {
		case btf.KindPtr, btf.KindFloat:
			return true, nil
		case btf.KindFwd, btf.KindEnum, btf.KindEnum64:
			return l.Name == "" || t.Name == "" || sameEssential(l.Name, t.Name), nil
		case btf.KindInt:
			return l.Int.Offset == 0 && t.Int.Offset == 0, nil
		case btf.KindArray:
			local, target = l.Ref, t.Ref
		default:
			return false, nil
		}
	}
}

// typesCompatible reports whether two types have the same shape, for all type kinds except
// TypeMatches (libbpf __bpf_core_types_are_compat). Names and sizes below the root do not matter.
func (m *matcher) typesCompatible(local, target btf.ID, level int) (bool, *fault) {
	if !sameKind(m.local.Kind(local), m.target.Kind(target)) {
		return false, nil
	}
	for range maxDepth {
		l, t, f := m.pair(local, target)
		if f != nil {
			return false, f
		}
		if !sameKind(l.Kind, t.Kind) {
			return false, nil
		}
		switch l.Kind {
		case btf.KindVoid, btf.KindStruct, btf.KindUnion, btf.KindEnum, btf.KindEnum64, btf.KindFwd:
			return true, nil
		case btf.KindInt:
			return l.Int.Offset == 0 && t.Int.Offset == 0, nil
		case btf.KindPtr, btf.KindArray:
			local, target = l.Ref, t.Ref
		case btf.KindFuncProto:
			ok, f := m.paramsCompatible(l, t, level)
			if !ok || f != nil {
				return false, f
			}
			lr, tr, f := m.pair(l.Ref, t.Ref)
			if f != nil {
				return false, f
			}
			local, target = lr.ID, tr.ID
		default:
			return false, nil
		}
	}
	return false, tooDeep()
}

func (m *matcher) paramsCompatible(l, t *btf.Type, level int) (bool, *fault) {
	if len(l.Params) != len(t.Params) {
		return false, nil
	}
	for i := range l.Params {
		if level <= 0 {
			return false, tooDeep()
		}
		lp, tp, f := m.pair(l.Params[i].Type, t.Params[i].Type)
		if f != nil {
			return false, f
		}
		if ok, f := m.typesCompatible(lp.ID, tp.ID, level-1); !ok || f != nil {
			return false, f
		}
	}
	return true, nil
}

func tooDeep() *fault {
	return faultf(ErrTooDeep, eINVAL, "types nest deeper than is followed (pointers and arrays %d, prototypes %d, in the kernel %d)", maxDepth, maxLevel, kernelLevel)
}
