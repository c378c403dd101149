package btf

// Relocate moves split BTF from the base it was made for, usually a distilled one (.BTF.base, btf.rst 4.4), onto a new
// base: it finds the types of the old base in the new one by name and rewrites the ids and strings of the split types.
// The rules are those of libbpf and the kernel (btf_relocate.c):
//
//   - INT needs equal size and encoding, FLOAT and ENUM equal size (ENUM and
//     ENUM64 count as the same);
//   - STRUCT and UNION need equal size when a split type embeds one, or when the
//     new base has several of that name;
//   - FWD matches a FWD of the same sort, a STRUCT without kind_flag, or a UNION with kind_flag. The latter two test the
//     flag of the type found, where it means bitfields, instead of the flag of the FWD; the kernel does the same, so what
//     it refuses is refused here too.
//
// The error is an *[Error] with ErrRelocate that names the type of the old base that has no
// counterpart, or several.
func Relocate(split, newBase *Spec) (*Spec, error) {
	old := split.base
	if old == nil {
		return nil, headerError(ErrRelocate, "it is not split BTF")
	}
	if old.big != newBase.big {
		return nil, headerError(ErrRelocate, "it is %s, the new base %s", orderName(old.big), orderName(newBase.big))
	}
	embedded := split.embeddedInOwn()
	ids := make([]ID, old.NumTypes())
	for id := ID(1); int(id) < len(ids); id++ {
		to, err := counterpart(old, id, newBase, embedded[id])
		if err != nil {
			return nil, err
		}
		ids[id] = to
	}
	move := func(id ID) ID {
		if int(id) < len(ids) {
			return ids[id]
		}
		return id - ID(len(ids)) + ID(newBase.NumTypes())
	}
	b := NewBuilder(newBase)
	for i, off := range split.offs {
		b.Add(split.decode(split.first+ID(i), off).remap(move))
	}
	s, err := b.Spec(split.hdr.order)
	if err != nil {
		return nil, err
	}
	s.name = split.name
	return s, nil
}

// remap returns a copy of t with every type id mapped by move.
func (t *Type) remap(move func(ID) ID) Type {
	c := *t
	if c.Kind.hasRef() || c.Kind == KindArray {
		c.Ref = move(c.Ref)
	}
	if c.Kind == KindArray {
		c.Array.Index = move(c.Array.Index)
	}
	c.Members = append([]Member(nil), t.Members...)
	for i := range c.Members {
		c.Members[i].Type = move(c.Members[i].Type)
	}
	c.Params = append([]Param(nil), t.Params...)
	for i := range c.Params {
		c.Params[i].Type = move(c.Params[i].Type)
	}
	c.Vars = append([]VarSecinfo(nil), t.Vars...)
	for i := range c.Vars {
		c.Vars[i].Type = move(c.Vars[i].Type)
	}
	return c
}

// embeddedInOwn returns the structs and unions of the base that the own types embed by value.
func (s *Spec) embeddedInOwn() map[ID]bool {
	found := make(map[ID]bool)
	for i, off := range s.offs {
		if !s.kindAt(off).IsComposite() {
			continue
		}
		for _, m := range s.decode(s.first+ID(i), off).Members {
			id := m.Type
			for range maxDepth {
				id = s.SkipID(id)
				if s.Kind(id) != KindArray {
					break
				}
				id = s.MustType(id).Ref
			}
			if id < s.first && s.Kind(id).IsComposite() {
				found[id] = true
			}
		}
	}
	return found
}

// counterpart finds the unique type of the new base that corresponds to a type of the old base.
func counterpart(old *Spec, id ID, newBase *Spec, embedded bool) (ID, error) {
	t := old.MustType(id)
	if t.Name == "" {
		return 0, typeError(t, ErrRelocate, "an unnamed type of the old base cannot be found in the new one")
	}
	var same []ID
	composites := 0
	for _, c := range newBase.Named(EssentialName(t.Name)) {
		if newBase.Name(c) == t.Name {
			same = append(same, c)
			if newBase.Kind(c).IsComposite() {
				composites++
			}
		}
	}
	found := ID(0)
	for _, c := range same {
		if !isCounterpart(t, newBase.MustType(c), embedded || composites > 1) {
			continue
		}
		if found != 0 {
			return 0, typeError(t, ErrRelocate, "%q could be [%d] or [%d] of the new base", t.Name, found, c)
		}
		found = c
	}
	if found == 0 {
		return 0, typeError(t, ErrRelocate, "%q of %d bytes has no counterpart in the new base, %d types have its name", t.Name, t.Size, len(same))
	}
	return found, nil
}

func isCounterpart(t, c *Type, needSize bool) bool {
	switch t.Kind {
	case KindInt:
		return c.Kind == KindInt && c.Size == t.Size && c.Int == t.Int
	case KindFloat:
		return c.Kind == KindFloat && c.Size == t.Size
	case KindEnum, KindEnum64:
		return c.Kind.IsEnum() && c.Size == t.Size
	case KindStruct, KindUnion:
		return c.Kind == t.Kind && (!needSize || c.Size == t.Size)
	case KindFwd:
		switch c.Kind {
		case KindFwd:
			return c.Flag == t.Flag
		case KindStruct:
			return !c.Flag
		case KindUnion:
			return c.Flag
		}
	}
	return false
}
