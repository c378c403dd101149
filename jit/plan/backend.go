package plan

// Backend generates code for one processor; [Emission] decides the control flow. Before each call
// there is Room for MaxPiece bytes. Methods without an instruction argument work on the instruction
// at Emission.PC. Positions are offsets in the code.
type Backend interface {
	// Begin generates the code before the program, starting with the target of Enter, and sets
	// Emission.Leaving.
	Begin()
	// Align pads to the alignment of loop headers.
	Align()
	// MarkByte sets byte number n after the State. It keeps the flags of a comparison.
	MarkByte(n int32)

	// Insn generates an instruction that computes, loads or stores by the rule of its op, or
	// reports that there is none.
	Insn(in *Insn) bool
	// Inline generates a KindCallInline, including its charges, after the test whether it may be
	// inlined.
	Inline(in *Insn)
	// Pair generates an instruction with FlagPair and the next one as one, or reports that it does
	// not. It charges nothing.
	Pair(in, next *Insn) bool
	// Remainder generates instructions with FlagRemainder as one, or reports that it does not. It
	// charges nothing.
	Remainder(in *Insn) bool

	BackendJumps
	BackendControl
	BackendTurns
	BackendChecks
}

// BackendJumps are jumps. Those that lead forward return their position.
type BackendJumps interface {
	// Jump and JumpIf jump forward to any distance. Land directs them to the current position,
	// Patch to a given one.
	Jump() (from int32)
	JumpIf(c Cond) (from int32)
	Land(from int32)
	Patch(from, to int32)
	// JumpBack and JumpBackIf jump to an earlier position.
	JumpBack(to int32)
	JumpBackIf(c Cond, to int32)
	// Skip jumps forward over a short piece of code, which ends at EndSkip.
	Skip(c Cond) (from int32)
	EndSkip(from int32)
}

// BackendControl provides the parts of control flow instructions.
type BackendControl interface {
	// Compare makes the comparison of a branch.
	Compare(in *Insn, br *Branch)
	// SelectResult computes the result of an operation without changing its register or the
	// operands of Compare. After the comparison, Select moves the result to the register if the
	// condition holds, and subtracts one of two numbers from State.Room.
	SelectResult(op *Insn)
	Select(op *Insn, c Cond, charge, otherwise int32)

	// Charge subtracts n, which may be negative, from State.Room. Spend also compares the rest with
	// 0.
	Charge(n int32)
	Spend(n int32)
	// SetExit puts the value of State.Exit where the code at Emission.Leaving expects it.
	SetExit(exit uint64)

	// CountMay counts an iteration of may_goto: Less holds if there is none left. KeepMay stores
	// the count.
	CountMay()
	KeepMay()

	// TestFrame compares the Host of the frame that a call enters with 0, and keeps it for Call if
	// Saves has SavesHost. SetReturn sets Ret of that frame. Call and Return do the rest after
	// registers are saved or restored. Call sets Emission.Returns to where the called function
	// returns.
	TestFrame(in *Insn)
	SetReturn(in *Insn)
	SaveReg(r uint8)
	Call(in *Insn)
	// TestReturn compares the Ret of the running function's frame with 0.
	TestReturn()
	RestoreReg(r uint8)
	Return(in *Insn)

	// TestShut compares State.Shut with 0.
	TestShut()

	// TailTarget finds the State that a tail call continues with. It leaves the call to Go if there
	// is none. TestTails compares State.Tails with 0. TailRoom computes the room there, which is
	// State.Room plus n less the target's Slack, and compares it with
	// 0. TailCall continues at the target's State.Arrive, where Arrive takes over.
	TailTarget(f *Inline)
	TestTails()
	TailRoom(n int32)
	TailCall(f *Inline)
	Arrive()
	// TestOver compares State.Over with 0. TailOver executes the call after the last one, which
	// only sets r0.
	TestOver()
	TailOver(f *Inline)
}

// BackendTurns provides the parts of calls with FlagTurns. f is the frame of the function that is
// called.
type BackendTurns interface {
	// TestLoop leaves the call of an InlineLoop to Go unless generated code can begin it. BeginLoop
	// accounts for the call and sets f.Turns and the arguments of the first call.
	TestLoop(in *Insn, f *Inline)
	BeginLoop(in *Insn, f *Inline)
	// CompareResult compares r0 with 1 after the function returned. NextTurn computes the number of
	// the next call, from r1 if that keeps the last one (Inline.KeepsTurn), and compares it with
	// f.Turns.N. BeginTurn sets f.Turns and the arguments of
	// that call, without those that are still in their registers because the function does not
	// write these (Inline.Writes).
	CompareResult()
	NextTurn(f *Inline)
	BeginTurn(f *Inline)
	// EndLoop sets r0 to what NextTurn computed.
	EndLoop()
}

// BackendChecks provides the parts of range checks.
type BackendChecks interface {
	// CellOffset computes the base's offset from the cell's Key; ArenaOffset computes the range's
	// offset in the arena.
	CellOffset(in *Insn)
	ArenaOffset(in *Insn)
	// TestAligned compares the result of either, modulo a power of two, with 0.
	TestAligned(size uint8)
	// CompareCell compares the result with the cell's Count, CompareLimit with State.Limit.
	CompareCell(in *Insn)
	CompareLimit()
	// CompareShadow compares the shadow of 1<<log granules from there with 0.
	CompareShadow(log int)
	// SetBound sets the cell's Bound; CompareBound compares a register with it.
	SetBound(in *Insn)
	CompareBound(in *Insn)

	// Exact makes the exact test of a range. SkipIfExact skips if the result is want.
	// JumpBackIfExact jumps to a position if the range is accessible, or reports that there is no
	// such jump.
	Exact(in *Insn, stores int)
	SkipIfExact(want bool) (from int32)
	JumpBackIfExact(to int32) bool
	// TakeCredit decrements the cell's Credit and jumps to a position if there was some.
	TakeCredit(in *Insn, to int32)
	// FillCell sets the cell to the run around the range; BackOff sets its Credit and Backoff.
	FillCell(in *Insn)
	BackOff(in *Insn)
	// Far jumps to an earlier position, always in the long form.
	Far(to int32)
}
