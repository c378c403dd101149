// Package offsets finds accesses of kernel types at fixed offsets: reads that no CO-RE relocation adjusts, without running the program.
//
// It follows pointers to kernel types through registers and the stack: arguments by the BTF of the hook, bpf_get_current_task, members
// that are pointers, and constants that are added before bpf_probe_read_kernel, those of offsetof and sizeof too. Where paths that meet disagree nothing is known, and
// nothing is reported. It does not judge what a program may do (package verifier).
//
// Start from [Find].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package offsets

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/uapi"
)

// Access is one access at a fixed offset.
type Access struct {
	Program string
	Insn    int
	// Source is "file:line: text", empty without line information.
	Source string
	// Type is the kernel type, Offset where it is read, Size how many bytes; 0 is a string of any length. An offset outside of the type
	// is one that offsetof or sizeof made: of the struct it is part of, or of another element of an array.
	Type   string
	Offset int64
	Size   int
	// Meant is the field the object's own declaration of the type has there, Hit the one of the target; "" when there is none.
	Meant, Hit string
	// Instead is the macro to use.
	Instead string
}

// stable are kernel types whose layout is ABI: programs may have their offsets baked in.
var stable = map[string]bool{
	"pt_regs": true, "user_pt_regs": true, "user_regs_struct": true, "sockaddr": true, "sockaddr_in": true, "sockaddr_in6": true, "sockaddr_un": true, "sockaddr_storage": true,
	"ethhdr": true, "iphdr": true, "ipv6hdr": true, "tcphdr": true, "udphdr": true, "icmphdr": true, "in6_addr": true, "in_addr": true, "iovec": true, "timespec": true,
}

// Stable reports whether the layout of a kernel type is ABI.
func Stable(name string) bool { return stable[name] }

// kind describes what a value is.
type kind uint8

const (
	unknown kind = iota
	pointer      // to a kernel type, at an offset
	number       // a constant
	frame        // an address on the stack
	context      // the arguments of a hook with BTF
)

// value is what is known of a register or a slot of the stack.
type value struct {
	kind kind
	typ  btf.ID
	off  int64
	// proved means that a relocation decided the offset or number.
	proved bool
}

const slots = 64 // of the stack, 8 bytes each

type state struct {
	regs  [11]value
	stack [slots]value
}

// join keeps what two states agree in; it reports whether s changed.
func (s *state) join(o *state) bool {
	changed := false
	one := func(a *value, b value) {
		if *a != b && *a != (value{}) {
			if a.kind == b.kind && a.typ == b.typ && a.off == b.off {
				a.proved = true // proved on one way: no certain finding
				if *a == b {
					changed = true
					return
				}
				if !b.proved {
					return
				}
			}
			*a = value{}
			changed = true
		}
	}
	for i := range s.regs {
		one(&s.regs[i], o.regs[i])
	}
	for i := range s.stack {
		one(&s.stack[i], o.stack[i])
	}
	return changed
}

// Find returns the accesses at fixed offsets of the programs of a linked object, in the order of instructions.
func Find(l *loader.Linked) []Access {
	var out []Access
	if l.Target == nil || l.Target.BTF == nil {
		return nil
	}
	for _, p := range l.Programs {
		if len(p.Insns) == 0 {
			continue
		}
		f := finder{l: l, p: p, spec: l.Target.BTF, relocs: map[int]bool{}, found: map[int]Access{}}
		for i := range p.Relocs {
			f.relocs[p.Relocs[i].Insn] = true
		}
		f.walk()
		var pcs []int
		for pc := range f.found {
			pcs = append(pcs, pc)
		}
		slices.Sort(pcs)
		for _, pc := range pcs {
			out = append(out, f.found[pc])
		}
	}
	return out
}

type finder struct {
	l      *loader.Linked
	p      *loader.LinkedProgram
	spec   *btf.Spec
	relocs map[int]bool
	args   []btf.ID
	found  map[int]Access
}

// maxVisits bounds how often an instruction is looked at: values only ever get lost at joins.
const maxVisits = 3 * (11 + slots)

func (f *finder) walk() {
	f.args = f.arguments()
	n := len(f.p.Insns)
	states := make([]*state, n)
	visits := make([]int, n)
	start := &state{}
	start.regs[10] = value{kind: frame}
	if f.args != nil {
		start.regs[1] = value{kind: context}
	}
	states[0] = start
	work := []int{0}
	reach := func(pc int, s *state) {
		if pc < 0 || pc >= n || visits[pc] > maxVisits {
			return
		}
		if states[pc] == nil {
			c := *s
			states[pc] = &c
			work = append(work, pc)
		} else if states[pc].join(s) {
			work = append(work, pc)
		}
	}
	for len(work) > 0 {
		pc := work[len(work)-1]
		work = work[:len(work)-1]
		visits[pc]++
		s := *states[pc]
		delete(f.found, pc)
		f.step(pc, &s)
		in := f.p.Insns[pc]
		const exit, call = 0x95, 0x85
		if target, ok := in.Target(pc); ok && in.Code != call {
			reach(target, &s)
		}
		const ja, ja32 = 0x05, 0x06
		if in.Code != exit && in.Code != ja && in.Code != ja32 {
			reach(pc+max(in.Len(), 1), &s)
		}
	}
}

