package ebpfspec

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"

	"github.com/bpfrun/bpfrun/internal/elfbuild"
)

// Relocation types (Documentation/bpf/llvm_reloc.rst).
const (
	reloc64   = 1  // R_BPF_64_64, for LD_IMM64
	relocCall = 10 // R_BPF_64_32, for calls
)

const insnSize = 8

// writer turns a spec into an ELF object as a compiler would have written it.
type writer struct {
	spec  *ebpf.CollectionSpec
	order binary.ByteOrder
	elf   *elfbuild.Builder
	types *btf.Builder
	ext   extWriter

	sections map[string]int // section symbols of data sections, by name
	symbols  map[string]int // symbols of maps, functions and externs, by name
	funcs    []*function
	placed   map[string]*function
}

// function is one function of the object with its section.
type function struct {
	name, section string
	insns         asm.Instructions
	start         int // first slot in its section
	global        bool
}

func newWriter(spec *ebpf.CollectionSpec) *writer {
	order := spec.ByteOrder
	if order == nil {
		order = binary.LittleEndian
	}
	return &writer{
		spec: spec, order: order, elf: elfbuild.New(order), sections: map[string]int{}, symbols: map[string]int{}, placed: map[string]*function{},
	}
}

func (w *writer) object() ([]byte, error) {
	var err error
	if w.types, err = w.copyTypes(); err != nil {
		return nil, err
	}
	if err := w.functions(); err != nil {
		return nil, err
	}
	for _, step := range []func() error{w.data, w.mapDefinitions, w.code} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	license := ""
	for _, name := range slices.Sorted(maps.Keys(w.spec.Programs)) {
		license = w.spec.Programs[name].License
	}
	w.elf.Section("license", elf.SHT_PROGBITS, elf.SHF_ALLOC|elf.SHF_WRITE, append([]byte(license), 0))
	raw, err := w.types.Marshal(nil, &btf.MarshalOptions{Order: w.order})
	if err != nil {
		return nil, fmt.Errorf("types: %w", err)
	}
	raw, ext, err := w.ext.finish(w, raw)
	if err != nil {
		return nil, err
	}
	w.elf.Section(".BTF", elf.SHT_PROGBITS, 0, raw)
	w.elf.Section(".BTF.ext", elf.SHT_PROGBITS, 0, ext)
	return w.elf.Bytes(), nil
}

// copyTypes copies all types of the spec except map definitions, which are rebuilt.
func (w *writer) copyTypes() (*btf.Builder, error) {
	b, err := btf.NewBuilder(nil, nil)
	if err != nil || w.spec.Types == nil {
		return b, err
	}
	for typ, err := range w.spec.Types.All() {
		if err != nil {
			return nil, fmt.Errorf("types: %w: %w", err, ErrNotSupported)
		}
		if ds, ok := typ.(*btf.Datasec); ok && ds.Name == ".maps" {
			typ = &btf.Fwd{Name: "maps_of_the_object"} // a placeholder that keeps the other types' ids
		}
		if _, err := b.Add(typ); err != nil {
			return nil, fmt.Errorf("types: %w", err)
		}
	}
	return b, nil
}

// functions splits the programs, each followed by the functions it calls, and assigns a section to
// every function.
func (w *writer) functions() error {
	programs := slices.Sorted(maps.Keys(w.spec.Programs))
	for _, name := range programs {
		p := w.spec.Programs[name]
		if len(p.Instructions) == 0 {
			return fmt.Errorf("program %s has no instructions", name)
		}
		if p.AttachTarget != nil {
			return fmt.Errorf("program %s is attached to a program: %w", name, ErrNotSupported)
		}
		section := p.SectionName
		if section == "" {
			section = sectionOf(p)
		}
		if section == "" {
			return fmt.Errorf("program %s: no section name for programs of type %v: %w", name, p.Type, ErrNotSupported)
		}
		if err := w.add(&function{name: name, section: section, insns: split(p.Instructions)[0], global: true}); err != nil {
			return err
		}
	}
	for _, name := range programs {
		for _, insns := range split(w.spec.Programs[name].Instructions)[1:] {
			if w.spec.Programs[insns[0].Symbol()] != nil {
				continue // a program that others call
			}
			if err := w.add(&function{name: insns[0].Symbol(), section: ".text", insns: insns}); err != nil {
				return err
			}
		}
	}
	ends := map[string]int{}
	for _, f := range w.funcs {
		f.start = ends[f.section]
		ends[f.section] += int(f.insns.Size() / insnSize)
	}
	return nil
}

