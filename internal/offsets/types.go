package offsets

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/debug/scopes"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/loader"
)

// specOf returns the BTF of a program's hook: a module's, which continues the kernel's, or the
// kernel's.
func specOf(l *loader.Linked, p *loader.LinkedProgram) *btf.Spec {
	for i := range l.Target.Modules {
		if m := &l.Target.Modules[i]; m.Name == p.AttachModule && m.BTF != nil {
			return m.BTF
		}
	}
	return l.Target.BTF
}

// entry returns the value of r1 when a program starts.
func (f *finder) entry() value {
	if f.args = f.arguments(); f.args != nil {
		return value{kind: context}
	}
	if f.registers = f.argumentRegisters(); f.registers != nil {
		return value{kind: regs}
	}
	return value{}
}

// arguments returns the types of the hook's arguments by BTF; nil when the context is not an array
// of arguments.
func (f *finder) arguments() []btf.ID {
	id := f.p.AttachID
	if id == 0 || f.probe() {
		return nil
	}
	t := f.spec.SkipMods(id)
	skip := 0
	if f.spec.Kind(id) == btf.KindTypedef && t.Kind == btf.KindPtr { // btf_trace_NAME
		t, skip = f.spec.SkipMods(t.Ref), 1
	}
	args, _ := f.params(t)
	if len(args) < skip {
		return nil
	}
	return args[skip:]
}

// params returns the types of a function's parameters and result; nil when t is not a function.
func (f *finder) params(t *btf.Type) (args []btf.ID, result btf.ID) {
	if t.Kind == btf.KindFunc {
		t = f.spec.MustType(t.Ref)
	}
	if t.Kind != btf.KindFuncProto {
		return nil, 0
	}
	args = []btf.ID{}
	for _, p := range t.Params {
		args = append(args, p.Type)
	}
	return args, t.Ref
}

// probe reports whether the program's context is the registers at a probe of a kernel function.
func (f *finder) probe() bool { return progtype.Of(f.p.Type).Context.Layout == progtype.RegsLayout }

// argumentRegisters returns the types of the registers of a kprobe by their offset in struct
// pt_regs; nil when BTF does not have the function.
func (f *finder) argumentRegisters() map[int64]btf.ID {
	section, _ := progtype.ParseSection(f.p.Section)
	if !f.probe() || section == nil || section.Flags&(progtype.User|progtype.Pattern) != 0 || f.p.AttachTo == "" {
		return nil
	}
	name, _, _ := strings.Cut(f.p.AttachTo, "+")
	fn, ok := f.spec.Find(btf.KindFunc, name)
	frame, found := f.spec.FindID(btf.KindStruct, "pt_regs")
	if !ok || !found || name != f.p.AttachTo {
		return nil
	}
	types, result := f.params(fn)
	registers, ret := hook.ArgumentRegisters(f.l.Target.Arch)
	if section.Flags&progtype.AtReturn != 0 {
		types, registers = []btf.ID{result}, []string{ret}
	}
	out := map[int64]btf.ID{}
	for i, typ := range types {
		if t := f.spec.SkipMods(typ); i >= len(registers) || t.Kind.IsComposite() {
			break // a struct passed by value takes an unknown number of registers
		}
		for _, path := range strings.Split(registers[i], "|") {
			if x, err := f.spec.ResolvePath(frame, path); err == nil {
				out[int64(x.Offset())] = typ
				break
			}
		}
	}
	return out
}

// pointee returns a value for a pointer to a struct or union, and unknown for other types.
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

// structNamed returns a pointer to the named kernel struct.
func (f *finder) structNamed(name string) value {
	if id, ok := f.spec.FindID(btf.KindStruct, name); ok {
		return value{kind: pointer, typ: id}
	}
	return value{}
}

// fieldPointer returns the value loaded from a pointer field.
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

// variables is the DWARF of an object, read on first use.
type variables struct {
	object *loader.Object
	info   *scopes.Info
	read   bool
}

func (v *variables) get() *scopes.Info {
	if !v.read {
		v.read = true
		v.info, _ = scopes.Read(v.object.ELF()) // damaged DWARF counts as none
	}
	return v.info
}

// castTo returns what DWARF says about a register of unknown value: a pointer when a variable in it
// points to a kernel struct.
func (f *finder) castTo(pc int, reg uint8) value {
	if !f.reads {
		return value{}
	}
	fn, ok := f.p.FuncAt(pc)
	info := f.dwarf.get()
	if !ok || info == nil {
		return value{}
	}
	base, ok := info.Sections[fn.Function.Section]
	if !ok {
		return value{}
	}
	addr := base + 8*uint64(fn.Function.SectionOff+pc-fn.Start)
	out := value{}
	info.InRegister(addr, int(reg), func(x *scopes.Variable) bool {
		if v := f.kernelStruct(info.Spec, x.Type); v.kind == cast {
			out = v
			return false
		}
		return true
	})
	return out
}

// kernelStruct returns a pointer to the kernel struct named like the pointee in the object's DWARF.
func (f *finder) kernelStruct(own *btf.Spec, id btf.ID) value {
	t := own.SkipMods(id)
	if t.Kind != btf.KindPtr {
		return value{}
	}
	to := own.SkipMods(t.Ref)
	if !to.Kind.IsComposite() || to.Name == "" {
		return value{}
	}
	typ, ok := f.spec.FindID(to.Kind, btf.EssentialName(to.Name))
	if !ok {
		return value{}
	}
	return value{kind: cast, typ: typ}
}
