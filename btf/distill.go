package btf

// Distill extracts from the base of split BTF what [Relocate] needs to find the same types in
// another base: the content of .BTF.base (btf.rst 4.4). It returns this small base, and the split
// types on top of it. It follows libbpf's
// btf__distill_base:
//
//   - the small base contains INT, FLOAT and FWD unchanged, STRUCT and UNION by name and size, and enums by name and size
//     as ENUM without values;
//   - all other types that the split types refer to can be identified only by their content and are copied into the split
//     BTF: unnamed types, pointers, arrays, typedefs, modifiers and prototypes.
//
// Split types cannot refer to functions, variables or sections of the base; that is an *[Error]
// with ErrInvalid.
func Distill(split *Spec) (base, distilled *Spec, err error) {
	old := split.base
	if old == nil {
		return nil, nil, headerError(ErrInvalid, "it is not split BTF")
	}
	needed, err := split.neededOfBase()
	if err != nil {
		return nil, nil, err
	}
	ids := make([]ID, split.NumTypes())
	move := func(id ID) ID { return ids[id] }

	b := NewBuilder(nil)
	var copied []ID
	for id := ID(1); id < split.first; id++ {
		if !needed[id] {
			continue
		}
		t := *old.MustType(id)
		switch {
		case t.Kind == KindInt, t.Kind == KindFloat, t.Kind == KindFwd:
		case t.Name != "" && t.Kind.IsComposite():
			t.Members, t.Flag = nil, false
		case t.Name != "" && t.Kind.IsEnum():
			t.Kind, t.Values, t.Flag = KindEnum, nil, false
		default:
			copied = append(copied, id)
			continue
		}
		ids[id] = b.Add(t)
	}
	if base, err = b.Spec(split.hdr.order); err != nil {
		return nil, nil, err
	}
	next := ID(base.NumTypes())
	for id := split.first; int(id) < len(ids); id, next = id+1, next+1 {
		ids[id] = next
	}
	for _, id := range copied {
		ids[id] = next
		next++
	}
	b = NewBuilder(base)
	for id := split.first; int(id) < len(ids); id++ {
		b.Add(split.MustType(id).remap(move))
	}
	for _, id := range copied {
		b.Add(old.MustType(id).remap(move))
	}
	if distilled, err = b.Spec(split.hdr.order); err != nil {
		return nil, nil, err
	}
	distilled.name, distilled.distilled = split.name, base
	return base, distilled, nil
}

// neededOfBase marks the types of the base that the own types reach, directly or through others. It
// does not follow the members of named structs and unions.
func (s *Spec) neededOfBase() ([]bool, error) {
	needed := make([]bool, s.first)
	var work []ID
	visit := func(id ID) ID {
		if id != 0 && id < s.first && !needed[id] {
			needed[id] = true
			work = append(work, id)
		}
		return id
	}
	for i, off := range s.offs {
		s.decode(s.first+ID(i), off).remap(visit)
	}
	for len(work) > 0 {
		t := s.MustType(work[len(work)-1])
		work = work[:len(work)-1]
		switch t.Kind {
		case KindFunc, KindVar, KindDatasec, KindDeclTag:
			return nil, typeError(t, ErrInvalid, "split BTF refers to a %s of its base", t.Kind)
		}
		if !t.Kind.IsComposite() || t.Name == "" {
			t.remap(visit)
		}
	}
	return needed, nil
}