// add places a function. A copy of it in another program is the same function.
func (w *writer) add(f *function) error {
	have := w.placed[f.name]
	if have == nil {
		w.placed[f.name] = f
		w.funcs = append(w.funcs, f)
		return nil
	}
	if !slices.EqualFunc(have.insns, f.insns, func(a, b asm.Instruction) bool {
		return a.OpCode == b.OpCode && a.Dst == b.Dst && a.Src == b.Src && a.Offset == b.Offset && a.Constant == b.Constant && a.Reference() == b.Reference()
	}) {
		return fmt.Errorf("two different functions are called %s: %w", f.name, ErrNotSupported)
	}
	return nil
}

// split splits a program at every function but the first. Labels that only jumps refer to do not
// start a function.
func split(insns asm.Instructions) []asm.Instructions {
	called := map[string]bool{}
	for _, name := range insns.FunctionReferences() {
		called[name] = true
	}
	var out []asm.Instructions
	start := 0
	for i := 1; i <= len(insns); i++ {
		if i == len(insns) || btf.FuncMetadata(&insns[i]) != nil || called[insns[i].Symbol()] {
			out = append(out, insns[start:i])
			start = i
		}
	}
	return out
}

// sectionNames are section names for programs that did not come from an object, for types that need
// no attach target.
var sectionNames = map[ebpf.ProgramType]string{
	ebpf.SocketFilter: "socket", ebpf.XDP: "xdp", ebpf.SchedCLS: "tc", ebpf.Syscall: "syscall", ebpf.PerfEvent: "perf_event", ebpf.CGroupDevice: "cgroup/dev",
	ebpf.SockOps: "sockops", ebpf.SkMsg: "sk_msg", ebpf.CGroupSysctl: "cgroup/sysctl", ebpf.SkLookup: "sk_lookup", ebpf.LircMode2: "lirc_mode2",
}

// sectionOf derives a section name for a program that has none.
func sectionOf(p *ebpf.ProgramSpec) string {
	switch p.Type {
	case ebpf.Kprobe:
		return "kprobe/" + p.AttachTo
	case ebpf.TracePoint:
		return "tracepoint/" + p.AttachTo
	case ebpf.RawTracepoint:
		return "raw_tracepoint/" + p.AttachTo
	}
	return sectionNames[p.Type]
}

// isData reports whether a map holds a data section.
func isData(m *ebpf.MapSpec) bool { return strings.HasPrefix(m.Name, ".") }

func isBSS(section string) bool { return section == ".bss" || strings.HasPrefix(section, ".bss.") }

// data writes the data sections with the values that variables have in the spec.
func (w *writer) data() error {
	for _, name := range slices.Sorted(maps.Keys(w.spec.Maps)) {
		m := w.spec.Maps[name]
		if !isData(m) || m.Name == ".kconfig" {
			continue
		}
		image := make([]byte, m.ValueSize)
		if len(m.Contents) > 0 {
			b, ok := m.Contents[0].Value.([]byte)
			if !ok {
				return fmt.Errorf("section %s: its contents are %T, want []byte", name, m.Contents[0].Value)
			}
			copy(image, b)
		}
		for _, v := range w.spec.Variables {
			if v.SectionName == m.Name && uint64(v.Offset)+uint64(len(v.Value)) <= uint64(len(image)) {
				copy(image[v.Offset:], v.Value)
			}
		}
		typ, flags := elf.SHT_PROGBITS, elf.SHF_ALLOC
		switch {
		case isBSS(m.Name):
			typ, flags = elf.SHT_NOBITS, elf.SHF_ALLOC|elf.SHF_WRITE
		case !strings.HasPrefix(m.Name, ".rodata"):
			flags |= elf.SHF_WRITE
		}
		section := w.elf.Section(m.Name, typ, flags, image)
		w.sections[m.Name] = w.elf.Symbol("", section, 0, 0, elf.STT_SECTION, elf.STB_LOCAL)
		w.variables(m, section)
	}
	return nil
}

// variables writes the symbols of a data section.
func (w *writer) variables(m *ebpf.MapSpec, section int) {
	for _, name := range slices.Sorted(maps.Keys(w.spec.Variables)) {
		v := w.spec.Variables[name]
		if v.SectionName != m.Name {
			continue
		}
		bind := elf.STB_GLOBAL
		if v.Type != nil && v.Type.Linkage == btf.StaticVar {
			bind = elf.STB_LOCAL
		}
		w.elf.Symbol(v.Name, section, uint64(v.Offset), uint64(v.Size()), elf.STT_OBJECT, bind)
	}
}

