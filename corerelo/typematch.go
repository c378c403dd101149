package corerelo

import "github.com/bpfrun/bpfrun/btf"

// typesMatch implements TypeMatches (libbpf __bpf_core_types_match): names must agree at every
// level, as must sizes and signs of integers, array lengths, and enumerators and members by name.
// Pointees that are structs or unions need only have the same name and kind.
func (m *matcher) typesMatch(local, target btf.ID, behindPtr bool, level int) (bool, *fault) {
	if level <= 0 {
		return false, tooDeep()
	}
	for range maxDepth {
		l, t, f := m.pair(local, target)
		if f != nil {
			return false, f
		}
		if !namesMatch(l.Name, t.Name) {
			return false, nil
		}
		switch l.Kind {
		case btf.KindVoid:
			return t.Kind == btf.KindVoid, nil
		case btf.KindFwd:
			return forwardMatches(l, t, behindPtr), nil
		case btf.KindEnum, btf.KindEnum64:
			return t.Kind.IsEnum() && enumsMatch(l, t), nil
		case btf.KindStruct, btf.KindUnion:
			if behindPtr {
				return l.Kind == t.Kind || t.Kind == btf.KindFwd && (l.Kind == btf.KindUnion) == t.Flag, nil
			}
			if l.Kind != t.Kind {
				return false, nil
			}
			return m.membersMatch(l, t, level)
		}
		if l.Kind != t.Kind {
			return false, nil
		}
		switch l.Kind {
		case btf.KindInt:
			return l.Size == t.Size && l.Int.Encoding&btf.IntSigned == t.Int.Encoding&btf.IntSigned, nil
		case btf.KindPtr:
			behindPtr = true
		case btf.KindArray:
			if l.Array.Nelems != t.Array.Nelems {
				return false, nil
			}
		case btf.KindFuncProto:
			if ok, f := m.paramsMatch(l, t, behindPtr, level); !ok || f != nil {
				return false, f
			}
		default:
			return false, nil
		}
		local, target = l.Ref, t.Ref
	}
	return false, tooDeep()
}

// namesMatch compares essential names. An unnamed type matches only an unnamed type.
func namesMatch(local, target string) bool {
	if target == "" {
		return local == ""
	}
	return sameEssential(local, target)
}

// forwardMatches handles a local forward declaration, whose Flag means union.
func forwardMatches(l, t *btf.Type, behindPtr bool) bool {
	if t.Kind == btf.KindFwd {
		return l.Flag == t.Flag
	}
	return behindPtr && (t.Kind == btf.KindStruct && !l.Flag || t.Kind == btf.KindUnion && l.Flag)
}

func enumsMatch(l, t *btf.Type) bool {
	if l.Size != t.Size || len(l.Values) > len(t.Values) {
		return false
	}
	names := make(map[string]struct{}, len(t.Values))
	for i := range t.Values {
		names[btf.EssentialName(t.Values[i].Name)] = struct{}{}
	}
	for i := range l.Values {
		if _, ok := names[btf.EssentialName(l.Values[i].Name)]; !ok {
			return false
		}
	}
	return true
}

// membersMatch requires, for every local member, a matching target member with the same essential
// name. Several anonymous members may be tried.
func (m *matcher) membersMatch(l, t *btf.Type, level int) (bool, *fault) {
	if len(l.Members) > len(t.Members) {
		return false, nil
	}
	for i := range l.Members {
		found := false
		for j := 0; j < len(t.Members) && !found; j++ {
			if f := m.step(); f != nil {
				return false, f
			}
			if !namesMatch(l.Members[i].Name, t.Members[j].Name) {
				continue
			}
			ok, f := m.typesMatch(l.Members[i].Type, t.Members[j].Type, false, level-1)
			if f != nil {
				return false, f
			}
			found = ok
		}
		if !found {
			return false, nil
		}
	}
	return true, nil
}

func (m *matcher) paramsMatch(l, t *btf.Type, behindPtr bool, level int) (bool, *fault) {
	if len(l.Params) != len(t.Params) {
		return false, nil
	}
	for i := range l.Params {
		if ok, f := m.typesMatch(l.Params[i].Type, t.Params[i].Type, behindPtr, level-1); !ok || f != nil {
			return false, f
		}
	}
	return true, nil
}
