package plan

import "github.com/bpfrun/bpfrun/vm"

// turns generates a call with FlagTurns: the code that begins an InlineLoop, the calls of the
// function, and what follows each of them. Go begins what code does not begin, and continues what
// it does not continue.
func (e *Emission) turns(in *Insn) {
	b, f := e.backend, e.Program.Inline(in)
	executed := in.Count + 1
	if f.Kind == vm.InlineLoop && f.Turner != nil {
		b.TestShut()
		e.CallUnless(Equal)
		b.TestLoop(in, f)
		b.TestFrame(in)
		e.CallUnless(NotEqual)
		b.Spend(executed)
		e.putOff(ColdUndo, SignedLess, in.Slot, executed)
		b.BeginLoop(in, f)
		for i := range uint8(4) {
			if in.Saves>>i&1 != 0 {
				b.SaveReg(6 + i)
			}
		}
		b.SetReturn(in)
	} else {
		e.Leave(CallFunc, in.Slot)
	}
	again := int32(e.code.Len())
	if in.Saves&SavesHost != 0 { // f.Ret and f.Host stay what they were at the first call
		b.TestFrame(in)
	}
	b.Call(in)
	e.Out.Turns = append(e.Out.Turns, Turn{Slot: in.Slot, Return: uint32(e.Returns)})
	b.NextTurn(f)
	last := b.JumpIf(AtLeast)
	b.CompareResult()
	if f.Kind != vm.InlineLoop {
		e.colds = append(e.colds, Cold{Kind: ColdLeave, From: [2]int32{last, b.JumpIf(AtLeast)}, PC: in.Slot, N: int32(Returned)})
		b.BeginTurn(f)
		b.JumpBack(again)
		return
	}
	ended := b.JumpIf(AtLeast)
	b.BeginTurn(f)
	b.JumpBack(again)
	b.Land(last)
	b.CompareResult()
	b.Land(ended)
	e.putOff(ColdLeave, Greater, in.Slot, int32(Returned))
	b.EndLoop()
	b.Charge(in.Next - executed)
}