// code writes the sections with functions, and their relocations.
func (w *writer) code() error {
	var names []string
	for _, f := range w.funcs {
		if !slices.Contains(names, f.section) {
			names = append(names, f.section)
		}
	}
	index := map[string]int{}
	for _, name := range names {
		index[name] = -1
	}
	// Calls refer to symbols of other sections, so all symbols are written first. Sections are
	// numbered in the order they are written.
	for _, name := range names {
		var all asm.Instructions
		for _, f := range w.funcs {
			if f.section == name {
				all = append(all, f.insns...)
			}
		}
		code, err := w.bytes(all)
		if err != nil {
			return fmt.Errorf("section %s: %w", name, err)
		}
		index[name] = w.elf.Section(name, elf.SHT_PROGBITS, elf.SHF_ALLOC|elf.SHF_EXECINSTR, code)
		for _, f := range w.funcs {
			if f.section != name {
				continue
			}
			bind := elf.STB_LOCAL
			if f.global || linkage(f.insns) == btf.GlobalFunc {
				bind = elf.STB_GLOBAL
			}
			w.symbols[f.name] = w.elf.Symbol(f.name, index[name], uint64(f.start)*insnSize, f.insns.Size(), elf.STT_FUNC, bind)
		}
		if err := w.ext.add(w, name, all); err != nil {
			return fmt.Errorf("section %s: %w", name, err)
		}
	}
	for _, name := range names {
		var rels []elfbuild.Rel
		for _, f := range w.funcs {
			if f.section != name {
				continue
			}
			list, err := w.relocations(f)
			if err != nil {
				return fmt.Errorf("function %s: %w", f.name, err)
			}
			rels = append(rels, list...)
		}
		if len(rels) > 0 {
			w.elf.Rel(index[name], rels...)
		}
	}
	return nil
}

// linkage returns the linkage of a function according to its type.
func linkage(insns asm.Instructions) btf.FuncLinkage {
	if fn := btf.FuncMetadata(&insns[0]); fn != nil {
		return fn.Linkage
	}
	return btf.StaticFunc
}

// bytes encodes instructions as a compiler would leave them for the loader.
func (w *writer) bytes(insns asm.Instructions) ([]byte, error) {
	var out writeBuffer
	for i := range insns {
		ins := insns[i]
		external, err := externOf(&ins)
		if err != nil {
			return nil, err
		}
		switch {
		case ins.IsLoadFromMap() && ins.Map() != nil:
			return nil, fmt.Errorf("instruction %d refers to a map that is already in the kernel: %w", i, ErrNotSupported)
		case ins.IsLoadFromMap() && external == nil && ins.Src == asm.PseudoMapValue:
			ins.Src, ins.Constant = 0, int64(uint64(ins.Constant)>>32) // the offset in the section
		case ins.OpCode.IsDWordLoad() && (ins.Reference() != "" || external != nil):
			ins.Src, ins.Constant = 0, 0
		case ins.IsKfuncCall():
			ins.Src, ins.Constant = asm.PseudoCall, -1
		case ins.IsFunctionCall() && ins.Reference() != "":
			ins.Constant = -1
		}
		if _, err := ins.Marshal(&out, w.order); err != nil {
			return nil, fmt.Errorf("instruction %d: %w", i, err)
		}
	}
	return out, nil
}

type writeBuffer []byte

func (b *writeBuffer) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

// relocations collects the relocations of a function.
func (w *writer) relocations(f *function) ([]elfbuild.Rel, error) {
	labels, err := f.insns.SymbolOffsets()
	if err != nil {
		return nil, err
	}
	var out []elfbuild.Rel
	iter := f.insns.Iterate()
	for iter.Next() {
		ins := iter.Ins
		at := (uint64(f.start) + uint64(iter.Offset)) * insnSize
		external, err := externOf(ins)
		if err != nil {
			return nil, err
		}
		name, kind := ins.Reference(), reloc64
		switch {
		case external != nil:
			if ins.IsKfuncCall() {
				kind = relocCall
			}
			out = append(out, elfbuild.Rel{Off: at, Sym: w.extern(external), Type: kind})
			continue
		case name == "":
			continue
		case ins.IsFunctionCall():
			kind = relocCall
		case !ins.OpCode.IsDWordLoad():
			if _, ok := labels[name]; ok {
				return nil, fmt.Errorf("instruction %d jumps to a label: %w", iter.Index, ErrNotSupported)
			}
			return nil, fmt.Errorf("instruction %d refers to %s: %w", iter.Index, name, ErrNotSupported)
		}
		sym, ok := w.sections[name]
		if !ok {
			sym, ok = w.symbols[name]
		}
		if !ok {
			return nil, fmt.Errorf("instruction %d refers to %s, which the spec does not have: %w", iter.Index, name, ErrNotSupported)
		}
		out = append(out, elfbuild.Rel{Off: at, Sym: sym, Type: kind})
	}
	return out, nil
}

// extern returns the undefined symbol of an extern.
func (w *writer) extern(e *extern) int {
	sym, ok := w.symbols[e.name]
	if !ok {
		bind := elf.STB_GLOBAL
		if e.weak {
			bind = elf.STB_WEAK
		}
		sym = w.elf.Symbol(e.name, 0, 0, 0, elf.STT_NOTYPE, bind)
		w.symbols[e.name] = sym
	}
	return sym
}
