package verifier

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// call checks a call of any kind.
func (e *explorer) call(in *decode.Insn) stepResult {
	e.checkLockedCall(in)
	switch in.Src {
	case 1:
		return e.frames.callFunc(in)
	case 2:
		return e.kfuncs.callKfunc(in)
	}
	return e.helpers.callHelper(in)
}

// checkLockedCall allows few calls while a lock is held (do_check): others might sleep, take
// another lock, or take long. Functions of the program that are explored in place are checked with
// the lock.
func (e *explorer) checkLockedCall(in *decode.Insn) {
	if !e.resources.holdsLock() {
		return
	}
	ok := true
	switch in.Src {
	case 0:
		ok = uapi.FuncID(in.Imm) == uapi.FuncSpinUnlock || e.has(since.XchgUnderLock) && uapi.FuncID(in.Imm) == uapi.FuncKptrXchg
	case 1:
		ok = e.has(since.StaticCallsUnderLock) // static functions
	case 2:
		k := e.kfuncAt(e.insn)
		ok = k != nil && k.allowedLocked(e.rel)
	}
	if !ok {
		e.refuse(refusal.FunctionCallsNotAllowedWhileHolding)
	}
}
