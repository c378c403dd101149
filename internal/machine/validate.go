package machine

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/offsets"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// Validation reports which of a run's reads of kernel memory are proved: CO-RE relocated the
// access, and the relocation's field is the field of the object that was read; or the program read
// where a pointer leads that it got from the kernel, and added no offset.
type Validation struct {
	Reads, Proved, Baked int
	Findings             []Finding

	ignore []finding.Ignore
}

// Finding is a read that is not proved, or that found nothing.
type Finding struct {
	Kind FindingKind
	// Program is the one whose instruction Insn is: the one that ran, which after a tail call is
	// not the one that was started.
	Program string
	Insn    int
	// Source is "file:line:col", empty without line information.
	Source string
	Text   string
}

// FindingKind is the kind of problem with a read.
type FindingKind string

const (
	// Baked: a field of a kernel type was read at an offset that no relocation adjusts; other
	// kernels may have another field there.
	Baked FindingKind = "baked"
	// Differs: the field read is not the relocation's field.
	Differs FindingKind = "differs"
	// Straddles: the access covers parts of several members.
	Straddles FindingKind = "straddles"
	// NeverSet: the field had no value and was read as 0.
	NeverSet FindingKind = "never-set"
	// UnionMember: a member of a union was read although another one was set.
	UnionMember FindingKind = "union-member"
)

// Validate examines a run's reads of kernel memory.
func (m *Machine) Validate(res *Result) Validation {
	v := Validation{ignore: m.cfg.Ignore}
	for i := range res.Reads {
		a := &res.Reads[i]
		spec := a.Object.Spec()
		p, ok := m.byName[a.Program]
		if !ok {
			continue
		}
		lp := p.lp
		if a.TypeID == 0 || spec == nil || !spec.Kind(a.TypeID).IsComposite() {
			continue // a string, an array of pointers, untyped memory: no layout matters
		}
		if formats(lp, a.Insn) {
			continue // the addresses of strings are loaded from memory, so no relocation can be found
		}
		v.Reads++
		where := a.Type
		if a.Path != "" {
			where += "." + a.Path
		}
		hole := padding(spec, a)
		if hole {
			where = "padding of " + where
		}
		at := p.addressAt(a.Insn)
		if other := a.OtherMember(meantPath(a, at.Relocs)); other != "" {
			v.add(lp, a.Insn, UnionMember, fmt.Sprintf("reads %s of %s, but of the union %s.%s was set", where, a.Role, a.Type, other))
		}
		switch {
		case slices.ContainsFunc(at.Relocs, func(r *loader.Reloc) bool { return meant(spec, a, r) }), atPointer(spec, a, &at):
			v.Proved++
		case len(at.Relocs) > 0:
			v.add(lp, a.Insn, Differs, fmt.Sprintf("means %s, reads %s of %s", at.Relocs[0].Local.Field(), where, a.Role))
		case offsets.Stable(a.Type):
		default:
			v.Baked++
			v.add(lp, a.Insn, Baked, fmt.Sprintf("reads %s of %s at the fixed offset %d", where, a.Role, a.Off))
		}
		if !hole && straddles(spec, a) {
			v.add(lp, a.Insn, Straddles, fmt.Sprintf("reads %d bytes at offset %d of %s, across members", a.Size, a.Off, a.Type))
		}
		if !a.Set && !a.Default {
			v.add(lp, a.Insn, NeverSet, fmt.Sprintf("%s of %s was never set: read as 0", where, a.Role))
		}
	}
	return v
}

// straddles reports whether a read covers parts of several members: more than one member of the
// type itself, or a part of a nested struct's member.
func straddles(spec *btf.Spec, a *KernelAccess) bool {
	if a.Path == "" {
		size, err := spec.Sizeof(a.TypeID)
		return err == nil && int64(a.Size) < size
	}
	f, err := spec.ResolvePath(a.TypeID, a.Path)
	if err != nil {
		return false
	}
	t := spec.SkipMods(f.Type)
	at := int64(a.Off) - int64(f.BitOffset/8)
	size, err := spec.Sizeof(t.ID)
	if err != nil || t.Kind != btf.KindStruct || at < 0 || at == 0 && int64(a.Size) == size {
		return false
	}
	begins, ends := false, at+int64(a.Size) == size
	for i := range t.Members {
		bits, _ := spec.MemberBits(t, &t.Members[i])
		n, err := spec.Sizeof(t.Members[i].Type)
		if err != nil {
			return false
		}
		begins = begins || int64(bits/8) == at
		ends = ends || int64(bits/8)+n == at+int64(a.Size)
	}
	return !begins || !ends
}

