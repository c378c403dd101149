package loader

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// loading is the state of one Load.
type loading struct {
	*Linked
	o    *Object
	t    *Target
	opts LoadOptions
	// off holds the programs that are not loaded.
	off map[*Program]bool
	// noMap holds the maps that are not created.
	noMap map[*Map]bool
	// dropped holds programs for struct_ops members that the target lacks.
	dropped map[string]string
}

// Load links the object for a target. The error is an *[Error], and only for wrong options or a
// target with the other byte order. What libbpf or the kernel would refuse is in Linked.Err and in
// the status of each program; everything that can be linked is linked.
func (o *Object) Load(t *Target, opts LoadOptions) (*Linked, error) {
	if t == nil {
		t = NewTarget("", nil)
	}
	l := &loading{
		Linked: &Linked{Object: o, Target: t}, o: o, t: t, opts: opts,
		off: map[*Program]bool{}, noMap: map[*Map]bool{}, dropped: map[string]string{},
	}
	for _, step := range []func() error{
		l.checkByteOrder, l.checkBTF, l.choosePrograms, l.copyMaps, l.resolveExterns, l.setGlobals, l.linkStructOps, l.relocateCORE, l.linkPrograms, l.attachPrograms,
	} {
		if err := step(); err != nil {
			var e *Error
			if errors.As(err, &e) {
				e.Object = o.Name
			}
			return nil, err
		}
	}
	return l.Linked, nil
}

func (l *loading) warnf(format string, args ...any) {
	if len(l.Warnings) < maxWarnings {
		l.Warnings = append(l.Warnings, fmt.Sprintf(format, args...))
	}
}

// refuse records why libbpf would refuse the object; the first reason wins.
func (l *loading) refuse(e *Error) {
	e.Object = l.o.Name
	if l.Err == nil {
		l.Err = e
	}
}

func (l *loading) checkByteOrder() error {
	if l.t.BTF == nil || l.opts.AnyByteOrder || l.t.BTF.ByteOrder() == l.o.ByteOrder {
		return nil
	}
	return failf(ErrByteOrder, "the object is %s, the BTF of %s is %s", orderName(l.o.ByteOrder.String()), l.t.Name, orderName(l.t.BTF.ByteOrder().String())).
		hint("compile with --target=%s or choose another kernel", map[bool]string{true: "bpfel", false: "bpfeb"}[l.t.BTF.ByteOrder().String() == "LittleEndian"])
}

func orderName(s string) string {
	if s == "BigEndian" {
		return "big-endian"
	}
	return "little-endian"
}

// choosePrograms applies Only, NoLoad and Attach.
func (l *loading) choosePrograms() error {
	check := func(name string) error {
		if _, ok := l.o.Program(name); !ok {
			return failf(ErrOption, "no program %q", name).hint("the object has %s", listPrograms(l.o.Programs))
		}
		return nil
	}
	for _, name := range slices.Concat(l.opts.Only, l.opts.Also) {
		if err := check(name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.opts.NoLoad)) {
		if err := check(name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.opts.Attach)) {
		if err := check(name); err != nil {
			return err
		}
		if p, _ := l.o.Program(name); !progtype.Of(p.Type).Takes.Has(progtype.TakesTarget) {
			return failf(ErrOption, "program %s of type %s has no named attach target to change", name, p.Type)
		}
	}
	for _, p := range l.o.Programs {
		on := p.Autoload || l.opts.Optional || slices.Contains(l.opts.Also, p.Name)
		if len(l.opts.Only) > 0 {
			on = slices.Contains(l.opts.Only, p.Name)
		}
		l.off[p] = !on || l.opts.NoLoad[p.Name]
	}
	return nil
}