// arguments are the types of the hook's arguments by BTF; nil when the context is none of them.
func (f *finder) arguments() []btf.ID {
	id := f.p.AttachID
	if id == 0 {
		return nil
	}
	t := f.spec.SkipMods(id)
	skip := 0
	if f.spec.Kind(id) == btf.KindTypedef && t.Kind == btf.KindPtr { // btf_trace_NAME
		t, skip = f.spec.SkipMods(t.Ref), 1
	}
	if t.Kind == btf.KindFunc {
		t = f.spec.MustType(t.Ref)
	}
	if t.Kind != btf.KindFuncProto || len(t.Params) < skip {
		return nil
	}
	args := []btf.ID{}
	for _, p := range t.Params[skip:] {
		args = append(args, p.Type)
	}
	return args
}

// pointee makes a value of a pointer to a struct or union; unknown for others.
func (f *finder) pointee(id btf.ID) value {
	t := f.spec.SkipMods(id)
	if t.Kind != btf.KindPtr {
		return value{}
	}
	to := f.spec.SkipMods(t.Ref)
	if !to.Kind.IsComposite() || to.Name == "" {
		return value{}
	}
	return value{kind: pointer, typ: to.ID}
}

// fieldPointer is what a field that is a pointer leads to.
func (f *finder) fieldPointer(v value, off int64, size int) value {
	if off < 0 || off > 1<<28 || size != f.spec.PointerSize() {
		return value{}
	}
	path, field, exact := f.spec.FieldAt(v.typ, uint32(off), size)
	if path == "" || !exact {
		return value{}
	}
	return f.pointee(field.Type)
}

func slotOf(off int64) (int, bool) {
	i := (off + 8*slots) / 8
	return int(i), off < 0 && off%8 == 0 && i >= 0 && i < slots
}

// step changes a state as an instruction does, and notes what it accesses.
func (f *finder) step(pc int, s *state) {
	in := f.p.Insns[pc]
	reloc := f.relocs[pc]
	const mov64Imm, mov64Reg, add64Imm, add64Reg, mov32Imm, call, ldImm64 = 0xb7, 0xbf, 0x07, 0x0f, 0xb4, 0x85, 0x18
	sizes := map[uint8]int{0x00: 4, 0x08: 2, 0x10: 1, 0x18: 8}
	dst := &s.regs[in.Dst%11]
	switch class := in.Code & 7; {
	case in.Code == mov64Imm, in.Code == mov32Imm, in.Code == ldImm64 && in.Src == 0:
		*dst = value{kind: number, off: int64(in.Imm), proved: reloc}
	case in.Code == mov64Reg && in.Off == 0:
		*dst = s.regs[in.Src%11]
	case in.Code == add64Imm:
		dst.off += int64(in.Imm)
		dst.proved = dst.proved || reloc
		if dst.kind == context || dst.kind == unknown {
			*dst = value{}
		}
	case in.Code == add64Reg:
		*dst = add(*dst, s.regs[in.Src%11])
	case class == 0x1: // LDX
		src := s.regs[in.Src%11]
		size := sizes[in.Code&0x18]
		*dst = value{}
		switch mode := in.Code & 0xe0; {
		case mode != 0x60 && mode != 0x80:
		case src.kind == pointer:
			off := src.off + int64(in.Off)
			f.note(pc, src, off, size, reloc, "a direct read with preserve_access_index (vmlinux.h), or BPF_CORE_READ")
			*dst = f.fieldPointer(src, off, size)
		case src.kind == context && size == 8 && in.Off >= 0 && in.Off%8 == 0 && int(in.Off/8) < len(f.args):
			*dst = f.pointee(f.args[in.Off/8])
		case src.kind == frame && size == 8:
			if i, ok := slotOf(src.off + int64(in.Off)); ok {
				*dst = s.stack[i]
			}
		}
	case class == 0x3 || class == 0x2: // STX, ST
		f.store(s, in.Code, s.regs[in.Dst%11], int64(in.Off), sizes[in.Code&0x18], s.regs[in.Src%11], class)
	case in.Code == call:
		f.call(pc, s)
	case class == 0x4 || class == 0x7 || class == 0x0: // other arithmetic and loads
		*dst = value{}
	}
}

func add(a, b value) value {
	if a.kind == number {
		a, b = b, a
	}
	if b.kind != number || a.kind == unknown || a.kind == context {
		return value{}
	}
	a.off += b.off
	a.proved = a.proved || b.proved
	return a
}

