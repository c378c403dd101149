package verifier

// Slot types.
const (
	slotInvalid = iota
	slotSpill
	slotMisc
	slotZero
	slotDynptr
	slotIter
	slotIRQ
	slotPoison
)

// slot is eight bytes of a stack.
type slot struct {
	reg reg
	t   [8]uint8
}

func (s *slot) isSpill() bool       { return s.t[7] == slotSpill }
func (s *slot) isScalarSpill() bool { return s.t[7] == slotSpill && s.reg.typ == scalar }
func (s *slot) isSpecial() bool {
	switch s.t[7] {
	case slotSpill, slotDynptr, slotIter, slotIRQ:
		return true
	}
	return false
}

// retRange is what a callback may return.
type retRange struct{ min, max int32 }

// frame is a function call on the simulated stack.
type frame struct {
	regs  [11]reg
	stack []slot

	callsite      int // instruction of the call, mainFunc without
	no            int
	sub           int
	asyncEntry    int
	callbackDepth int
	callbackRet   retRange
	inCallback    bool
	inAsync       bool
	inException   bool

	refs []ref // releases before 6.14
}

// mainFunc is the call site of a function that nobody calls.
const mainFunc = -1

const (
	refPtr = iota
	refIRQ
	refLock
	refResLock
	refResLockIRQ
)

// ref is a resource that must be given back.
type ref struct {
	kind uint8
	id   uint32
	insn int
	// callback is the frame of the callback that acquired it; releases before 6.14.
	callback int
	lock     lockKey // locks: the map or the type the lock is in
}

// lockKey names the allocation a lock is in: a map or the BTF of an object.
type lockKey struct {
	mapp uint16
	spec uint8
}

// hist is an instruction of the path, kept for backtracking; the list ends at the state's first instruction.
type hist struct {
	prev         *hist
	idx, prevIdx int32
	count        int32
	flags        uint8
	spi, fr      uint8
	linked       []linkedReg
}

const (
	histStack = 1 << iota
	histSrcStack
	histDstStack
)

type linkedReg struct {
	frame, index uint8
	isReg        bool
}

// state is everything known at an instruction.
type state struct {
	frames   [8]*frame
	curFrame int

	parent    *state
	branches  int
	insn      int
	first     int
	last      int
	hist      *hist
	dfsDepth  int
	unroll    int // callback_unroll_depth
	mayGoto   int
	sleepable bool

	refs       []ref
	lock       lockKey // the lock that is held; 0 if none
	lockID     uint32
	locks      int // from 6.14: number of locks
	irqID      uint32
	rcu        int
	preempt    int
	usedAsLoop bool
	loopEntry  *state
	equal      *state // backedges: the state it is equal to
	// Lists of explored states.
	next         *state
	misses, hits int
	inFree       bool
}

func (s *state) frame() *frame  { return s.frames[s.curFrame] }
func (s *state) regs() *[11]reg { return &s.frames[s.curFrame].regs }

// at is the instruction at which a frame is.
func (s *state) at(fr int) int {
	if fr == s.curFrame {
		return s.insn
	}
	return s.frames[fr+1].callsite
}

// eachReg visits registers and spilled registers of all frames; other slots if their type is in mask.
func (s *state) eachReg(mask uint, f func(r *reg)) {
	for i := 0; i <= s.curFrame; i++ {
		fr := s.frames[i]
		for j := range fr.regs {
			f(&fr.regs[j])
		}
		for j := range fr.stack {
			if mask>>fr.stack[j].t[7]&1 != 0 {
				f(&fr.stack[j].reg)
			}
		}
	}
}

const spillMask = 1 << slotSpill

func (e *env) newFrame() *frame {
	if n := len(e.freeFrames); n > 0 {
		f := e.freeFrames[n-1]
		e.freeFrames = e.freeFrames[:n-1]
		return f
	}
	e.took(int64(frameBytes))
	return new(frame)
}

func (e *env) freeFrame(f *frame) {
	if f != nil {
		e.freeFrames = append(e.freeFrames, f)
	}
}

func (e *env) newState() *state {
	if n := len(e.freeStates); n > 0 {
		s := e.freeStates[n-1]
		e.freeStates = e.freeStates[:n-1]
		*s = state{refs: s.refs[:0]}
		return s
	}
	e.took(int64(stateBytes))
	return new(state)
}

func (e *env) freeState(s *state) {
	for i, f := range s.frames {
		e.freeFrame(f)
		s.frames[i] = nil
	}
	s.hist, s.parent, s.loopEntry, s.equal = nil, nil, nil, nil
	e.freeStates = append(e.freeStates, s)
}

func (e *env) copyFrame(dst, src *frame) {
	stack, refs := dst.stack, dst.refs
	*dst = *src
	if cap(stack) < len(src.stack) {
		e.took(int64(len(src.stack)-cap(stack)) * slotBytes)
		stack = make([]slot, len(src.stack))
	}
	dst.stack = stack[:len(src.stack)]
	copy(dst.stack, src.stack)
	dst.refs = append(refs[:0], src.refs...)
}

// copyState makes dst equal to src; dst keeps its place in lists.
func (e *env) copyState(dst, src *state) {
	for i := src.curFrame + 1; i < len(dst.frames); i++ {
		if dst.frames[i] != nil {
			e.freeFrame(dst.frames[i])
			dst.frames[i] = nil
		}
	}
	frames, refs := dst.frames, append(dst.refs[:0], src.refs...)
	next, misses, hits, inFree := dst.next, dst.misses, dst.hits, dst.inFree
	*dst = *src
	dst.frames, dst.refs = frames, refs
	dst.next, dst.misses, dst.hits, dst.inFree = next, misses, hits, inFree
	dst.equal = nil
	for i := 0; i <= src.curFrame; i++ {
		if dst.frames[i] == nil {
			dst.frames[i] = e.newFrame()
		}
		e.copyFrame(dst.frames[i], src.frames[i])
	}
}

// growStack makes the stack of f at least size bytes deep.
func (e *env) growStack(f *frame, size int) {
	n := (size + 7) / 8
	if n <= len(f.stack) {
		return
	}
	if n <= cap(f.stack) {
		old := len(f.stack)
		f.stack = f.stack[:n]
		clear(f.stack[old:])
	} else {
		e.took(int64(n) * slotBytes)
		s := make([]slot, n, max(n, min(2*n, 64)))
		copy(s, f.stack)
		f.stack = s
	}
	sub := &e.subs[f.sub]
	sub.stackDepth = max(sub.stackDepth, n*8)
}

// initFrame prepares a frame for a function.
func (e *env) initFrame(f *frame, callsite, no, sub int) {
	stack, refs := f.stack[:0], f.refs[:0]
	*f = frame{callsite: callsite, no: no, sub: sub, stack: stack, refs: refs}
	for i := range f.regs {
		f.regs[i].notInit()
	}
	f.regs[10].pointer(ptrStack)
	f.regs[10].frame = uint8(no)
}

// funcOf is the frame a stack pointer points into.
func (e *env) funcOf(r *reg) *frame { return e.cur.frames[r.frame] }
