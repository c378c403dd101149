package loader

import (
	"cmp"
	"debug/elf"
	"fmt"
	"slices"
	"sort"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
)

// insnSize is the size of an instruction slot in bytes.
const insnSize = 8

// maxWarnings limits Object.Warnings for hostile input.
const maxWarnings = 200

// codeSection is an executable section.
type codeSection struct {
	name  string
	index int
	insns []decode.Insn
	funcs []*Function // ascending offset
	lines lines
}

// at returns the function that contains an instruction of the section, or nil.
func (s *codeSection) at(insn int) *Function {
	i := sort.Search(len(s.funcs), func(i int) bool { return s.funcs[i].SectionOff > insn }) - 1
	if i < 0 || insn >= s.funcs[i].SectionOff+len(s.funcs[i].Insns) {
		return nil
	}
	return s.funcs[i]
}

func (o *Object) warnf(format string, args ...any) {
	if len(o.Warnings) < maxWarnings {
		o.Warnings = append(o.Warnings, fmt.Sprintf(format, args...))
	}
}

// readCode splits executable sections into functions by symbols.
func (o *Object) readCode(f *file) error {
	bySection := map[int][]*symbol{}
	for i := range f.symbols {
		if s := &f.symbols[i]; s.Section > 0 && f.sections[s.Section].IsCode {
			bySection[s.Section] = append(bySection[s.Section], s)
		}
	}
	for i := range f.sections {
		s := &f.sections[i]
		if !s.IsCode || len(s.Data) == 0 {
			continue
		}
		if len(s.Data)%insnSize != 0 {
			return failf(ErrMalformed, "%d bytes of code are not a multiple of 8", len(s.Data)).section(s.Name)
		}
		insns, err := decode.Unmarshal(s.Data, f.order)
		if err != nil {
			return &Error{Insn: -1, Section: s.Name, Err: because(ErrMalformed, err)}
		}
		cs := &codeSection{name: s.Name, index: i, insns: insns}
		o.secByIndex[i] = cs
		if o.sections[s.Name] == nil { // .BTF.ext cannot distinguish two sections with one name
			o.sections[s.Name] = cs
		}
		if err := o.splitFunctions(cs, bySection[i]); err != nil {
			return err
		}
	}
	for i, fn := range o.Functions {
		fn.Index = i
	}
	o.readExt()
	return nil
}

// splitFunctions splits a section into functions by its symbols: STT_FUNC, else global symbols
// without a type (clang before 7), else the whole section is one function.
func (o *Object) splitFunctions(cs *codeSection, syms []*symbol) error {
	var funcs []*symbol
	for _, s := range syms {
		if s.Type == elf.STT_FUNC && s.Name != "" {
			funcs = append(funcs, s)
		}
	}
	if funcs == nil {
		for _, s := range syms {
			if s.Type == elf.STT_NOTYPE && s.Bind != elf.STB_LOCAL && s.Name != "" {
				funcs = append(funcs, s)
			}
		}
	}
	if funcs == nil {
		if cs.name != secText {
			o.warnf("section %s has no function symbols: treating it as one program", cs.name)
		}
		funcs = []*symbol{{Name: cs.name, Bind: elf.STB_GLOBAL}}
	}
	sort.SliceStable(funcs, func(i, j int) bool { return funcs[i].Value < funcs[j].Value })
	total := uint64(len(cs.insns)) * insnSize
	for i, s := range funcs {
		end := s.Value + s.Size
		if s.Size == 0 {
			end = total
			for _, next := range funcs[i+1:] {
				if next.Value > s.Value {
					end = next.Value
					break
				}
			}
		}
		switch {
		case s.Value%insnSize != 0 || (end-s.Value)%insnSize != 0:
			return failf(ErrMalformed, "function %s at %#x of %d bytes is not aligned to instructions", s.Name, s.Value, s.Size).section(cs.name)
		case end > total || end < s.Value:
			return failf(ErrMalformed, "function %s at %#x of %d bytes reaches beyond the section (%d bytes)", s.Name, s.Value, s.Size, total).section(cs.name)
		}
		if n := len(cs.funcs); n > 0 {
			last := cs.funcs[n-1]
			if int(s.Value/insnSize) == last.SectionOff {
				o.warnf("section %s: %s is another name of %s", cs.name, s.Name, last.Name)
				continue
			}
			if int(s.Value/insnSize) < last.SectionOff+len(last.Insns) {
				return failf(ErrMalformed, "functions %s and %s overlap", last.Name, s.Name).section(cs.name)
			}
		}
		from, to := int(s.Value/insnSize), int(end/insnSize)
		if from == to {
			continue
		}
		fn := &Function{
			Name: s.Name, Section: cs.name, SectionOff: from, Insns: cs.insns[from:to:to], Global: s.Bind != elf.STB_LOCAL, Hidden: s.Hidden, sec: cs,
		}
		cs.funcs = append(cs.funcs, fn)
		o.Functions = append(o.Functions, fn)
	}
	return nil
}

