package loader

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/decode"
)

// maxLinked limits the instructions of one linked program (the kernel itself processes at most a
// million).
const maxLinked = 1 << 24

// linker builds one program from a main function and the functions it calls.
type linker struct {
	l      *loading
	lp     *LinkedProgram
	placed map[*Function]int
	tables map[tableAt]*Map
	err    *Error // the first failure
	// copies and copied are the functions that were copied for one more call, and their
	// instructions.
	copies, copied int
}

// tableAt is a jump table: its offset in .jumptables, and where the function that has it begins.
type tableAt struct {
	off   uint32
	start int
}

// maxCopies and maxCopied limit the functions that are copied for their calls, and their
// instructions.
const (
	maxCopies = 64
	maxCopied = 1 << 14
)

// frame is a function whose instructions are being walked.
type frame struct {
	fn    *Function
	start int // in the linked program
	pc    int // next instruction
	rel   int // next relocation
	// called is one more than the instruction whose function was placed for it last.
	called int
}

// linkPrograms links every program and determines its status.
func (l *loading) linkPrograms() error {
	var insns buffer[decode.Insn]
	var relocs buffer[Reloc]
	for _, p := range l.o.Programs {
		lp := &LinkedProgram{Program: p, Refs: make(map[int]Ref, len(p.Function.relocs)), linked: l.Linked}
		if target, ok := l.opts.Attach[p.Name]; ok {
			c := *p
			c.AttachTo = target
			c.Hook = c.Kind + "/" + target
			lp.Program = &c
		}
		l.Programs = append(l.Programs, lp)
		k := &linker{l: l, lp: lp, placed: map[*Function]int{}, tables: map[tableAt]*Map{}}
		lp.Insns, lp.Relocs = insns.take(), relocs.take()
		k.run()
		lp.Insns, lp.Relocs = insns.keep(lp.Insns), relocs.keep(lp.Relocs)
		switch {
		case !l.opts.LinkOnly:
			l.settle(lp, k.err)
		case k.err != nil:
			lp.Status, lp.Err = StatusRefused, k.err
		}
	}
	return nil
}

// buffer is memory for slices whose length is known only when they are complete.
type buffer[T any] struct{ free []T }

// take returns the memory as an empty slice to append to.
func (b *buffer[T]) take() []T { return b.free[:0] }

// keep returns a complete slice that began as take's: the memory itself if little of it is left
// over, else a copy.
func (b *buffer[T]) keep(s []T) []T {
	if len(s) >= cap(s)-cap(s)/8 {
		b.free = nil
		return s
	}
	b.free = s
	return slices.Clone(s)
}

// run appends functions depth first: main, then each function at its first call or the first use of
// its address (libbpf bpf_object__reloc_code); the exception callback comes last.
func (k *linker) run() {
	k.append(k.lp.Function)
	if name := k.lp.Program.ExceptionCallback; name != "" {
		fn := k.l.functionNamed(name)
		if fn == nil {
			k.fail(k.lp.Function, 0, ErrRelocation, "exception callback %s does not exist", name)
			return
		}
		at, ok := k.placed[fn]
		if !ok {
			at = len(k.lp.Insns)
			k.append(fn)
		}
		k.lp.ExceptionCallback = at
	}
	slices.SortStableFunc(k.lp.Relocs, func(a, b Reloc) int { return cmp.Compare(a.Insn, b.Insn) })
}

func (l *loading) functionNamed(name string) *Function {
	for _, fn := range l.o.Functions {
		if fn.Name == name {
			return fn
		}
	}
	return nil
}

func (k *linker) fail(fn *Function, pc int, kind error, format string, args ...any) {
	if k.err == nil {
		k.err = &Error{
			Object: k.l.o.Name, Section: fn.Section, Program: fn.Name, Insn: pc, Source: sourceText(fn, pc), Err: kind,
			Detail: fmt.Sprintf(format, args...),
		}
	}
}

// place copies a function to the end of the program.
func (k *linker) place(fn *Function) frame {
	lp, start := k.lp, len(k.lp.Insns)
	lf := k.l.Functions[fn.Index]
	_, again := k.placed[fn]
	k.placed[fn] = start
	lp.Insns = append(lp.Insns, lf.Insns...)
	lp.Funcs = append(lp.Funcs, Func{Name: fn.Name, Start: start, Len: len(lf.Insns), Type: fn.Type, Function: fn, Copy: again})
	for _, r := range lf.Relocs {
		r.Insn = start + r.FuncInsn
		lp.Relocs = append(lp.Relocs, r)
	}
	return frame{fn: fn, start: start}
}