// padding reports whether a read covers only bytes between the members of a struct.
func padding(spec *btf.Spec, a *KernelAccess) bool {
	t, at := spec.SkipMods(a.TypeID), int64(a.Off)
	if a.Path != "" {
		f, err := spec.ResolvePath(a.TypeID, a.Path)
		if err != nil {
			return false
		}
		t, at = spec.SkipMods(f.Type), at-int64(f.BitOffset/8)
	}
	if t.Kind != btf.KindStruct || at < 0 || len(t.Members) == 0 {
		return false
	}
	for i := range t.Members {
		bits, width := spec.MemberBits(t, &t.Members[i])
		end := (int64(bits) + int64(width) + 7) / 8
		if width == 0 {
			n, err := spec.Sizeof(t.Members[i].Type)
			if err != nil {
				return false
			}
			end += n
		}
		if end > at && int64(bits/8) < at+int64(a.Size) {
			return false
		}
	}
	return true
}

// formatHelpers read strings through pointers that programs pass in arrays.
var formatHelpers = map[uapi.FuncID]bool{
	uapi.FuncTracePrintk: true, uapi.FuncTraceVprintk: true, uapi.FuncSnprintf: true, uapi.FuncSeqPrintf: true,
	uapi.FuncSnprintfBtf: true, uapi.FuncSeqPrintfBtf: true,
}

// formats reports whether an instruction calls a helper that formats text.
func formats(lp *loader.LinkedProgram, pc int) bool {
	return pc >= 0 && pc < len(lp.Insns) && lp.Insns[pc].Op() == decode.OpCallHelper && formatHelpers[uapi.FuncID(lp.Insns[pc].Imm)]
}

// meantPath returns the path of the field that the relocation of a read refers to, "" if it starts
// from a different type than the read's.
func meantPath(a *KernelAccess, relocs []*loader.Reloc) string {
	for _, r := range relocs {
		if r.Target == nil || r.Target.BTF == nil {
			continue
		}
		if typ, path, ok := strings.Cut(r.Target.Field(), "."); ok && btf.EssentialName(typ) == a.Type {
			return path
		}
	}
	return ""
}

// atPointer reports whether a read may be of what a pointer leads to that the program got from the
// kernel: it added nothing to it, or a number of elements. A pointer to the start of a struct does
// not count, unless text is read there, since which member comes first is the kernel's choice too.
func atPointer(spec *btf.Spec, a *KernelAccess, at *loader.Address) bool {
	switch {
	case at.Moved, at.Partial, at.Mixed && inText(spec, a):
		return true
	case at.Bare && a.Off == 0 && isWhole(spec, a):
		return true
	case !at.Bare || at.Struct:
		return false
	}
	return a.Off != 0 || text(spec, a.TypeID)
}

// isWhole reports whether a read is of a whole object, whatever its layout is.
func isWhole(spec *btf.Spec, a *KernelAccess) bool {
	size, err := spec.Sizeof(a.TypeID)
	return err == nil && int64(a.Size) == size
}

// inText reports whether a read is of the characters of an array.
func inText(spec *btf.Spec, a *KernelAccess) bool {
	f, err := spec.ResolvePath(a.TypeID, wholeArray(a.Path))
	return err == nil && text(spec, f.Type)
}

// wholeArray returns the path of the array whose element a path names; other paths are unchanged.
func wholeArray(path string) string {
	if i := strings.LastIndexByte(path, '['); i > 0 && strings.HasSuffix(path, "]") {
		return path[:i]
	}
	return path
}

// text reports whether a type begins with characters.
func text(spec *btf.Spec, id btf.ID) bool {
	for range 16 { // a damaged type may contain itself
		t := spec.SkipMods(id)
		if t.Kind == btf.KindArray {
			n, err := spec.Sizeof(t.Ref)
			return err == nil && n == 1
		}
		first := slices.IndexFunc(t.Members, func(m btf.Member) bool { // marks between groups of members are empty arrays
			n, err := spec.Sizeof(m.Type)
			return err == nil && n > 0
		})
		if first < 0 {
			return false
		}
		id = t.Members[first].Type
	}
	return false
}

