package machine

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// takesLock reports whether a program calls bpf_spin_lock or bpf_res_spin_lock.
func takesLock(lp *loader.LinkedProgram) bool {
	for pc, in := range lp.Insns {
		switch in.Op() {
		case decode.OpCallHelper:
			if uapi.FuncID(in.Imm) == uapi.FuncSpinLock {
				return true
			}
		case decode.OpCallKfunc:
			if strings.HasPrefix(lp.Refs[pc].Name, resSpinLock) {
				return true
			}
		}
	}
	return false
}

// resSpinLock is the prefix of the kfuncs that take a bpf_res_spin_lock.
const resSpinLock = "bpf_res_spin_lock"

// locksSpin reports whether a function takes the lock in its first argument.
func locksSpin(f *vm.Func) bool {
	if f.Kfunc {
		return strings.HasPrefix(f.Name, resSpinLock)
	}
	return uapi.FuncID(f.ID) == uapi.FuncSpinLock
}

// underLock makes a call under a spin lock a fault, unless the kernel allows it there (verifier.c
// do_check).
func (acc *accounts) underLock(p *program, pc int, f vm.Func) vm.HelperFunc {
	permitted := false
	if f.Kfunc {
		if k, ok := proto.LookupKfunc(btf.EssentialName(p.lp.Refs[pc].Name)); ok {
			permitted = k.InLock(acc.release)
		}
	} else if h, ok := proto.Lookup(uapi.FuncID(f.ID)); ok {
		permitted = h.InLock(acc.release)
	}
	if permitted {
		return f.Fn
	}
	text := fmt.Sprintf("%s is called while the program holds a spin lock, where the kernel permits only bpf_spin_unlock and a few kfuncs: unlock first", f.Name)
	return func(t *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
		if acc.env.Run != nil && acc.env.Run.Held.Locked() {
			return 0, vm.FaultAction(&vm.Fault{Kind: vm.BadArgument, Text: text})
		}
		return f.Fn(t, args)
	}
}