// append places a function and all functions it refers to. It keeps its own stack, because a chain
// of calls may be as long as the object.
func (k *linker) append(fn *Function) {
	stack := []frame{k.place(fn)}
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		k.skip(f)
		if f.rel < len(f.fn.relocs) && f.fn.relocs[f.rel].insn < f.pc {
			k.passed(f)
			return
		}
		if f.pc >= len(f.fn.Insns) {
			stack = stack[:len(stack)-1]
			continue
		}
		if callee := k.step(f); callee != nil {
			if len(k.lp.Insns)+len(callee.Insns) > maxLinked {
				k.fail(f.fn, f.pc, ErrTooLarge, "more than %d instructions with all subprograms", maxLinked)
				return
			}
			stack = append(stack, k.place(callee))
		}
	}
}

// skip moves to the next instruction that step may change: one with a relocation, or a call.
func (k *linker) skip(f *frame) {
	end := len(f.fn.Insns)
	if f.rel < len(f.fn.relocs) {
		end = min(end, f.fn.relocs[f.rel].insn)
	}
	insns := k.lp.Insns[f.start : f.start+len(f.fn.Insns)]
	for f.pc < end && insns[f.pc].Code != codeCall {
		if insns[f.pc].Code == codeLdImm {
			f.pc++
		}
		f.pc++
	}
}

// passed refuses a relocation that belongs to no instruction of its own: one for the second half of
// a 64-bit load, which libbpf refuses too (bpf_program__record_reloc), or another one for the same
// instruction.
func (k *linker) passed(f *frame) {
	r := &f.fn.relocs[f.rel]
	err := r.err
	if err == nil {
		err = fmt.Errorf("relocation against %s for an instruction that has one already", r.sym)
	}
	k.fail(f.fn, r.insn, ErrRelocation, "%v", err)
}

// step links one instruction. If it refers to a function that has not been placed yet, step returns
// the function and leaves the instruction for the next call.
func (k *linker) step(f *frame) *Function {
	at := f.start + f.pc
	in := &k.lp.Insns[at]
	var rel *codeReloc
	if f.rel < len(f.fn.relocs) && f.fn.relocs[f.rel].insn == f.pc {
		rel = &f.fn.relocs[f.rel]
	}
	slots := 1
	if in.Code == codeLdImm {
		slots = 2
	}
	if rel == nil {
		if in.Code == codeCall && in.Src == srcCall {
			target := f.fn.SectionOff + f.pc + int(in.Imm) + 1
			fn := f.fn.sec.at(target)
			if fn == nil || fn.SectionOff != target {
				k.fail(f.fn, f.pc, ErrRelocation, "call of instruction %d of the section, which is not the start of a function", target)
			} else if k.wants(f, fn) {
				return fn
			} else {
				in.Imm = int32(k.placed[fn] - at - 1)
			}
		}
		f.pc += slots
		return nil
	}
	if rel.fn != nil {
		if _, ok := k.placed[rel.fn]; !ok && rel.kind != relocCall || rel.kind == relocCall && k.wants(f, rel.fn) {
			return rel.fn
		}
	}
	k.apply(f, at, rel)
	f.pc += slots
	f.rel++
	return nil
}

// wants reports whether the function that an instruction calls is to be placed for it: it has no
// place yet, or each call gets a copy.
func (k *linker) wants(f *frame, fn *Function) bool {
	_, ok := k.placed[fn]
	switch {
	case f.called == f.pc+1:
		return false
	case ok:
		n := len(k.l.Functions[fn.Index].Insns)
		if !k.l.opts.CopyCalled || len(k.l.opts.AttachProgs) > 0 || k.copies >= maxCopies || k.copied+n > maxCopied {
			return false
		}
		k.copies, k.copied = k.copies+1, k.copied+n
	}
	f.called = f.pc + 1
	return true
}

// apply applies an ELF relocation.
func (k *linker) apply(f *frame, at int, rel *codeReloc) {
	in := &k.lp.Insns[at]
	if kind, _, poisoned := corerelo.ParsePoison(*in); poisoned && kind == corerelo.PoisonCORE {
		return
	}
	wantCall := rel.kind == relocCall || rel.kind == relocExternCall
	if rel.kind != relocBad && (wantCall && in.Code != codeCall || !wantCall && (in.Code != codeLdImm || at+1 >= len(k.lp.Insns))) {
		k.fail(f.fn, f.pc, ErrRelocation, "relocation against %s for an instruction that CO-RE changed", rel.sym)
		return
	}
	switch rel.kind {
	case relocBad:
		k.fail(f.fn, f.pc, ErrRelocation, "%v", rel.err)
	case relocCall:
		in.Imm = int32(k.placed[rel.fn] - at - 1)
	case relocFuncAddr:
		start := k.placed[rel.fn]
		in.Src, in.Imm = srcFunc, int32(start-at-1)
		k.lp.Insns[at+1].Imm = 0
		k.lp.Refs[at] = Ref{Kind: RefFunc, Func: start, Name: rel.fn.Name, Resolved: true}
	case relocMap:
		k.mapRef(at, k.l.Maps[rel.m.Index], srcMapFD, 0, nil)
	case relocData:
		m := k.l.Maps[rel.m.Index]
		k.mapRef(at, m, srcMapVal, rel.off+uint32(m.ArenaOffset), nil)
	case relocExtern:
		k.externRef(at, k.l.Externs[rel.ext.Index])
	case relocExternCall:
		k.kfunc(at, k.l.Externs[rel.ext.Index])
	case relocJumpTable:
		k.jumpTable(f, at, rel)
	}
}

