package check

import (
	"fmt"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// metaAll reads all types and checks each on its own (btf_check_all_metas).
func (c *checker) metaAll() *Problem {
	switch {
	case c.typeOff%4 != 0:
		return fileProblem(RuleSections, uapi.EINVAL, "types start at %d, which is not a multiple of 4", c.typeOff)
	case c.typeLen == 0:
		return fileProblem(RuleSections, uapi.EINVAL, "there is no type")
	}
	b := c.raw[c.hdrLen+c.typeOff : c.hdrLen+c.typeOff+c.typeLen]
	c.types = make([]typ, 1, len(b)/24+2)
	for id := btf.ID(1); len(b) > 0; id++ {
		t, used, p := c.meta(id, b)
		if p != nil {
			if t != nil {
				p.Kind, p.Name = t.kind, c.shown(t.name)
			}
			return p
		}
		if len(c.types) < maxType { // types beyond the limit are not kept, and nothing can refer to them
			c.types = append(c.types, *t)
		}
		b = b[used:]
	}
	return nil
}

// meta reads one type and returns the bytes it used (btf_check_meta). t is nil when its header is
// truncated.
func (c *checker) meta(id btf.ID, b []byte) (t *typ, used int, p *Problem) {
	if len(b) < typeSize {
		return nil, 0, c.problem(id, RuleTruncated, "%d bytes are left, a type has %d", len(b), typeSize)
	}
	t = &typ{name: c.u32(b), info: c.u32(b[4:]), third: c.u32(b[8:])}
	info := btf.Info(t.info)
	t.flag, t.vlen = info.Flag(), info.Vlen()
	kind := uint32(info.Kind())
	if t.info&^0x8f00ffff != 0 && !c.has(since.WideInfo) { // all know the other bits
		// The kernel checks unused bits first.
		kind &= 0x1f
		t.vlen &= narrowVlen
		mask := uint32(0x9f00ffff)
		if !c.has(since.KindFloat) {
			mask = 0x8f00ffff
		}
		if t.info&^mask != 0 && (kind == 0 || kind > uint32(btf.KindEnum64) || t.info&^0x9f00ffff != 0) {
			if info.Vlen() > narrowVlen {
				return t, 0, c.problem(id, RuleInfo, "vlen is %d; Linux before %s takes at most %d", info.Vlen(), since.WideInfo.From(), narrowVlen)
			}
			return t, 0, c.problem(id, RuleInfo, "info %#x has bits set that are not used", t.info)
		}
	}
	if kind == 0 || kind > uint32(btf.KindEnum64) {
		return t, 0, c.problem(id, RuleKind, "unknown kind %d", kind)
	}
	t.kind = btf.Kind(kind)
	if f, ok := kindRules[t.kind]; ok && !c.has(f) {
		return t, 0, c.problem(id, RuleKind, "%s exists from Linux %s on", t.kind, f.From())
	}
	if !c.nameExists(t.name) {
		return t, 0, c.problem(id, RuleName, "name at offset %d, the string table has %d bytes", t.name, len(c.strs))
	}
	size := extra(t.kind, t.vlen)
	if size > uint64(len(b)-typeSize) {
		return t, 0, c.problem(id, RuleTruncated, "needs %d bytes after its header (vlen %d), %d are left", size, t.vlen, len(b)-typeSize)
	}
	used = typeSize + int(size)
	t.body = b[typeSize:used:used]
	if p := c.kindMeta(id, t); p != nil {
		return t, 0, p
	}
	return t, used, nil
}

// extra returns the number of bytes after a type's header.
func extra(k btf.Kind, vlen uint32) uint64 {
	fixed, entry := k.Body()
	return uint64(fixed) + uint64(entry)*uint64(vlen)
}

// shape holds the checks that kinds have in common.
type shape struct {
	name nameRule
	// entries: vlen counts entries; otherwise it has another meaning.
	entries bool
	// flag: the kind_flag may be set.
	flag bool
}

type nameRule uint8

const (
	nameFree nameRule = iota
	nameNone
	nameOptional
	nameNeeded
	nameSection
	nameText
)

var shapes = map[btf.Kind]shape{
	btf.KindInt:       {},
	btf.KindPtr:       {name: nameNone},
	btf.KindArray:     {name: nameNone},
	btf.KindStruct:    {name: nameOptional, entries: true, flag: true},
	btf.KindUnion:     {name: nameOptional, entries: true, flag: true},
	btf.KindEnum:      {name: nameOptional, entries: true, flag: true},
	btf.KindFwd:       {name: nameNeeded, flag: true},
	btf.KindTypedef:   {name: nameNeeded},
	btf.KindVolatile:  {name: nameNone},
	btf.KindConst:     {name: nameNone},
	btf.KindRestrict:  {name: nameNone},
	btf.KindFunc:      {name: nameNeeded, entries: true},
	btf.KindFuncProto: {name: nameNone, entries: true},
	btf.KindVar:       {name: nameNeeded},
	btf.KindDatasec:   {name: nameSection, entries: true},
	btf.KindFloat:     {},
	btf.KindDeclTag:   {name: nameText},
	btf.KindTypeTag:   {name: nameText},
	btf.KindEnum64:    {name: nameOptional, entries: true, flag: true},
}

// flagAllowed reports whether a type of kind k may have the kind_flag in this release.
func (c *checker) flagAllowed(k btf.Kind) bool {
	switch k {
	case btf.KindEnum:
		return c.has(since.SignedEnums)
	case btf.KindDeclTag, btf.KindTypeTag:
		return c.has(since.AttributeTags)
	}
	return shapes[k].flag
}

// kindMeta checks a type on its own, as the check_meta of its kind does.
func (c *checker) kindMeta(id btf.ID, t *typ) *Problem {
	s := shapes[t.kind]
	if t.vlen != 0 && !s.entries {
		return c.problem(id, RuleVlen, "vlen is %d, want 0", t.vlen)
	}
	if t.flag && !c.flagAllowed(t.kind) {
		detail := "kind_flag is set"
		switch t.kind {
		case btf.KindEnum:
			detail += fmt.Sprintf(", which an ENUM may have from Linux %s on", since.SignedEnums.From())
		case btf.KindDeclTag, btf.KindTypeTag:
			detail += fmt.Sprintf(", which tags may have from Linux %s on", since.AttributeTags.From())
		}
		return c.problem(id, RuleKindFlag, "%s", detail)
	}
	if p := c.nameMeta(id, t, s.name); p != nil {
		return p
	}
	switch t.kind {
	case btf.KindInt:
		return c.intMeta(id, t)
	case btf.KindPtr, btf.KindTypedef, btf.KindVolatile, btf.KindConst, btf.KindRestrict, btf.KindTypeTag:
		if t.third > maxType {
			return c.problem(id, RuleReference, "refers to type %d, the largest id is %d", t.third, maxType)
		}
	case btf.KindArray:
		return c.arrayMeta(id, t)
	case btf.KindStruct, btf.KindUnion:
		return c.structMeta(id, t)
	case btf.KindEnum, btf.KindEnum64:
		return c.enumMeta(id, t)
	case btf.KindFwd:
		if t.third != 0 {
			return c.problem(id, RuleReference, "its third word is %d, want 0", t.third)
		}
	case btf.KindFunc:
		if t.vlen > btf.LinkageGlobal {
			return c.problem(id, RuleLinkage, "linkage %d, want static (0) or global (1)", t.vlen)
		}
	case btf.KindVar:
		if t.third == 0 || t.third > maxType {
			return c.problem(id, RuleReference, "a variable of type %d", t.third)
		}
		if l := c.u32(t.body); l > btf.LinkageGlobal {
			return c.problem(id, RuleLinkage, "linkage %d, want static (0) or global (1)", l)
		}
	case btf.KindDatasec:
		return c.datasecMeta(id, t)
	case btf.KindFloat:
		switch t.third {
		case 2, 4, 8, 12, 16:
		default:
			return c.problem(id, RuleSize, "%d bytes, want 2, 4, 8, 12 or 16", t.third)
		}
	case btf.KindDeclTag:
		if i := int32(c.u32(t.body)); i < -1 {
			return c.problem(id, RuleComponent, "component %d", i)
		}
	}
	return nil
}

// nameMeta checks the name of a type.
func (c *checker) nameMeta(id btf.ID, t *typ, rule nameRule) *Problem {
	switch rule {
	case nameNone:
		if t.name != 0 {
			return c.problem(id, RuleName, "it is named %q, but must not have a name", c.shown(t.name))
		}
	case nameOptional:
		if t.name != 0 && !c.identifier(t.name) {
			return c.badName(id, t.name)
		}
	case nameNeeded:
		if t.name == 0 || !c.identifier(t.name) {
			return c.badName(id, t.name)
		}
	case nameSection:
		if t.name == 0 || !c.sectionName(t.name) {
			return c.badName(id, t.name)
		}
	case nameText:
		if s, _ := c.str(t.name); s == "" {
			return c.badName(id, t.name)
		}
	}
	return nil
}

func (c *checker) badName(id btf.ID, off uint32) *Problem {
	s, _ := c.str(off)
	switch {
	case s == "":
		return c.problem(id, RuleName, "it has no name")
	case c.tooLong(s):
		return c.problem(id, RuleName, "its name has %d characters, the limit is %d", len(s), c.longest())
	}
	return c.problem(id, RuleName, "%q is not a name this kernel accepts", c.shown(off))
}

func (c *checker) nameExists(off uint32) bool { return off <= maxNameOff && off < uint32(len(c.strs)) }

// letter, digit and printable follow the kernel's lib/ctype.c, which includes Latin-1.
func letter(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0xc0 && b != 0xd7 && b != 0xf7
}
func digit(b byte) bool     { return b >= '0' && b <= '9' }
func printable(b byte) bool { return b >= 0x20 && b < 0x7f || b >= 0xa0 }

// identifier is btf_name_valid_identifier.
func (c *checker) identifier(off uint32) bool {
	s, ok := c.str(off)
	if !ok || s == "" || c.tooLong(s) {
		return false
	}
	for i := range len(s) {
		b := s[i]
		if !letter(b) && b != '_' && b != '.' && (i == 0 || !digit(b)) {
			return false
		}
	}
	return true
}

// sectionName is btf_name_valid_section.
func (c *checker) sectionName(off uint32) bool {
	if c.identifier(off) || !c.has(since.PrintableSections) {
		return c.identifier(off)
	}
	s, ok := c.str(off)
	if !ok || s == "" || c.tooLong(s) {
		return false
	}
	for i := range len(s) {
		if !printable(s[i]) {
			return false
		}
	}
	return true
}

func (c *checker) intMeta(id btf.ID, t *typ) *Problem {
	v := c.u32(t.body)
	bits := v&0xff + v>>16&0xff
	enc := v >> 24 & 0xf
	switch {
	case v&^uint32(0x0fffffff) != 0:
		return c.problem(id, RuleInteger, "encoding word %#x has bits set that are not used", v)
	case bits > bitsPerU128:
		return c.problem(id, RuleInteger, "offset and width are %d bits, the limit is %d", bits, bitsPerU128)
	case (bits+7)/8 > t.third:
		return c.problem(id, RuleInteger, "%d bits do not fit into %d bytes", bits, t.third)
	case enc != 0 && enc != btf.IntSigned && enc != btf.IntChar && enc != btf.IntBool:
		p := c.problem(id, RuleInteger, "encoding %#x is more than one of signed, char and bool", enc)
		p.Errno = notSupp
		return p
	}
	return nil
}

// regular reports whether an INT is not a bit-field: 1, 2, 4, 8 or 16 bytes at offset 0.
func (c *checker) regular(t *typ) bool {
	v := c.u32(t.body)
	switch v & 0xff {
	case 8, 16, 32, 64, 128:
		return v>>16&0xff == 0
	}
	return false
}

func (c *checker) arrayMeta(id btf.ID, t *typ) *Problem {
	elem, index := c.u32(t.body), c.u32(t.body[4:])
	switch {
	case t.third != 0:
		return c.problem(id, RuleSize, "its third word is %d, want 0", t.third)
	case elem == 0 || elem > maxType:
		return c.problem(id, RuleArray, "elements of type %d", elem)
	case index == 0 || index > maxType:
		return c.problem(id, RuleArray, "index of type %d", index)
	}
	return nil
}

// member is an entry of a STRUCT or UNION; off is the whole offset word.
type member struct{ name, typ, off uint32 }

func (c *checker) member(t *typ, i int) member {
	b := t.body[12*i:]
	return member{c.u32(b), c.u32(b[4:]), c.u32(b[8:])}
}

// bitOffset returns a member's offset in bits, decoded with the kind_flag of t, which need not be
// the member's struct.
func bitOffset(t *typ, m member) uint32 {
	if t.flag {
		return m.off & 0xffffff
	}
	return m.off
}

func (c *checker) structMeta(id btf.ID, t *typ) *Problem {
	last := uint32(0)
	for i := range int(t.vlen) {
		m := c.member(t, i)
		off := bitOffset(t, m)
		switch {
		case !c.nameExists(m.name):
			return c.entryProblem(id, i, RuleName, "name at offset %d, the string table has %d bytes", m.name, len(c.strs))
		case m.name != 0 && !c.identifier(m.name):
			p := c.badName(id, m.name)
			p.Entry = i
			return p
		case m.typ == 0 || m.typ > maxType:
			return c.entryProblem(id, i, RuleReference, "a member of type %d", m.typ)
		case t.kind == btf.KindUnion && off != 0:
			return c.entryProblem(id, i, RuleOffset, "a member of a union at bit %d", off)
		case last > off:
			return c.entryProblem(id, i, RuleOffset, "it is at bit %d, the member before it at bit %d", off, last)
		case (uint64(off)+7)/8 > uint64(t.third):
			return c.entryProblem(id, i, RuleOffset, "it is at bit %d of %d bytes", off, t.third)
		}
		last = off
	}
	return nil
}

func (c *checker) enumMeta(id btf.ID, t *typ) *Problem {
	if t.third == 0 || t.third > 8 || t.third&(t.third-1) != 0 {
		return c.problem(id, RuleSize, "%d bytes, want 1, 2, 4 or 8", t.third)
	}
	stride := int(extra(t.kind, 1))
	for i := range int(t.vlen) {
		name := c.u32(t.body[stride*i:])
		if !c.nameExists(name) {
			return c.entryProblem(id, i, RuleName, "name at offset %d, the string table has %d bytes", name, len(c.strs))
		}
		if name == 0 || !c.identifier(name) {
			p := c.badName(id, name)
			p.Entry = i
			return p
		}
	}
	return nil
}

// secVar is an entry of a DATASEC.
type secVar struct{ typ, off, size uint32 }

func (c *checker) secVar(t *typ, i int) secVar {
	b := t.body[12*i:]
	return secVar{c.u32(b), c.u32(b[4:]), c.u32(b[8:])}
}

func (c *checker) datasecMeta(id btf.ID, t *typ) *Problem {
	if t.vlen == 0 && !c.has(since.EmptySections) {
		return c.problem(id, RuleSection, "it has no variables, which is allowed from Linux %s on", since.EmptySections.From())
	}
	if t.third == 0 {
		return c.problem(id, RuleSection, "it has no size")
	}
	last, sum := uint64(0), uint64(0)
	for i := range int(t.vlen) {
		v := c.secVar(t, i)
		// The kernel adds in 32 bits here.
		end := uint64(v.off + v.size)
		switch {
		case v.typ == 0 || v.typ > maxType:
			return c.entryProblem(id, i, RuleReference, "a variable of type %d", v.typ)
		case uint64(v.off) < last || v.off >= t.third:
			return c.entryProblem(id, i, RuleSection, "it is at %d, want %d to %d", v.off, last, t.third-1)
		case v.size == 0 || v.size > t.third:
			return c.entryProblem(id, i, RuleSection, "it has %d bytes, the section %d", v.size, t.third)
		case end > uint64(t.third):
			return c.entryProblem(id, i, RuleSection, "it ends at %d, the section at %d", end, t.third)
		}
		last = end
		sum += uint64(v.size)
	}
	if uint64(t.third) < sum {
		return c.problem(id, RuleSection, "its variables have %d bytes, the section %d", sum, t.third)
	}
	return nil
}
