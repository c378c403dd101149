//go:build linux && (amd64 || arm64)

package jit

import (
	"slices"

	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

// turn is a call of a helper that calls a function again and again. Code makes these calls, one
// after the other, in the frame after that of the function that called the helper. Where code
// leaves inside the function, the frame of the thread gets the helper's continuation, so that the
// interpreter can go on; where the interpreter leaves the function to code again, rejoin turns the
// continuation back into a frame.
type turn struct {
	slot   int
	entry  uint64    // of the function
	ret    uint32    // offset in the code where the function returns
	turner vm.Turner // of loops that code begins itself, nil for others
}

// helperCalls is set in code.saves for the slot after such a call.
const helperCalls = 1 << 7

// turnsOf lists the calls of a program.
func turnsOf(p *plan.Program, out *plan.Code, saves []uint8) []turn {
	var turns []turn
	for _, t := range out.Turns {
		f := p.Inline(&p.Insns[t.Slot])
		saves[t.Slot+1] |= helperCalls
		turns = append(turns, turn{slot: int(t.Slot), entry: f.Entry, ret: t.Return, turner: f.Turner})
	}
	return turns
}

// turnAt returns the call at a slot, or nil.
func (c *code) turnAt(slot int) *turn {
	i, ok := slices.BinarySearchFunc(c.turns, slot, func(t turn, slot int) int { return t.slot - slot })
	if !ok {
		return nil
	}
	return &c.turns[i]
}

// continuation returns that of the helper called at a slot, which called the function in a frame.
func (e *Engine) continuation(c *code, slot, frame int) vm.Continuation {
	call, s := c.turnAt(slot), c.state.Frame(frame).Turns()
	at := vm.Turns{Entry: call.entry, I: s.I, N: s.N, Ctx: s.Ctx, Map: s.Map, Key: s.Key, Value: s.Value, Stride: s.Stride}
	if call.turner != nil {
		return call.turner.At(at)
	}
	return e.began.At(at) // Go began it, so rejoin made the frame
}

// rejoin sets up the state for the running function if a helper called it, with a frame for the
// function that called the helper, so that code continues with the helper's next calls. It returns
// nil if that is not possible.
func (e *Engine) rejoin(t *vm.Thread) *code {
	helper, ret, saved := t.Turner()
	if helper == nil {
		return nil
	}
	s, ok := helper.Turns()
	if !ok || t.StackEnd() == 0 {
		return nil
	}
	may := t.MayGoto()
	t.Resume(1)
	c := e.prepare(t)
	callers := t.MayGoto()
	t.Reenter()
	if c == nil {
		return nil
	}
	call := c.turnAt(ret - 1)
	f := c.state.Frame(1)
	if call == nil || call.entry != s.Entry || f.Host == 0 {
		c.thread = nil // the state is that of the caller
		return nil
	}
	f.Return, f.Saved, f.Ret = c.text+uintptr(call.ret), *saved, uint64(ret)
	*f.Turns() = plan.Turns{I: s.I, N: s.N, Ctx: s.Ctx, Map: s.Map, Key: s.Key, Value: s.Value, Stride: s.Stride}
	f.May, c.state.May = callers, may
	e.began = helper
	return c
}