// mapRef makes an LD_IMM64 refer to a map or into its value.
func (k *linker) mapRef(at int, m *Map, src uint8, off uint32, ext *Extern) {
	in := k.lp.Insns[at : at+2]
	if k.l.noMap[m] {
		poison := decode.Insn{Code: codeCall, Imm: corerelo.PoisonMapBase + int32(m.Index)}
		in[0], in[1] = poison, poison
		return
	}
	in[0].Src, in[0].Imm = src, 0
	ref := Ref{Kind: RefMap, Map: m, Name: m.Name, Resolved: true, Extern: ext}
	if src == srcMapVal {
		in[1].Imm = int32(off)
		ref.Kind, ref.Off = RefMapValue, off
	}
	k.lp.Refs[at] = ref
}

func (k *linker) externRef(at int, e *LinkedExtern) {
	in := k.lp.Insns[at : at+2]
	if e.Kind == ExternKconfig {
		k.mapRef(at, k.l.Maps[k.l.o.kconfig.Index], srcMapVal, e.Off, e.Extern)
		return
	}
	ref := Ref{Kind: RefKsym, Name: e.Name, Weak: e.Weak, Resolved: e.Resolved, Addr: e.Addr, TypeID: e.TypeID, Module: e.Module, Extern: e.Extern}
	in[0].Imm, in[1].Imm = 0, 0
	if e.given {
		in[0].Imm, in[1].Imm = int32(e.Addr), int32(e.Addr>>32)
		return
	}
	if e.Type != 0 && e.Resolved {
		ref.Kind = RefKsymBTF
		in[0].Src, in[0].Imm = srcBTFID, int32(e.TypeID)
	}
	k.lp.Refs[at] = ref
}

func (k *linker) kfunc(at int, e *LinkedExtern) {
	in := &k.lp.Insns[at]
	if !e.Resolved {
		*in = decode.Insn{Code: codeCall, Imm: corerelo.PoisonKfuncBase + int32(e.Index)}
	} else {
		in.Src, in.Imm, in.Off = srcKfunc, int32(e.TypeID), 0
	}
	k.lp.Refs[at] = Ref{
		Kind: RefKfunc, Name: e.Name, Weak: e.Weak, Resolved: e.Resolved, TypeID: e.TypeID, Module: e.Module, Extern: e.Extern,
	}
}

// jumpTable creates the instruction array for a table of .jumptables: byte offsets in the section
// become instructions of the linked program (libbpf create_jt_map).
func (k *linker) jumpTable(f *frame, at int, rel *codeReloc) {
	key := tableAt{rel.off, f.start}
	m := k.tables[key]
	if m == nil {
		n := uint32(len(rel.data) / 8)
		m = &Map{
			Name: secJumpTables, Section: secJumpTables, Index: -1, Autocreate: true, Type: mapTypeInsnArray, KeySize: 4, ValueSize: 16,
			MaxEntries: n, DataKind: DataJumpTable, Slots: make([]uint32, n),
		}
		for i := range m.Slots {
			off := k.l.o.ByteOrder.Uint64(rel.data[i*8:])
			to := int64(off/insnSize) - int64(f.fn.SectionOff)
			if off%insnSize != 0 || to < 0 || to >= int64(len(f.fn.Insns)) {
				k.fail(f.fn, f.pc, ErrRelocation, "entry %d of jump table %s is %#x, outside of the function", i, rel.sym, off)
				return
			}
			m.Slots[i] = uint32(to) + uint32(f.start)
		}
		k.tables[key] = m
		k.lp.JumpTables = append(k.lp.JumpTables, m)
	}
	in := &k.lp.Insns[at]
	in.Src, in.Imm, in.Off = srcMapVal, 0, 0
	k.lp.Refs[at] = Ref{Kind: RefInsnArray, Map: m, Name: rel.sym, Resolved: true, Off: uint32(k.lp.Insns[at+1].Imm)}
}

// fnv31 returns the stand-in for a map's descriptor in hashes: FNV-1a of its name
// without the sign bit.
func fnv31(name string) int32 {
	h := fnv.New32a()
	h.Write([]byte(name))
	return int32(h.Sum32() & 0x7fffffff)
}

// canonical returns the program as it would be passed to BPF_PROG_LOAD, with placeholders for
// descriptors.
func (lp *LinkedProgram) canonical(mapImm func(in []decode.Insn, ref Ref)) []decode.Insn {
	insns := slices.Clone(lp.Insns)
	for at, ref := range lp.Refs {
		switch ref.Kind {
		case RefMap, RefMapValue, RefInsnArray:
			mapImm(insns[at:at+2], ref)
		}
	}
	return insns
}
