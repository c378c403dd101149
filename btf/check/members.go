package check

import "github.com/bpfrun/bpfrun/btf"

// memberCheck checks that a member fits into its struct: check_member of the member's kind, or
// check_kflag_member if the struct has the kind_flag.
func (c *checker) memberCheck(id uint32, s *typ, i int, m member) *Problem {
	t, tid := c.byID(m.typ), m.typ
	bad := func(rule Rule, format string, args ...any) *Problem {
		return c.entryProblem(btf.ID(id), i, rule, format, args...)
	}
	if c.isModifier(t) {
		if t, tid, _ = c.sized(m.typ); t == nil {
			return bad(RuleMember, "its type [%d] has no size", m.typ)
		}
	}
	width := m.off >> 24
	switch t.kind {
	case btf.KindInt:
		if s.flag {
			return c.intFlagMember(s, t, m, bad)
		}
		return c.intMember(s, t, m, bad)
	case btf.KindEnum, btf.KindEnum64:
		if s.flag {
			return enumFlagMember(s, m, bad)
		}
	case btf.KindPtr, btf.KindArray, btf.KindStruct, btf.KindUnion, btf.KindFloat:
		if s.flag && width != 0 {
			return bad(RuleMember, "a bit field of %d bits of a %s", width, t.kind)
		}
	default:
		return bad(RuleMember, "a member of kind %s", t.kind)
	}
	_, _, size := c.sized(tid)
	if t.kind == btf.KindFloat {
		if bits := min(c.ptr, size) * 8; m.off%bits != 0 {
			return bad(RuleMember, "a FLOAT at bit %d, want a multiple of %d", m.off, bits)
		}
		if uint64(m.off/8)+uint64(size) > uint64(s.third) {
			return bad(RuleMember, "%d bytes at %d, the struct has %d", size, m.off/8, s.third)
		}
		return nil
	}
	if m.off%8 != 0 {
		return bad(RuleMember, "a %s at bit %d, which is not a byte boundary", t.kind, m.off)
	}
	if s.third-m.off/8 < size {
		return bad(RuleMember, "%d bytes at %d, the struct has %d", size, m.off/8, s.third)
	}
	return nil
}

type badMember func(rule Rule, format string, args ...any) *Problem

// fits checks that bits at an offset are inside a struct and can be read with 128 bits.
func fits(s *typ, off, bits uint32, bad badMember) *Problem {
	n := bits + off%8
	if n > bitsPerU128 {
		return bad(RuleMember, "%d bits at bit %d touch more than 16 bytes", bits, off)
	}
	if at := off / 8; s.third < at || s.third-at < (n+7)/8 {
		return bad(RuleMember, "%d bits at bit %d, the struct has %d bytes", bits, off, s.third)
	}
	return nil
}

func (c *checker) intMember(s, t *typ, m member, bad badMember) *Problem {
	v := c.u32(t.body)
	shift := v >> 16 & 0xff
	if maxUint32-m.off < shift {
		return bad(RuleMember, "bit %d and the INT's %d are too large", m.off, shift)
	}
	return fits(s, m.off+shift, v&0xff, bad)
}

func (c *checker) intFlagMember(s, t *typ, m member, bad badMember) *Problem {
	if !c.regular(t) {
		return bad(RuleMember, "its INT is not one of 1, 2, 4, 8 or 16 bytes at bit 0, as structs with kind_flag want")
	}
	width, off, whole := m.off>>24, m.off&0xffffff, c.u32(t.body)&0xff
	switch {
	case width == 0 && off%8 != 0:
		return bad(RuleMember, "at bit %d, which is not a byte boundary", off)
	case width == 0:
		width = whole
	case width > whole:
		return bad(RuleMember, "a bit field of %d bits of an INT of %d", width, whole)
	}
	return fits(s, off, width, bad)
}

func enumFlagMember(s *typ, m member, bad badMember) *Problem {
	// The kernel assumes 32-bit enums here, whatever their size.
	const enumBits = 32
	width, off := m.off>>24, m.off&0xffffff
	switch {
	case width == 0 && off%8 != 0:
		return bad(RuleMember, "an enum at bit %d, which is not a byte boundary", off)
	case width == 0:
		width = enumBits
	case width > enumBits:
		return bad(RuleMember, "a bit field of %d bits of an enum", width)
	}
	if end := (off + width + 7) / 8; s.third < end {
		return bad(RuleMember, "%d bits at bit %d, the struct has %d bytes", width, off, s.third)
	}
	return nil
}
