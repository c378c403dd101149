package isa

import (
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/jit"
	"github.com/bpfrun/bpfrun/vm"
)

// unwindHelper is the number of the only helper that programs of the public suite call. It ends the
// program if its argument is 0, and otherwise returns it.
const unwindHelper = 5

// Refused is the error for a program that fails the structural checks at load.
type Refused struct{ Err error }

// Error returns the reason.
func (e *Refused) Error() string { return "refused at load: " + e.Err.Error() }

// Unwrap returns the error of the check.
func (e *Refused) Unwrap() error { return e.Err }

// Faulted is the error for a program that was stopped by a fault.
type Faulted struct {
	Kind string // such as "memory" or "budget"
	Outcome
}

// Error returns the reason and the slot.
func (e *Faulted) Error() string {
	return fmt.Sprintf("fault: %s", e.end())
}

// NotSimulated reports whether the program used something that the test environment does not
// implement.
func (e *Faulted) NotSimulated() bool { return e.Kind == vm.NotSimulated.String() }

// RunPlain runs a program of the public suite, with r1 pointing to data and r2 set to its length in
// bytes, and returns all 64 bits of r0. It masks immediate shifts that are out of range and
// implements callx. The error is a *[Refused], a *[Faulted], or a failure to set up the run.
func RunPlain(name string, insns []decode.Insn, data []byte, mode Mode, limit uint64) (uint64, error) {
	if err := decode.Check(insns, decode.CheckConfig{Lenient: true, Helper: func(id int32) bool { return id == unwindHelper }}); err != nil {
		return 0, &Refused{err}
	}
	code, registers := replaceCallX(insns)
	img, err := vm.Lower(vm.LowerConfig{Name: name, Insns: code, Fuse: mode.Fuse, Call: func(pc int, in decode.Insn) (*vm.Func, error) {
		if reg, ok := registers[pc]; ok {
			return &vm.Func{Name: "callx", Fn: callX(reg)}, nil
		}
		if in.Op() == decode.OpCallHelper && in.Imm == unwindHelper {
			return &vm.Func{Name: "unwind", ID: in.Imm, Fn: unwind}, nil
		}
		return nil, errors.New("the public suite has no such function")
	}})
	if err != nil {
		return 0, &Refused{err}
	}
	m, err := mem.New(mem.Config{Size: 1 << 20})
	if err != nil {
		return 0, err
	}
	defer m.Close()
	r, err := m.Alloc(uint64(len(data)), mem.Region{Name: "memory"})
	if err != nil {
		return 0, err
	}
	copy(m.Bytes(r), data)
	t := vm.NewThread(m, vm.ThreadConfig{})
	if mode.Cover {
		t.SetPatches(vm.NewPatches(true))
	}
	if mode.JIT {
		e, err := jit.New(m)
		if err != nil {
			return 0, err
		}
		defer e.Close()
		if mode.Loops {
			e.SetEager(0)
		}
		t.SetEngine(e)
	}
	t.Start(img, r.Base, uint64(len(data)))
	o := run(t, mode.Slice, limit)
	switch o.Fault {
	case "":
		return o.Ret, nil
	case vm.NotSimulated.String():
		if t.Fault().Text == unwound {
			return 0, nil
		}
	}
	return 0, &Faulted{Kind: o.Fault, Outcome: o}
}

// unwound is the text of the fault with which the unwind helper ends a program.
const unwound = "unwound"

func unwind(_ *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
	if args[0] == 0 {
		return 0, vm.FaultAction(&vm.Fault{Kind: vm.NotSimulated, Text: unwound})
	}
	return args[0], nil
}

// replaceCallX replaces calls through registers, which kernels and package vm refuse, by helper
// calls. It returns the registers by slot.
func replaceCallX(insns []decode.Insn) ([]decode.Insn, map[int]int) {
	var code []decode.Insn
	var registers map[int]int
	for pc := 0; pc < len(insns); pc += insns[pc].Len() {
		if insns[pc].Op() != decode.OpCallX {
			continue
		}
		if code == nil {
			code = append(code, insns...)
			registers = map[int]int{}
		}
		code[pc] = decode.OpCallHelper.Encode(0, 0, 0, 0)
		registers[pc] = int(insns[pc].Dst)
	}
	if code == nil {
		return insns, nil
	}
	return code, registers
}

// callX calls the helper whose number is in register reg.
func callX(reg int) vm.HelperFunc {
	return func(t *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
		if id := t.Reg(reg); id != unwindHelper {
			return 0, vm.FaultAction(&vm.Fault{Kind: vm.NotSimulated, Text: fmt.Sprintf("callx to helper %d", id)})
		}
		return unwind(t, args)
	}
}