// copyMaps copies the maps for this load, with the requested sizes.
func (l *loading) copyMaps() error {
	l.Maps = make([]*Map, len(l.o.Maps))
	for i, m := range l.o.Maps {
		c := *m
		c.Data = slices.Clone(m.Data)
		l.Maps[i] = &c
		l.noMap[&c] = !m.Autocreate
	}
	for i, m := range l.o.Maps {
		c := l.Maps[i]
		if m.Inner != nil {
			inner := *m.Inner
			c.Inner = &inner
		}
		c.Values = slices.Clone(m.Values)
		for j := range c.Values {
			if in := c.Values[j].Map; in != nil {
				c.Values[j].Map = l.Maps[in.Index]
			}
		}
		c.DataRelocs = slices.Clone(m.DataRelocs)
		for j := range c.DataRelocs {
			if in := c.DataRelocs[j].Map; in != nil {
				c.DataRelocs[j].Map = l.Maps[in.Index]
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.opts.MapSizes)) {
		m, ok := l.Map(name)
		switch {
		case !ok:
			var names []string
			for _, m := range l.Maps {
				names = append(names, m.Name)
			}
			return failf(ErrOption, "no map %q to size", name).hint("the object has %s", listNames(names))
		case m.DataKind != DataNone && m.DataKind != DataArena:
			return failf(ErrOption, "map %s holds a data section, so its size is fixed", name)
		}
		m.MaxEntries = l.opts.MapSizes[name]
	}
	if err := l.setInnerMaps(); err != nil {
		return err
	}
	for _, m := range l.Maps {
		l.fixSizes(m)
		if m.Inner != nil {
			l.fixSizes(m.Inner)
		}
		if m.DataKind == DataArena {
			l.placeArena(m)
		}
	}
	return nil
}

// pageSize is the page size in bytes of the arenas laid out here.
const pageSize = 4096

// placeArena places the variables of an arena at its end, as libbpf 1.7 does on kernels whose
// LD_IMM64 accepts 32-bit offsets (7.0 and later).
func (l *loading) placeArena(m *Map) {
	if l.t.Version != 0 && since.Of(l.t.Version).Has(since.ArenaOffsets) {
		size := uint64(m.MaxEntries) * pageSize
		used := (uint64(len(m.Data)) + pageSize - 1) / pageSize * pageSize
		if size >= used {
			m.ArenaOffset = size - used
		}
	}
}

// relocateCORE resolves all CO-RE records in the order of .BTF.ext with one resolver, because
// earlier records affect later ones.
func (l *loading) relocateCORE() error {
	l.Functions = make([]*LinkedFunction, len(l.o.Functions))
	for i, fn := range l.o.Functions {
		l.Functions[i] = &LinkedFunction{Function: fn, Insns: fn.Insns, Skipped: fn.Program != nil && l.off[fn.Program]}
	}
	if l.o.Ext == nil || l.t.BTF == nil {
		if l.o.Ext != nil && len(l.o.Ext.CORE) > 0 {
			l.refuse(failf(ErrCORE, "the object has CO-RE relocations, but no kernel BTF was given").hint("give one with --btf"))
		}
		return nil
	}
	target := coreTarget(l.t)
	target.InKernel = l.opts.KernelCORE
	res := corerelo.NewResolver(l.o.BTF, target)
	// Optional programs come last, so that their records do not affect the others.
	for _, extra := range []bool{false, true} {
		for _, sec := range l.o.Ext.CORE {
			cs := l.o.sections[sec.Name]
			if cs == nil {
				continue
			}
			for i, r := range sec.Records {
				l.relocateRecord(res, cs, r, sec.Records[i:], extra)
			}
		}
		if !l.opts.Optional {
			break
		}
	}
	return nil
}

// extra reports whether a function is an optional program that is loaded only because of
// LoadOptions.Optional.
func (l *loading) extra(fn *Function) bool {
	p := fn.Program
	return p != nil && !p.Autoload && l.opts.Optional && !slices.Contains(l.opts.Only, p.Name) && !slices.Contains(l.opts.Also, p.Name)
}

func coreTarget(t *Target) corerelo.Target {
	out := corerelo.Target{BTF: t.BTF}
	for _, m := range t.Modules {
		out.Modules = append(out.Modules, m.BTF)
		out.ModuleNames = append(out.ModuleNames, m.Name)
	}
	return out
}

// relocateRecord resolves one record if extra equals whether its program is an extra one; rest are
// this record and those after it in the section.
func (l *loading) relocateRecord(res *corerelo.Resolver, cs *codeSection, r btf.CORERelo, rest []btf.CORERelo, extra bool) {
	if r.InsnOff%insnSize != 0 {
		l.refuse(failf(ErrCORE, "record at byte %d, in the middle of an instruction", r.InsnOff).section(cs.name))
		return
	}
	at := int(r.InsnOff / insnSize)
	fn := cs.at(at)
	if fn == nil { // a duplicate of a weak function that the linker dropped
		return
	}
	lf := l.Functions[fn.Index]
	if lf.Skipped || l.extra(fn) != extra {
		return
	}
	if len(lf.Relocs) == 0 {
		lf.Insns = slices.Clone(fn.Insns)
		end := uint32(fn.SectionOff+len(fn.Insns)) * insnSize
		n := slices.IndexFunc(rest, func(r btf.CORERelo) bool { return r.InsnOff >= end })
		if n < 0 {
			n = len(rest)
		}
		n = min(n, len(fn.Insns)) // records need not be sorted
		lf.Relocs, lf.made = make([]Reloc, 0, n), make([]FuncReloc, n)
	}
	pc := at - fn.SectionOff
	if len(lf.made) == 0 {
		lf.made = make([]FuncReloc, 16)
	}
	out := Reloc{pc, &lf.made[0]}
	lf.made = lf.made[1:]
	out.FuncInsn, out.SectionInsn, out.Func = pc, at, fn.Name
	rel, err := res.Resolve(corerelo.Record{InsnOff: r.InsnOff, TypeID: r.TypeID, Access: r.Access, Kind: corerelo.Kind(r.Kind)})
	out.Relocation = rel
	if err == nil {
		out.Patch, err = rel.Apply(lf.Insns, pc)
	}
	if err != nil {
		e := &Error{Section: fn.Section, Program: fn.Name, Insn: pc, Source: sourceText(fn, pc), Err: because(ErrCORE, err), Object: l.o.Name}
		if hints := res.Hints(rel); len(hints) > 0 {
			e.Hint = hints[0].Text
		}
		out.Err = e
		if !extra {
			l.refuse(e)
		}
	}
	lf.Relocs = append(lf.Relocs, out)
}

// sourceText returns the source line of an instruction for messages.
func sourceText(fn *Function, pc int) string {
	li, ok := fn.LineAt(pc)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d %s", li.File, li.Line, li.Col, trimText(li.Text))
}
