package offsets

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/loader"
)

// call applies a call to a state: arguments are lost, the stack may be written, the result may be
// typed.
func (f *finder) call(pc int, in decode.Insn, s *state) {
	var args [6]value
	for n := uint8(1); n <= 5; n++ {
		args[n] = s.regs[n]
	}
	h := helperOf(in)
	if h != nil && h.Effects&proto.Copies != 0 {
		args[3] = f.reg(pc, s, 3)
	}
	f.forget(s, in, in.Info())
	clear(s.regs[:6])
	switch {
	case h != nil:
		f.fill(s, h, args)
		s.regs[0] = f.result(h)
		if h.Effects&proto.Copies != 0 {
			f.copy(pc, s, h, args)
		}
	default:
		for _, a := range args {
			if a.kind == frame {
				s.stack = [slots]value{} // a function may get a pointer to any of it
			}
		}
		if in.Op() == decode.OpCallKfunc {
			s.regs[0] = f.kfunc(pc, args)
		}
	}
}

// constant returns the number a value is known to be, otherwise -1.
func constant(v value) int64 {
	if v.kind != number || v.off < 0 {
		return -1
	}
	return v.off
}

// fill forgets the stack that a helper may have written, by its prototype.
func (f *finder) fill(s *state, h *proto.Helper, args [6]value) {
	params := h.Common().Args
	for i := range 5 {
		a := args[i+1]
		if a.kind != frame || i < len(params) && !h.Fills(i) {
			continue
		}
		size := int64(-1)
		if i < len(params) {
			switch params[i].Kind {
			case proto.FixedMem:
				size = int64(params[i].Size)
			case proto.Mem:
				size = constant(args[min(i+2, 5)])
			}
		}
		if size < 0 {
			size = 8*slots + 1 // the whole stack
		}
		s.clear(a.off, size)
	}
}

// result returns a helper's result by its prototype for this program.
func (f *finder) result(h *proto.Helper) value {
	p := h.For(f.release, f.caller)
	if p == nil {
		p = h.Common()
	}
	switch {
	case h.Address != "":
		return f.structNamed(h.Address)
	case p.Ret.Typed() && p.Ret.BTF != "":
		return f.structNamed(p.Ret.BTF)
	}
	return value{}
}

// copy notes what a helper reads from kernel memory, and keeps a pointer that it copies to the
// stack.
func (f *finder) copy(pc int, s *state, h *proto.Helper, args [6]value) {
	src := args[3]
	user := h.Effects&proto.CopiesUser != 0 // a struct of that name may then be user space's
	if src.kind != pointer && (src.kind != cast || user) {
		return
	}
	size := int(min(max(constant(args[2]), 0), maxOffset))
	if h.Effects&proto.CopiesString != 0 {
		size = 0
	}
	f.note(pc, src, src.off, size, false, "BPF_CORE_READ, or bpf_core_read of the field's address")
	if args[1].kind == frame && size == 8 {
		s.put(args[1].off, size, f.fieldPointer(src, src.off, size))
	}
}

// kfunc returns a kernel function's result by its BTF; for bpf_rdonly_cast it is the requested
// type.
func (f *finder) kfunc(pc int, args [6]value) value {
	ref, ok := f.p.Refs[pc]
	if !ok || ref.Kind != loader.RefKfunc || !ref.Resolved {
		return value{}
	}
	if btf.EssentialName(ref.Name) == "bpf_rdonly_cast" {
		id := constant(args[2])
		if id <= 0 || id >= int64(f.spec.NumTypes()) {
			return value{}
		}
		if t := f.spec.SkipMods(btf.ID(id)); t.Kind.IsComposite() && t.Name != "" {
			return value{kind: pointer, typ: t.ID}
		}
		return value{}
	}
	fn, ok := f.spec.Find(btf.KindFunc, btf.EssentialName(ref.Name))
	if !ok {
		return value{}
	}
	_, result := f.params(fn)
	return f.pointee(result)
}
