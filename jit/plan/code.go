package plan

// Target holds the constants of generated code, which is compiled for one Memory and placed after
// its State.
type Target struct {
	Base        uint64 // guest address of the arena
	ShadowDelta int64  // offset from State.Data to the shadow of the arena's first byte; negative
	// StateDelta is the offset from Code.Text[0] to State: negative, and a multiple of the page
	// size.
	StateDelta int64
	// Marks makes code record which blocks it runs to their end: at an instruction with Mark it
	// sets byte number Mark after the State.
	Marks bool
	// Ways, which requires Marks, makes code record which edges of branches it follows, where
	// Insn.Flags ask for it. It sets byte number Insn.Mark of two further groups after the bytes of
	// the blocks: taken branches first, then branches that fell through.
	Ways bool
	// Known, if not nil, is 1 for each of these bytes that code does not have to set.
	Known []byte
}

// records reports whether code sets byte n.
func (t *Target) records(n int32) bool { return t.Known == nil || t.Known[n] == 0 }

// Code is the output of a backend. Its slices keep their memory when the Code is reused.
type Code struct {
	// Text is the machine code. Enter calls Text[0].
	Text []byte
	// Entries is the offset in Text at which Program.Insns[i] is entered, 0 without FlagEntry.
	Entries []uint32
	// Starts is the offset of the code of Program.Insns[i], for disassembly. Code from Cold on is
	// out of line.
	Starts []uint32
	Cold   uint32
	// Arrive is the offset in Text at which other programs' tail calls enter.
	Arrive uint32
	// Turns are the calls with FlagTurns.
	Turns []Turn
}

// Turn is a call with FlagTurns: the slot of the call, and the offset in Text at which the function
// that it calls returns.
type Turn struct {
	Slot   int32
	Return uint32
}

// Reset prepares c for a program of n Insns.
func (c *Code) Reset(n int) {
	c.Text, c.Cold, c.Arrive, c.Turns = c.Text[:0], 0, 0, c.Turns[:0]
	if cap(c.Entries) < n {
		c.Entries, c.Starts = make([]uint32, n), make([]uint32, n)
	}
	c.Entries, c.Starts = c.Entries[:n], c.Starts[:n]
	clear(c.Entries)
	clear(c.Starts)
}
