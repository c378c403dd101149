package vm

// Engine runs code faster than the interpreter. It only executes what it is sure of: before an
// instruction whose checks fail, or that it does not know, it returns, and the interpreter
// executes that instruction, so that semantics and faults exist once.
type Engine interface {
	// Name is a short word for reports.
	Name() string
	// Run executes at most limit instructions of t from t.PC() on. It works on t.Regs(), reports progress
	// with t.Advance, and returns at an instruction it leaves to the interpreter.
	Run(t *Thread, limit uint64)
}

// SetEngine makes the thread use e, nil for the interpreter alone.
func (t *Thread) SetEngine(e Engine) { t.engine = e }

// Regs returns the register file for engines; entries 0 to 10 are used.
func (t *Thread) Regs() *[256]uint64 { return &t.regs }

// Advance tells the thread that an engine executed insns instructions of the running function and is at slot pc.
func (t *Thread) Advance(pc int, insns uint64) { t.pc, t.insns = pc, t.insns+insns }