func (f *finder) store(s *state, code uint8, to value, off int64, size int, v value, class uint8) {
	if to.kind != frame {
		return
	}
	first, last := to.off+off, to.off+off+int64(max(size, 1))-1
	for at := first &^ 7; at <= last; at += 8 {
		if i, ok := slotOf(at); ok {
			s.stack[i] = value{}
		}
	}
	if i, ok := slotOf(first); ok && size == 8 && class == 0x3 && code&0xe0 == 0x60 {
		s.stack[i] = v
	}
}

func (f *finder) call(pc int, s *state) {
	in := f.p.Insns[pc]
	r := s.regs
	for i := range 6 {
		s.regs[i] = value{}
	}
	if in.Src != 0 {
		s.stack = [slots]value{} // a function may be given any of it
		return
	}
	size := 0
	if r[2].kind == number && r[2].off > 0 && r[2].off < 1<<20 {
		size = int(r[2].off)
	}
	switch id := uapi.FuncID(in.Imm); id {
	case uapi.FuncGetCurrentTask, uapi.FuncGetCurrentTaskBtf:
		if task, ok := f.spec.FindID(btf.KindStruct, "task_struct"); ok {
			s.regs[0] = value{kind: pointer, typ: task}
		}
		return
	case uapi.FuncProbeRead, uapi.FuncProbeReadKernel, uapi.FuncProbeReadStr, uapi.FuncProbeReadKernelStr:
		src := r[3]
		str := id == uapi.FuncProbeReadStr || id == uapi.FuncProbeReadKernelStr
		f.forget(s, r)
		if src.kind != pointer {
			return
		}
		n := size
		if str {
			n = 0
		}
		f.note(pc, src, src.off, n, false, "BPF_CORE_READ, or bpf_core_read of the field's address")
		if i, ok := slotOf(r[1].off); ok && r[1].kind == frame && !str {
			s.stack[i] = f.fieldPointer(src, src.off, size)
		}
		return
	}
	f.forget(s, r)
}

// forget drops what a helper may have written on the stack.
func (f *finder) forget(s *state, r [11]value) {
	for i := 1; i <= 5; i++ {
		if r[i].kind == frame {
			s.stack = [slots]value{}
		}
	}
}

// maxOffset bounds constants that are taken for offsets.
const maxOffset = 1 << 20

// declared is the object's own declaration of a kernel type.
func (f *finder) declared(typ btf.ID) (*btf.Spec, btf.ID) {
	own := f.l.Object.BTF
	if own == nil {
		return nil, 0
	}
	id, ok := own.FindID(f.spec.Kind(typ), f.spec.Name(typ))
	if !ok {
		return nil, 0
	}
	return own, id
}

// several reports whether a read from the start of a struct is of more than its first field: all of it as the object declares it, or, when the
// object's BTF has no more than the name, a size that no field there has.
func (f *finder) several(typ btf.ID, own *btf.Spec, id btf.ID, size int) bool {
	if size <= f.spec.PointerSize() {
		return false
	}
	if own == nil {
		path, _, _ := f.spec.FieldAt(typ, 0, size)
		return path == ""
	}
	total, err := own.Sizeof(id)
	return err == nil && int64(size) == total && len(own.MustType(id).Members) > 1
}

// note keeps an access that nothing proves.
func (f *finder) note(pc int, v value, off int64, size int, reloc bool, instead string) {
	name := f.spec.Name(v.typ)
	if reloc || v.proved || off < -maxOffset || off > maxOffset || stable[name] {
		return
	}
	total, err := f.spec.Sizeof(v.typ)
	if err != nil {
		return
	}
	a := Access{Program: f.p.Name, Insn: pc, Type: f.spec.TypeString(v.typ), Offset: off, Size: size, Instead: instead}
	n := max(size, 1)
	own, id := f.declared(v.typ)
	switch {
	case off < 0 || off >= total:
		a.Instead = "bpf_core_field_offset or bpf_core_type_size in place of offsetof or sizeof"
	case off == 0 && f.several(v.typ, own, id, size):
		a.Meant, a.Hit = fmt.Sprintf("%d bytes of it", size), fmt.Sprintf("%d of its %d bytes", min(int64(size), total), total)
		a.Instead = "bpf_core_type_size in place of sizeof, and BPF_CORE_READ of the fields that are used"
	default:
		a.Hit, _, _ = f.spec.FieldAt(v.typ, uint32(off), n)
		if own != nil {
			a.Meant, _, _ = own.FieldAt(id, uint32(off), n)
		}
	}
	if line, ok := f.p.LineAt(pc); ok {
		a.Source = line.File + ":" + strconv.Itoa(int(line.Line))
		if text := strings.TrimSpace(line.Text); text != "" {
			a.Source += ": " + text
		}
	}
	f.found[pc] = a
}
