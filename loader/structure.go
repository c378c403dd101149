package loader

import (
	"errors"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// checkStructure applies the kernel's structural checks to the linked program.
func (l *loading) checkStructure(lp *LinkedProgram) *Error {
	cfg := decode.CheckConfig{Kernel: decode.Version(l.t.Version), PrivateStack: l.privateStack(lp), Walked: l.t.Version != 0 && since.Verified(uapi.ReleaseOf(l.t.Version))}
	if lp.ExceptionCallback > 0 {
		cfg.Entries = append(cfg.Entries, lp.ExceptionCallback)
	}
	for _, m := range lp.JumpTables {
		for _, pc := range m.Slots {
			cfg.JumpTargets = append(cfg.JumpTargets, int(pc))
		}
	}
	err := decode.Check(lp.Insns, cfg)
	var ce *decode.CheckError
	if err == nil {
		return nil
	}
	if !errors.As(err, &ce) {
		return l.progError(lp, &Error{Insn: -1, Err: because(ErrInstruction, err)})
	}
	kind := ErrInstruction
	if errors.Is(ce, decode.ErrNewerKernel) {
		kind = ErrUnknownToTarget
	}
	e := l.progError(lp, &Error{Insn: ce.Insn, Err: because(kind, ce.Kind), Detail: ce.Detail, Source: l.sourceAt(lp, ce.Insn)})
	if kind == ErrUnknownToTarget {
		if text := withoutInsn(lp.Insns[ce.Insn]); text != "" {
			e.hint("%s", text)
		}
	}
	return e
}

// privateStack reports whether each function has its own stack.
func (l *loading) privateStack(lp *LinkedProgram) bool {
	return progtype.Of(lp.Type).HasPrivateStack(since.Of(l.t.Version).Has, l.t.Arch, lp.Attach)
}
