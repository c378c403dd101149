package loader

import (
	"fmt"

	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Explain explains why a relocation was not resolved, and what the target has instead; it returns
// "" for a resolved relocation. It searches the target's types.
func (l *Linked) Explain(r *Reloc) string {
	if r == nil || r.Relocation == nil || l.Target.BTF == nil {
		return ""
	}
	// A separate resolver, so that explanations neither see nor change the pruning of candidates.
	return corerelo.NewResolver(l.Object.BTF, coreTarget(l.Target)).Explain(r.Relocation)
}

// programSymbols names the objects that a linked program's instructions refer to.
type programSymbols struct{ lp *LinkedProgram }

// Symbols names helpers, maps, variables and functions in the disassembly of the program.
func (lp *LinkedProgram) Symbols() decode.Symbols { return programSymbols{lp} }

// HelperName implements [decode.Symbols].
func (s programSymbols) HelperName(id int32) string {
	if f := uapi.FuncID(id); f.Known() {
		return f.String()
	}
	return ""
}

// RefName implements [decode.Symbols].
func (s programSymbols) RefName(pc int) string {
	ref, ok := s.lp.Refs[pc]
	if !ok {
		if pc < 0 || pc >= len(s.lp.Insns) || s.lp.Insns[pc].Op() != decode.OpCallLocal {
			return ""
		}
		target, _ := s.lp.Insns[pc].Target(pc)
		if f, ok := s.lp.FuncAt(target); ok {
			return f.Name
		}
		return ""
	}
	switch ref.Kind {
	case RefMapValue:
		if v, ok := ref.Map.VarAt(ref.Off); ok && v.Off == ref.Off {
			return v.Name
		}
		return fmt.Sprintf("%s + %d", ref.Map.Name, ref.Off)
	case RefMap, RefInsnArray:
		return ref.Map.Name
	case RefFunc:
		if f, ok := s.lp.FuncAt(ref.Func); ok {
			return f.Name
		}
	}
	return ref.Name
}

// Relocations returns the number of CO-RE records that belong to a function.
func (o *Object) Relocations(fn *Function) int {
	if o.Ext == nil || fn == nil {
		return 0
	}
	n := 0
	for _, sec := range o.Ext.CORE {
		if sec.Name != fn.Section {
			continue
		}
		for _, r := range sec.Records {
			at := int(r.InsnOff / insnSize)
			if at >= fn.SectionOff && at < fn.SectionOff+len(fn.Insns) {
				n++
			}
		}
	}
	return n
}
