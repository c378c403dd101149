package debug

import (
	"fmt"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/bpfrun/bpfrun/loader"
)

// returned adds a function's return value to the stop after it: r0 in the function's return type. A
// function that returns nothing leaves an arbitrary value in r0, and so does a static function
// whose result is unused, since compilers drop it; Notes point that out.
func (fr *frames) returned(st *Stop, callee Place) {
	v := fr.Number(fr.m.Thread().Reg(0), false)
	f, ok := callee.Func()
	spec := fr.linked.Object.BTF
	if !ok || f.Type == 0 || spec == nil {
		st.Value = v
		return
	}
	fn, err := spec.Type(f.Type)
	if err != nil {
		st.Value = v
		return
	}
	proto := spec.SkipMods(fn.Ref)
	switch {
	case proto == nil || proto.Kind != btf.KindFuncProto:
		st.Value = v
		return
	case proto.Ref == 0:
		st.Notes = append(st.Notes, fmt.Sprintf("%s returns void.", f.Name))
		return
	case fn.Linkage == btf.LinkageStatic && !fr.callback(callee) && !fr.usesResult(st.Place):
		st.Notes = append(st.Notes, fmt.Sprintf("The caller does not use what %s returns; the compiler may have dropped it (r0 is %s).", f.Name, fr.AddressText(fr.m.Thread().Reg(0))))
		return
	}
	st.Value = v
	if typed, err := fr.Convert(v, expr.Type{Spec: spec, ID: proto.Ref}); err == nil {
		st.Value = typed
	}
}

// callerIsHelper returns the name of the helper that called the selected frame's function, "" if
// none did.
func (fr *frames) callerIsHelper() string {
	frames := fr.m.Thread().Frames()
	if fr.frame+1 >= len(frames) || !frames[fr.frame].Callback {
		return ""
	}
	caller := fr.place(frames[fr.frame+1].Image, frames[fr.frame+1].PC-1)
	if caller.Prog == nil {
		return ""
	}
	return callee(caller.Prog, caller.PC)
}

// callback reports whether a function's address is taken, so that a helper may receive its return
// value.
func (fr *frames) callback(p Place) bool {
	f, _ := p.Func()
	for _, ref := range p.Prog.Refs {
		if ref.Kind == loader.RefFunc && ref.Func == f.Start {
			return true
		}
	}
	return false
}

// usesResult reports whether r0 may be read at or after a place before it is set again. When in
// doubt, it returns true.
func (fr *frames) usesResult(p Place) bool {
	f, ok := p.Func()
	if p.Prog == nil || !ok {
		return true
	}
	seen, todo := map[int]bool{}, []int{p.PC}
	for len(todo) > 0 {
		pc := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		if pc < f.Start || pc >= f.Start+f.Len || pc >= len(p.Prog.Insns) {
			return true
		}
		in := p.Prog.Insns[pc]
		info := in.Info()
		switch {
		case info.Has(decode.FlagExit), readsR0(in, info):
			return true
		case writes(in, info, 0):
			continue
		}
		if target, ok := in.Target(pc); ok && !info.Has(decode.FlagCall) {
			todo = append(todo, target)
			if !info.Has(decode.FlagBranch) { // unconditional
				continue
			}
		}
		todo = append(todo, pc+max(in.Len(), 1))
	}
	return false
}

// readsR0 reports whether an instruction reads r0.
func readsR0(in decode.Insn, info *decode.Info) bool {
	r := info.Reads
	return r&decode.RegDst != 0 && in.Dst == 0 || r&decode.RegSrc != 0 && in.Src == 0 || r&decode.RegR0 != 0
}