// readExt assigns types to functions and line records to sections.
func (o *Object) readExt() {
	if o.Ext != nil {
		for _, sec := range o.Ext.Funcs {
			cs := o.sections[sec.Name]
			if cs == nil {
				continue
			}
			for _, fi := range sec.Records {
				if fn := cs.at(int(fi.InsnOff / insnSize)); fn != nil && fn.Type == 0 && fn.SectionOff == int(fi.InsnOff/insnSize) {
					fn.Type = fi.TypeID
				}
			}
		}
		for _, sec := range o.Ext.Lines {
			if cs := o.sections[sec.Name]; cs != nil {
				cs.lines.add(sec)
			}
		}
	}
	if o.BTF == nil {
		return
	}
	for _, fn := range o.Functions {
		if fn.Type != 0 {
			if o.BTF.Kind(fn.Type) != btf.KindFunc {
				fn.Type = 0
			}
			continue
		}
		if t, ok := o.BTF.Find(btf.KindFunc, fn.Name); ok { // GCC writes no func_info
			fn.Type = t.ID
		}
	}
}

// lines are the line records of a section, ascending by InsnOff: as in .BTF.ext or, if that has
// several parts or another order, decoded.
type lines struct {
	inOrder btf.LineSection
	sorted  []btf.LineInfo
}

func (l *lines) add(sec btf.LineSection) {
	ordered := l.len() == 0
	for i := 1; ordered && i < sec.Len(); i++ {
		ordered = sec.InsnOff(i-1) <= sec.InsnOff(i)
	}
	if ordered {
		l.inOrder = sec
		return
	}
	all := slices.Concat(l.sorted, l.inOrder.All(), sec.All())
	slices.SortStableFunc(all, func(a, b btf.LineInfo) int { return cmp.Compare(a.InsnOff, b.InsnOff) })
	l.sorted, l.inOrder = all, btf.LineSection{}
}

func (l *lines) len() int { return len(l.sorted) + l.inOrder.Len() }

func (l *lines) insnOff(i int) uint32 {
	if l.sorted != nil {
		return l.sorted[i].InsnOff
	}
	return l.inOrder.InsnOff(i)
}

func (l *lines) at(i int) btf.LineInfo {
	if l.sorted != nil {
		return l.sorted[i]
	}
	return l.inOrder.At(i)
}

// LineAt returns the line record that covers instruction pc of the function: the
// last one at or before it.
func (f *Function) LineAt(pc int) (btf.LineInfo, bool) {
	lines := &f.sec.lines
	at := f.SectionOff + pc
	i := sort.Search(lines.len(), func(i int) bool { return int64(lines.insnOff(i)) > int64(at)*insnSize }) - 1
	if i < 0 || int(lines.insnOff(i)/insnSize) < f.SectionOff || pc < 0 || pc >= len(f.Insns) {
		return btf.LineInfo{}, false
	}
	return lines.at(i), true
}