// addressAt caches [loader.LinkedProgram.AddressAt] for each instruction.
func (p *program) addressAt(pc int) loader.Address {
	at, ok := p.accesses[pc]
	if !ok {
		if p.accesses == nil {
			p.accesses = map[int]loader.Address{}
		}
		at = p.lp.AddressAt(pc)
		p.accesses[pc] = at
	}
	return at
}

// WrongField reports whether findings of the kind are of [finding.WrongField].
func (k FindingKind) WrongField() bool { return k == Baked || k == Differs || k == Straddles }

func (v *Validation) add(lp *loader.LinkedProgram, insn int, kind FindingKind, text string) {
	if kind.WrongField() && finding.Silenced(v.ignore, finding.WrongField, lp.Name) {
		return
	}
	f := Finding{Kind: kind, Program: lp.Name, Insn: insn, Text: text}
	if line, ok := lp.LineAt(insn); ok && line.Line != 0 {
		f.Source = fmt.Sprintf("%s:%d:%d", line.File, line.Line, line.Col)
	}
	v.Findings = append(v.Findings, f)
}

// meant reports whether a relocation's field is the one that was read: the same offset of the same
// type, which may be embedded in the object's type, or embed it (container_of).
func meant(spec *btf.Spec, a *KernelAccess, r *loader.Reloc) bool {
	target := r.Target
	if target == nil || target.BTF == nil {
		return false
	}
	lo, hi := fieldRange(r)
	root, object := composite{target.BTF, target.BTF.SkipMods(target.Root)}, composite{spec, spec.SkipMods(a.TypeID)}
	off := uint32(a.Off)
	return object.embeds(root, off, lo, hi, 0) || root.embeds(object, lo, off, off+1, 0)
}

// fieldRange returns the bytes of a relocation's field within its root type.
func fieldRange(r *loader.Reloc) (lo, hi uint32) {
	lo = r.Target.BitOffset / 8
	if r.Kind == corerelo.FieldByteOffset {
		lo = uint32(r.Result.New)
	}
	hi = lo + 1
	last := r.Target.Last()
	if t, err := r.Target.BTF.Type(last.Type); err == nil && last.Name != "" && last.Index < len(t.Members) {
		if n, err := r.Target.BTF.Sizeof(t.Members[last.Index].Type); err == nil {
			hi = lo + uint32(max(n, 1))
		}
	}
	return lo, hi
}

// composite is a type of one BTF, without modifiers and typedefs.
type composite struct {
	spec *btf.Spec
	t    *btf.Type
}

// is reports whether both are the same struct or union. One without a name, such as that of
// atomic_long_t, is known by its members.
func (c composite) is(o composite) bool {
	if !c.t.Kind.IsComposite() || c.t.Kind != o.t.Kind {
		return false
	}
	if c.t.Name != "" || o.t.Name != "" {
		return btf.EssentialName(c.t.Name) == btf.EssentialName(o.t.Name)
	}
	return c.t.Size == o.t.Size && slices.EqualFunc(c.t.Members, o.t.Members, func(a, b btf.Member) bool { return a.Name == b.Name })
}

// embeds reports whether offset off of a type corresponds to an offset from lo to hi of a struct or
// union that is the type itself or a member of it, at any depth.
func (c composite) embeds(of composite, off, lo, hi uint32, depth int) bool {
	const deepest = 16
	switch {
	case depth > deepest:
		return false
	case c.t.Kind == btf.KindArray:
		n, err := c.spec.Sizeof(c.t.Ref)
		return err == nil && n > 0 && composite{c.spec, c.spec.SkipMods(c.t.Ref)}.embeds(of, off%uint32(n), lo, hi, depth+1)
	case !c.t.Kind.IsComposite():
		return false
	case c.is(of) && off >= lo && off < hi:
		return true
	}
	for i := range c.t.Members {
		at, _ := c.spec.MemberBits(c.t, &c.t.Members[i])
		n, err := c.spec.Sizeof(c.t.Members[i].Type)
		member := composite{c.spec, c.spec.SkipMods(c.t.Members[i].Type)}
		if i == len(c.t.Members)-1 && member.t.Kind == btf.KindArray {
			n = math.MaxInt64 // objects have as many elements of an array at the end as were allocated, whatever is declared
		}
		if start := at / 8; err == nil && off >= start && int64(off-start) < n && member.embeds(of, off-start, lo, hi, depth+1) {
			return true
		}
	}
	return false
}
