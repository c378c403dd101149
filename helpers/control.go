package helpers

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var controlHelpers = []row{
	{ID: uapi.FuncTailCall, Do: onPrograms(tailCall)},
	{ID: uapi.FuncLoop, Do: loop},
}

// maxLoops is BPF_MAX_LOOPS, the largest iteration count of bpf_loop.
const maxLoops = vm.MaxTurns

// tailCall continues in another program if the slot contains one. The engine counts the chain and
// continues after the call after 33 tail calls (MAX_TAIL_CALL_CNT).
func tailCall(c *Call, progs maps.ProgArray) (uint64, *vm.Action) {
	p, ok := progs.Prog(uint32(c.Args[2]))
	if !ok {
		return errnoRet(uapi.ENOENT), nil
	}
	img, refused := c.tailTarget(p)
	if refused != nil {
		return 0, refused
	}
	return 0, c.Thread.TailCall(img)
}

// loop implements bpf_loop: too many iterations give a zero-extended -E2BIG, because the verifier
// inlines the helper with a 32-bit move (inline_bpf_loop).
func loop(c *Call) (uint64, *vm.Action) {
	if c.Args[3] != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	n := c.Args[0] & 0xffffffff
	if n > maxLoops {
		return uint64(uint32(errnoRet(uapi.E2BIG))), nil
	}
	if n == 0 {
		return 0, nil
	}
	s := loopState{n: n, fn: c.Args[1], ctx: c.Args[2]}
	return 0, c.Thread.Invoke(s.fn, [5]uint64{0, s.ctx}, s)
}

// callbackReturned makes a return value that the verifier does not allow in callbacks a fault.
func callbackReturned(of string, ret uint64) *vm.Action {
	rng, bounded := progtype.CallbackRange(progtype.LoopCallback)
	if !bounded || rng.Contains(ret) {
		return nil
	}
	return vm.FaultAction(&vm.Fault{Kind: vm.BadReturn, Text: fmt.Sprintf("a callback of %s returned %d, but may return only %d to %d", of, int64(ret), rng.Low, rng.High)})
}

// loopState is the state of a bpf_loop between two iterations.
type loopState struct{ n, i, fn, ctx uint64 }

// Resume implements [vm.Continuation].
func (s loopState) Resume(t *vm.Thread, ret uint64) (uint64, *vm.Action) {
	s.i++
	if f := callbackReturned("bpf_loop", ret); f != nil {
		return 0, f
	}
	if ret != 0 || s.i >= s.n {
		return s.i, nil
	}
	return 0, t.Invoke(s.fn, [5]uint64{s.i, s.ctx}, s)
}

// Turns implements [vm.Turner].
func (s loopState) Turns() (vm.Turns, bool) {
	return vm.Turns{Entry: s.fn, I: s.i, N: s.n, Ctx: s.ctx}, true
}

// At implements [vm.Turner].
func (s loopState) At(at vm.Turns) vm.Continuation {
	return loopState{n: at.N, i: at.I, fn: at.Entry, ctx: at.Ctx}
}

// LoopTurner is the continuation of a bpf_loop that an engine began.
func LoopTurner() vm.Turner { return loopState{} }
