package plan

// Target is what generated code may take as constant: it is compiled for one Memory, and lies after its State.
type Target struct {
	Base        uint64 // guest address of the arena
	ShadowDelta int64  // what to add to State.Data for the shadow of the arena's first byte; negative
	// StateDelta is what to add to the address of Code.Text[0] for the address of State; negative, and a multiple of the page size.
	StateDelta int64
	// Marks makes the code record which blocks it runs to their end: at Insn.Mark it sets the byte after the State with that number.
	Marks bool
	// Ways, with Marks, makes it record which ways of branches it goes, where Insn.Flags say so: it sets the bytes after those of the
	// blocks, first those of branches taken, then those of branches that fell through, with the number Insn.Mark.
	Ways bool
	// Known, if it is not nil, has by the number of each of these bytes whether the code may leave it alone: 1 for those that need not be set.
	Known []byte
}

// records reports whether code sets byte n.
func (t *Target) records(n int32) bool { return t.Known == nil || t.Known[n] == 0 }

// Code is what a backend makes. The slices keep their memory when a Code is used again.
type Code struct {
	// Text is the machine code. What Enter calls is Text[0].
	Text []byte
	// Entries holds the offset in Text where Program.Insns[i] is entered, 0 for those without FlagEntry.
	Entries []uint32
	// Starts holds the offset of the code of Program.Insns[i], for disassembly; code from Cold on stands out of line.
	Starts []uint32
	Cold   uint32
}

// Reset makes c ready for a program of n Insns.
func (c *Code) Reset(n int) {
	c.Text, c.Cold = c.Text[:0], 0
	if cap(c.Entries) < n {
		c.Entries, c.Starts = make([]uint32, n), make([]uint32, n)
	}
	c.Entries, c.Starts = c.Entries[:n], c.Starts[:n]
	clear(c.Entries)
	clear(c.Starts)
}
