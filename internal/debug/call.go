package debug

import (
	"strings"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// CallText formats the call at the next instruction with its arguments; "" if it is not a call.
func (na *namer) CallText() string {
	if na.state == Idle {
		return ""
	}
	t := na.m.Thread()
	p := na.place(t.Image(), t.PC())
	if p.Prog == nil || p.PC >= len(p.Prog.Insns) {
		return ""
	}
	name, n := callee(p.Prog, p.PC), 0
	switch in := p.Prog.Insns[p.PC]; in.Op() {
	case decode.OpCallHelper:
		if h, ok := helpers.Lookup(uapi.FuncID(in.Imm)); ok {
			n = h.Params()
		}
	case decode.OpCallKfunc:
		n = na.KfuncArgs(name)
	case decode.OpCallLocal:
		f, ok := Place{p.Prog, p.PC + 1 + int(in.Imm)}.Func()
		if !ok {
			return ""
		}
		name, n = f.Name, na.ProtoArgs(na.linked.Object.BTF, f.Type)
	default:
		return ""
	}
	args := make([]string, n)
	for i := range args {
		args[i] = na.ArgText(t.Reg(i + 1))
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}
