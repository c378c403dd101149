package verifier

// Slot types.
const (
	slotInvalid = iota // never written
	slotSpill          // part of a register
	slotMisc           // any byte
	slotZero           // 0
	slotDynptr         // half of a dynptr
	slotIter           // part of an iterator
	slotIRQ            // a saved interrupt flag
	slotPoison         // cleared, because the analysis says that nothing reads it
)

// slot is eight bytes of a stack. Frames share the slots that they have in common: one that several
// refer to is not changed ([frame.own]).
type slot struct {
	reg  reg // its marks of use are those of the frame, uses
	t    [8]uint8
	refs int32 // frames that refer to it; -1: a constant
}

// Slots that many frames have: never written, cleared because nothing reads them any more, and
// poisoned for the same reason.
var (
	blankSlot    = &slot{refs: -1}
	clearedSlot  = func() *slot { s := &slot{refs: -1}; s.reg.notInit(); return s }()
	poisonedSlot = func() *slot {
		s := &slot{refs: -1}
		s.reg.notInit()
		for i := range s.t {
			s.t[i] = slotPoison
		}
		return s
	}()
)

func (s *slot) isSpill() bool       { return s.t[7] == slotSpill }
func (s *slot) isScalarSpill() bool { return s.t[7] == slotSpill && s.reg.typ == scalar }

// isSpecial reports whether the slot is more than its bytes (is_stack_slot_special).
func (s *slot) isSpecial() bool {
	switch s.t[7] {
	case slotSpill, slotDynptr, slotIter, slotIRQ:
		return true
	}
	return false
}

// retRange is the range of values that a callback may return.
type retRange struct{ min, max int32 }

// frame is a function call on the simulated stack.
type frame struct {
	regs  [11]reg
	stack []*slot // read only but for what own returns
	pool  *pool

	// The use of slots in releases before 6.18: marks of each slot, and the frame in the last
	// checkpoint, with the number of slots that it has in common with this one.
	uses   []uint8
	before *frame
	common int

	callsite      int      // instruction of the call, or mainFunc
	no            int      // depth
	sub           int      // function
	asyncEntry    int      // how often asynchronous callbacks were entered (async_entry_cnt)
	callbackDepth int      // how often the current bpf_loop called back (callback_depth)
	callbackRet   retRange // what the callback may return (callback_ret_range)
	inCallback    bool     // returns to a helper or kfunc, and not to the caller
	inAsync       bool     // runs later
	inException   bool     // runs after an exception

	refs []ref // releases before 6.14
}

// mainFunc is the call site of a function without a caller.
const mainFunc = -1

const (
	refPtr        = iota // an object
	refIRQ               // a saved interrupt flag
	refLock              // bpf_spin_lock
	refResLock           // bpf_res_spin_lock
	refResLockIRQ        // the same with interrupts off
)

// ref is a resource that must be released.
type ref struct {
	kind uint8
	id   uint32
	insn int
	// callback is the frame of the callback that acquired it; releases before 6.14.
	callback int
	lock     lockKey // locks: the map or type that contains the lock
}

// lockKey identifies the allocation that contains a lock: a map, or the BTF type of an object.
type lockKey struct {
	mapp uint16
	spec uint8
}

// hist is an instruction of the path, kept for backtracking; the list ends at the state's first
// instruction.
type hist struct {
	prev         *hist
	idx, prevIdx int32
	count        int32
	flags        uint8
	spi, fr      uint8
	linked       []linkedReg
}

const (
	histStack    = 1 << iota // it accessed a slot of a stack, whatever the address register
	histSrcStack             // a comparison, whose second operand is a pointer to a stack
	histDstStack             // or whose first one is
)

// linkedReg is a register or slot that a comparison narrowed with others (struct linked_reg).
type linkedReg struct {
	frame, index uint8
	isReg        bool
}

// state is everything known at an instruction.
type state struct {
	frames   [8]*frame
	curFrame int

	parent    *state // the last checkpoint on the path
	branches  int    // paths from it that are not explored to their ends
	insn      int    // where it is
	first     int    // the first instruction since the parent
	last      int    // the last one before this state
	hist      *hist  // the jumps between
	dfsDepth  int    // how many checkpoints there are before it
	unroll    int    // callback_unroll_depth
	mayGoto   int    // how often may_goto went round (may_goto_depth)
	sleepable bool   // the program may sleep here (in_sleepable)

	refs       []ref   // what must be released, in the order of acquisition
	lock       lockKey // the lock held, 0 if none
	lockID     uint32  // the object that it is in
	locks      int     // from 6.14: number of locks
	irqID      uint32  // the innermost saved interrupt flag
	rcu        int     // depth of RCU read-side sections
	preempt    int     // depth of sections without preemption
	usedAsLoop bool    // it begins a loop, and must stay (used_as_loop_entry)
	loopEntry  *state  // the state that begins the loop that it is in (loop_entry)
	equal      *state  // backedges: the state that it equals
	// Links of lists of explored states.
	next         *state
	misses, hits int
	inFree       bool
}

func (s *state) frame() *frame  { return s.frames[s.curFrame] }
func (s *state) regs() *[11]reg { return &s.frames[s.curFrame].regs }

// at returns the instruction that a frame is at.
func (s *state) at(fr int) int {
	if fr == s.curFrame {
		return s.insn
	}
	return s.frames[fr+1].callsite
}

// eachReg changes the registers and spilled registers of all frames that are chosen, and those of
// other slots whose type is in mask (bpf_for_each_reg_in_vstate_mask).
func (s *state) eachReg(mask uint, chosen func(r *reg) bool, change func(r *reg)) {
	for i := 0; i <= s.curFrame; i++ {
		fr := s.frames[i]
		for j := range fr.regs {
			if r := &fr.regs[j]; chosen(r) {
				change(r)
			}
		}
		for j, sl := range fr.stack {
			if mask>>sl.t[7]&1 != 0 && chosen(&sl.reg) {
				change(&fr.own(j).reg)
			}
		}
	}
}

const spillMask = 1 << slotSpill
