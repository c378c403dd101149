package loader

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/progtype"
	"github.com/bpfrun/bpfrun/uapi"
)

// typeHint tells how to name the type of a program whose section says none: types whose context the function takes, and
// under which the kernel permits what the program calls.
func (l *loading) typeHint(lp *LinkedProgram) string {
	fit := l.fittingTypes(lp)
	if len(fit) == 0 {
		return fmt.Sprintf("name the program's type: --type %s=TYPE", lp.Name)
	}
	hint := fmt.Sprintf("name the program's type, as in --type %s=%s", lp.Name, fit[0])
	if others := fit[1:min(len(fit), 4)]; len(others) > 0 {
		hint += " (or " + strings.Join(others, ", ") + ")"
	}
	return hint
}

// fittingTypes lists the program types that fit a program, the most usual of the context first.
func (l *loading) fittingTypes(lp *LinkedProgram) []string {
	context := l.o.contextName(lp.FuncType)
	if context == "" {
		return nil
	}
	var fit []string
	unknown := lp.Program
	defer func() { lp.Program = unknown }()
	for _, r := range progtype.All() {
		if r.Context.User != context {
			continue
		}
		p := *unknown
		p.Type, p.Attach, p.Known = r.Type, r.Attach, true
		lp.Program = &p
		if l.checkRules(lp) == nil && !l.readsPacketUnduly(lp, r) {
			fit = append(fit, r.Type.String())
		}
	}
	return fit
}

// contextName is the name of the struct the program's first argument points to.
func (o *Object) contextName(fn btf.ID) string {
	if o.BTF == nil || fn == 0 {
		return ""
	}
	t, err := o.BTF.Type(fn)
	if err != nil || t.Kind != btf.KindFunc {
		return ""
	}
	proto := o.BTF.SkipMods(t.Ref)
	if proto.Kind != btf.KindFuncProto || len(proto.Params) == 0 {
		return ""
	}
	ptr := o.BTF.SkipMods(proto.Params[0].Type)
	if ptr.Kind != btf.KindPtr {
		return ""
	}
	return o.BTF.SkipMods(ptr.Ref).Name
}

// readsPacketUnduly reports whether the program loads a pointer to the packet from an __sk_buff, which types without direct packet access
// may not.
func (l *loading) readsPacketUnduly(lp *LinkedProgram, r *progtype.Row) bool {
	if r.Packet != progtype.NoPacket || r.Context.User != "__sk_buff" {
		return false
	}
	ctx := map[uint8]bool{1: true} // registers that hold the context, in straight order
	for _, in := range lp.Insns {
		switch op := in.Op(); {
		case op == decode.OpMov64Reg && ctx[in.Src]:
			ctx[in.Dst] = true
		case op == decode.OpLdxW && ctx[in.Src]:
			if f := r.Context.FieldAt(uapi.ReleaseOf(l.t.Version), int(in.Off)); f != nil && (f.Name == "data" || f.Name == "data_end") {
				return true
			}
		}
	}
	return false
}
