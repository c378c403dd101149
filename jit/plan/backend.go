package plan

// Backend is what a processor's part of a compilation generates; which way code takes, [Emission] decides. There is Room for MaxPiece bytes
// whenever a method is called; instructions that are not named are those of Emission.PC. Places are offsets in the code.
type Backend interface {
	// Begin generates what stands before the program, the code of Enter first, and sets Emission.Leaving.
	Begin()
	// Align fills up to where a loop should begin.
	Align()
	// MarkByte sets the byte after the State with a number. What a comparison found stays.
	MarkByte(n int32)

	// Insn generates an instruction that computes, loads or stores by the rule of its op, or says that there is none.
	Insn(in *Insn) bool
	// Inline generates a KindCallInline after the test whether it may, with all that it charges.
	Inline(in *Insn)
	// Pair generates an instruction with FlagPair and the next as one, or says that it does not. Nothing is charged.
	Pair(in, next *Insn) bool
	// Remainder generates instructions with FlagRemainder as one, or says that it does not. Nothing is charged.
	Remainder(in *Insn) bool

	BackendJumps
	BackendControl
	BackendChecks
}

// BackendJumps are jumps. Those that lead forward return where they stand.
type BackendJumps interface {
	// Jump and JumpIf jump forward, however far; Land makes them lead to here, Patch to a place.
	Jump() (from int32)
	JumpIf(c Cond) (from int32)
	Land(from int32)
	Patch(from, to int32)
	// JumpBack and JumpBackIf jump to a place before.
	JumpBack(to int32)
	JumpBackIf(c Cond, to int32)
	// Skip jumps forward over little code, which ends at EndSkip.
	Skip(c Cond) (from int32)
	EndSkip(from int32)
}

// BackendControl is what instructions that change the flow of control are made of.
type BackendControl interface {
	// Compare compares what a branch does.
	Compare(in *Insn, br *Branch)
	// SelectResult computes what an operation would leave in its register, out of the way of it and of what Compare reads. After the comparison Select
	// moves it to the register if the condition holds, and takes one or the other number from State.Room.
	SelectResult(op *Insn)
	Select(op *Insn, c Cond, charge, otherwise int32)

	// Charge takes n from State.Room, or gives it back if n is negative; Spend does and compares what is left with 0.
	Charge(n int32)
	Spend(n int32)
	// SetExit puts what State.Exit becomes where the code at Emission.Leaving expects it.
	SetExit(exit uint64)

	// CountMay counts a pass of may_goto: Less holds if there is none left. KeepMay stores the count.
	CountMay()
	KeepMay()

	// TestFrame compares the Host of the frame that a call enters with 0. Call and Return do what is left to do when registers are saved and restored.
	TestFrame(in *Insn)
	SaveReg(r uint8)
	Call(in *Insn)
	// TestReturn compares the Ret of the running function's frame with 0.
	TestReturn()
	RestoreReg(r uint8)
	Return(in *Insn)

	// TestShut compares State.Shut with 0.
	TestShut()
}

// BackendChecks is what checks of ranges are made of.
type BackendChecks interface {
	// CellOffset computes what the cell of a check tells of its base, of the arena what ArenaOffset does.
	CellOffset(in *Insn)
	ArenaOffset(in *Insn)
	// TestAligned compares what either computed, modulo a power of two, with 0.
	TestAligned(size uint8)
	// CompareCell compares it with the cell's Count, CompareLimit with State.Limit.
	CompareCell(in *Insn)
	CompareLimit()
	// CompareShadow compares the shadow of 1<<log granules from there with 0.
	CompareShadow(log int)
	// SetBound sets the cell's Bound; CompareBound compares a register with it.
	SetBound(in *Insn)
	CompareBound(in *Insn)

	// Exact makes the exact test of a range; SkipIfExact skips if the result is want, and JumpBackIfExact jumps to a place if the range is accessible, or
	// says that there is no such jump.
	Exact(in *Insn, stores int)
	SkipIfExact(want bool) (from int32)
	JumpBackIfExact(to int32) bool
	// TakeCredit takes 1 from the cell's Credit and jumps to a place if there was some.
	TakeCredit(in *Insn, to int32)
	// FillCell sets the cell to the run around the range; BackOff sets its Credit and Backoff.
	FillCell(in *Insn)
	BackOff(in *Insn)
	// Far jumps to a place before without a look at how near it is.
	Far(to int32)
}
