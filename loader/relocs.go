package loader

import (
	"debug/elf"
	"fmt"
	"math"
	"sort"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// ELF relocation types of BPF (LLVM BPF relocations document, Linux 6.8).
const (
	relNone     = 0
	rel64       = 1 // R_BPF_64_64: LD_IMM64, S + A
	relABS64    = 2
	relABS32    = 3
	relNoDyld32 = 4
	rel6432     = 10 // R_BPF_64_32: call, (S + A)/8 - 1
)

// relocKind is the effect of an ELF relocation on an instruction.
type relocKind uint8

const (
	relocBad        relocKind = iota
	relocCall                 // call of a function
	relocFuncAddr             // address of a function (callback)
	relocMap                  // map
	relocData                 // address in a data section
	relocExternCall           // kfunc
	relocExtern               // kconfig variable or kernel symbol
	relocJumpTable            // instruction array
)

// codeReloc is a relocation of one instruction of a function.
type codeReloc struct {
	insn int // in the function
	kind relocKind
	fn   *Function
	m    *Map
	off  uint32 // in the map's value, or in .jumptables
	data []byte // the jump table's part of .jumptables
	ext  *Extern
	sym  string
	err  error // relocBad
}

// Instruction encodings that relocations apply to (RFC 9669).
const (
	codeCall  = 0x85 // JMP | CALL
	codeLdImm = 0x18 // LD | IMM | DW
	srcCall   = 1    // call: BPF_PSEUDO_CALL
	srcKfunc  = 2    // call: BPF_PSEUDO_KFUNC_CALL
	srcMapFD  = 1    // LD_IMM64: BPF_PSEUDO_MAP_FD
	srcMapVal = 2    // LD_IMM64: BPF_PSEUDO_MAP_VALUE
	srcBTFID  = 3    // LD_IMM64: BPF_PSEUDO_BTF_ID
	srcFunc   = 4    // LD_IMM64: BPF_PSEUDO_FUNC
)

// readCodeRelocs assigns the relocations of executable sections to functions. A relocation that
// cannot be applied is kept: only programs that contain it are refused, at load time.
func (o *Object) readCodeRelocs(f *file) error {
	externs := make(map[string]*Extern, len(o.Externs))
	for _, e := range o.Externs {
		externs[e.Name] = e
	}
	for i := range f.sections {
		cs := o.secByIndex[i]
		if cs == nil {
			continue
		}
		outside := 0
		for _, r := range f.relocs[i] {
			if r.Type == relNone {
				continue
			}
			if r.Off%insnSize != 0 || r.Off/insnSize >= uint64(len(cs.insns)) {
				return failf(ErrRelocation, "at %#x of %d bytes of code (%s)", r.Off, len(cs.insns)*insnSize, r.Sym.Name).section(cs.name)
			}
			at := int(r.Off / insnSize)
			fn := cs.at(at)
			if fn == nil {
				outside++
				continue
			}
			c := o.classifyReloc(f, cs, at, &r, externs)
			c.insn = at - fn.SectionOff
			fn.relocs = append(fn.relocs, c)
		}
		if outside > 0 {
			o.warnf("section %s: %d relocations outside any function", cs.name, outside)
		}
	}
	for _, fn := range o.Functions {
		relocs := fn.relocs
		if !sort.SliceIsSorted(relocs, func(i, j int) bool { return relocs[i].insn < relocs[j].insn }) {
			sort.SliceStable(relocs, func(i, j int) bool { return relocs[i].insn < relocs[j].insn })
		}
	}
	return nil
}

// classifyReloc determines the kind of a relocation (libbpf bpf_program__record_reloc).
func (o *Object) classifyReloc(f *file, cs *codeSection, at int, r *rel, externs map[string]*Extern) codeReloc {
	in := cs.insns[at]
	c := codeReloc{sym: r.Sym.Name}
	if c.sym == "" {
		c.sym = f.sectionName(r.Sym.Section)
	}
	bad := func(format string, args ...any) codeReloc {
		c.kind, c.err = relocBad, fmt.Errorf(format, args...)
		return c
	}
	isCall, isLd := in.Code == codeCall, in.Code == codeLdImm
	if r.Type != rel64 && r.Type != rel6432 {
		return bad("relocation type %d against %s in code", r.Type, c.sym)
	}
	if !isCall && (!isLd || at+1 >= len(cs.insns)) {
		return bad("relocation against %s for an instruction (code %#02x) that is neither call nor ld_imm64", c.sym, in.Code)
	}
	addend := int64(in.Imm) + r.Add
	switch {
	case r.Sym.extern():
		c.ext = externs[r.Sym.Name]
		if c.ext == nil {
			return bad("%s is undefined", c.sym)
		}
		c.kind = relocExtern
		if isCall {
			c.kind = relocExternCall
		}
		return c
	case r.Sym.Section <= 0:
		return bad("%s is not defined in the object", c.sym)
	case isCall:
		if in.Src != srcCall {
			return bad("call of %s is not encoded as a function call", c.sym)
		}
		// The immediate is -1 for a call of a global function, and the offset in the section for a
		// static one.
		target := int64(r.Sym.Value/insnSize) + addend + 1
		if c.fn = o.functionBySymbol(f, &symbol{Section: r.Sym.Section}, uint64(target)*insnSize); c.fn == nil || r.Sym.Value%insnSize != 0 {
			return bad("call of %s does not reach a function of section %s", c.sym, f.sectionName(r.Sym.Section))
		}
		c.kind = relocCall
		return c
	}
	s := &f.sections[r.Sym.Section]
	off := r.Sym.Value + uint64(addend)
	if s.IsCode {
		if c.fn = o.functionBySymbol(f, r.Sym, uint64(addend)); c.fn == nil {
			return bad("address of %s%+d is not the start of a function", c.sym, addend)
		}
		c.kind = relocFuncAddr
		return c
	}
	if s.Name == secJumpTables {
		n := uint64(len(s.Data))
		if r.Sym.Value%8 != 0 || r.Sym.Size%8 != 0 || r.Sym.Size == 0 || r.Sym.Value > n || r.Sym.Size > n-r.Sym.Value || n > math.MaxUint32 {
			return bad("jump table %s of %d bytes at %d is outside of %s", c.sym, r.Sym.Size, r.Sym.Value, s.Name)
		}
		c.kind, c.off, c.data = relocJumpTable, uint32(r.Sym.Value), s.Data[r.Sym.Value:r.Sym.Value+r.Sym.Size]
		return c
	}
	if off > math.MaxUint32 || r.Sym.Value > math.MaxUint32 {
		return bad("offset %#x of %s does not fit 32 bits", off, c.sym) // LLVM: BitSize 32
	}
	if s.Name == secMaps || isLegacyMaps(s.Name) {
		if c.m = o.mapAt(s.Index, r.Sym.Value); c.m == nil || c.m.secOff != r.Sym.Value {
			return bad("%s+%d is not a map", c.sym, r.Sym.Value)
		}
		c.kind = relocMap
		return c
	}
	if c.m = o.dataMap(f, s); c.m == nil {
		return bad("%s is in section %s, which programs cannot access", c.sym, s.Name)
	}
	c.kind, c.off = relocData, uint32(off)
	return c
}

// dataMap returns the map of a data section. A variable in a section with a custom name gets a map
// when a program refers to it; libbpf refuses that.
func (o *Object) dataMap(f *file, s *section) *Map {
	if ms := o.mapBySec[s.Index]; len(ms) > 0 {
		if ms[0].DataKind == DataStructOps {
			return nil
		}
		return ms[0]
	}
	if s.Flags&elf.SHF_ALLOC == 0 || s.Size == 0 || s.Size > maxData || (s.Type != elf.SHT_PROGBITS && s.Type != elf.SHT_NOBITS) {
		return nil
	}
	m := &Map{
		Name: s.Name, Section: s.Name, Autocreate: true, Type: uapi.MapTypeArray, KeySize: 4, ValueSize: uint32(s.Size), MaxEntries: 1,
		Data: s.Data, DataKind: DataData, secIndex: s.Index, secSize: s.Size,
	}
	if m.Data == nil {
		m.Data, m.DataKind = make([]byte, s.Size), DataBSS
	}
	if s.Flags&elf.SHF_WRITE == 0 {
		m.DataKind, m.Flags = DataRodata, mapRdonlyProg
	}
	if ds := o.datasec(s.Name); ds != nil {
		m.Datasec, m.ValueType = ds.ID, ds.ID
		m.Vars = o.dataVars(f, s.Index, ds)
	}
	o.warnf("section %s: variables outside of .data, .bss and .rodata, which libbpf refuses", s.Name)
	o.addMap(m)
	return m
}
