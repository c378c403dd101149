package verifier

import (
	"unsafe"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

const (
	frameBytes = int(unsafe.Sizeof(frame{}))
	stateBytes = int(unsafe.Sizeof(state{}))
	slotBytes  = int64(unsafe.Sizeof(slot{}))

	pointerBytes = int64(unsafe.Sizeof(new(slot)))
)

// pendingState is a path to be explored (struct bpf_verifier_stack_elem).
type pendingState struct {
	st         *state
	insn, prev int
	logPos     int
}

// own returns slot i for changes. A pointer to it is good until the state is copied.
func (f *frame) own(i int) *slot {
	s := f.stack[i]
	if s.refs == 1 {
		return s
	}
	n := f.pool.newSlot()
	*n = *s
	n.refs = 1
	f.pool.dropSlot(s)
	f.stack[i] = n
	return n
}

// replace puts another slot in the place of slot i.
func (f *frame) replace(i int, s *slot) {
	s.share()
	f.pool.dropSlot(f.stack[i])
	f.stack[i] = s
}

// markPrecise marks the number in slot i. On a long way back many states hold the same number, so
// the slot of the later one is shared if it is the same with its mark.
func (f *frame) markPrecise(i int, later *frame) {
	if s := f.stack[i]; s.refs != 1 && later != nil && i < len(later.stack) {
		marked := *s
		marked.reg.precise = true
		n := later.stack[i]
		if marked.refs = n.refs; n.refs > 0 && marked == *n {
			f.replace(i, n)
			return
		}
	}
	f.own(i).reg.precise = true
}

// use returns the marks of use of slot i; releases from 6.18 on have none.
func (f *frame) use(i int) uint8 {
	if i < len(f.uses) {
		return f.uses[i]
	}
	return 0
}

func (s *slot) share() {
	if s.refs > 0 {
		s.refs++
	}
}

// slotsAtOnce is how many slots are allocated together.
const slotsAtOnce = 32

func (o *pool) newSlot() *slot {
	if len(o.freeSlots) == 0 {
		o.took(slotsAtOnce * slotBytes)
		more := o.slots.take(slotsAtOnce)
		for i := range more {
			o.freeSlots = append(o.freeSlots, &more[i])
		}
	}
	n := len(o.freeSlots)
	s := o.freeSlots[n-1]
	o.freeSlots = o.freeSlots[:n-1]
	return s
}

// dropSlot: a frame refers to the slot no more.
func (o *pool) dropSlot(s *slot) {
	switch {
	case s.refs > 1:
		s.refs--
	case s.refs == 1:
		s.refs = 0
		o.freeSlots = append(o.freeSlots, s)
	}
}

// dropSlots empties the stack of a frame.
func (o *pool) dropSlots(f *frame) {
	for _, s := range f.stack {
		o.dropSlot(s)
	}
	f.stack = f.stack[:0]
}

// Frames and states that are freed are used again: a verification makes and drops many.
func (o *pool) newFrame() *frame {
	if n := len(o.freeFrames); n > 0 {
		f := o.freeFrames[n-1]
		o.freeFrames = o.freeFrames[:n-1]
		return f
	}
	o.took(int64(frameBytes))
	f := &o.frames.take(1)[0]
	f.pool = o
	return f
}

func (o *pool) freeFrame(f *frame) {
	if f != nil {
		o.dropSlots(f)
		o.freeFrames = append(o.freeFrames, f)
	}
}

func (o *pool) newState() *state {
	if n := len(o.freeStates); n > 0 {
		s := o.freeStates[n-1]
		o.freeStates = o.freeStates[:n-1]
		*s = state{refs: s.refs[:0]}
		return s
	}
	o.took(int64(stateBytes))
	return &o.states.take(1)[0]
}

// freeState gives back a state that nothing refers to (free_verifier_state).
func (o *pool) freeState(s *state) {
	for i, f := range s.frames {
		o.freeFrame(f)
		s.frames[i] = nil
	}
	s.hist, s.parent, s.loopEntry, s.equal = nil, nil, nil, nil
	o.freeStates = append(o.freeStates, s)
}

// copyFrame copies a frame (copy_func_state); slots are shared until one of the frames changes
// them.
func (o *pool) copyFrame(dst, src *frame) {
	o.dropSlots(dst)
	stack, uses, refs := dst.stack, dst.uses, dst.refs
	*dst = *src
	if cap(stack) < len(src.stack) {
		o.took(int64(len(src.stack)-cap(stack)) * pointerBytes)
	}
	dst.stack = append(stack, src.stack...)
	for _, s := range dst.stack {
		s.share()
	}
	dst.uses = append(uses[:0], src.uses...)
	dst.refs = append(refs[:0], src.refs...)
}

// copyState makes dst equal to src, except for dst's position in lists.
func (o *pool) copyState(dst, src *state) {
	for i := src.curFrame + 1; i < len(dst.frames); i++ {
		if dst.frames[i] != nil {
			o.freeFrame(dst.frames[i])
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
			dst.frames[i] = o.newFrame()
		}
		o.copyFrame(dst.frames[i], src.frames[i])
	}
}

// growStack grows the stack of f to at least size bytes (grow_stack_state). The function's depth
// follows from the deepest access on any path.
func (o *pool) growStack(f *frame, size int) {
	n := (size + 7) / 8
	if n <= len(f.stack) {
		return
	}
	if n > cap(f.stack) {
		o.took(int64(n) * pointerBytes)
	}
	for len(f.stack) < n {
		f.stack = append(f.stack, blankSlot)
		if !o.r.static {
			f.uses = append(f.uses, 0)
		}
	}
	sub := &o.subs[f.sub]
	sub.stackDepth = max(sub.stackDepth, n*8)
}

// initFrame prepares a frame for a function (init_func_state): nothing has a value but R10.
func (o *pool) initFrame(f *frame, callsite, no, sub int) {
	o.dropSlots(f)
	*f = frame{callsite: callsite, no: no, sub: sub, stack: f.stack, uses: f.uses[:0], pool: o, refs: f.refs[:0]}
	o.log.touchAll()
	for i := range f.regs {
		f.regs[i].notInit()
	}
	f.regs[10].pointer(ptrStack)
	f.regs[10].frame = uint8(no)
}

// push queues a copy of the current state to be explored from instruction to on (push_stack).
func (o *pool) push(to, from int) *state {
	s := o.newState()
	o.copyState(s, o.cur)
	o.queue(s, to, from)
	// Each pending state takes memory, so that their number is limited
	// (BPF_COMPLEXITY_LIMIT_JMP_SEQ).
	if len(o.pending) > maxPending {
		o.refuseAs(o.pendingErrno(uapi.ENOMEM), refusal.SequenceJumpsTooComplex, len(o.pending))
	}
	if s.parent != nil {
		s.parent.branches++
	}
	return s
}

// pushAsync queues a callback that runs on its own (push_async_cb). It has no parent: what it needs
// does not matter to the path that set it.
func (o *pool) pushAsync(to, from, sub int, sleepable bool) *state {
	s := o.newState()
	s.branches = 1
	s.sleepable = sleepable
	s.frames[0] = o.newFrame()
	o.initFrame(s.frames[0], mainFunc, 0, sub)
	o.queue(s, to, from)
	if len(o.pending) > maxPending {
		o.refuseAs(o.pendingErrno(uapi.EFAULT), refusal.SequenceJumpsTooComplexAsyncCb, len(o.pending))
	}
	return s
}

// pendingErrno returns the error if there are too many pending branches: before, the one by which
// releases told of it that did not have E2BIG yet.
func (o *pool) pendingErrno(before uapi.Errno) uapi.Errno {
	if o.has(since.PendingErrno) {
		return uapi.E2BIG
	}
	if int(o.insn) < len(o.insns) && before == uapi.ENOMEM && o.conditional(o.insn) {
		return uapi.EFAULT
	}
	return before
}

// conditional reports whether the instruction is a jump on a condition.
func (o *pool) conditional(pc int) bool {
	in := &o.insns[pc]
	switch in.Code & 7 {
	case decode.ClassJMP, decode.ClassJMP32:
		op := in.Code & 0xf0
		return op != 0 && op != 0x80 && op != 0x90 && op != 0xe0 // ja, call, exit, may_goto
	}
	return false
}

// queue adds a path to those that are explored later. The log of its beginning is where the log is
// now (log_pos of struct bpf_verifier_stack_elem).
func (o *pool) queue(s *state, to, from int) {
	o.pending = append(o.pending, pendingState{st: s, insn: to, prev: from, logPos: o.log.pos()})
	if o.o.Costs != nil {
		o.o.Costs.fork(from)
	}
}

// pop continues with the state queued last (pop_stack): the walk is depth first, so that the states
// that end others are complete early.
func (o *pool) pop() bool {
	n := len(o.pending)
	if n == 0 {
		return false
	}
	p := o.pending[n-1]
	o.pending = o.pending[:n-1]
	o.freeState(o.cur)
	o.cur = p.st
	o.insn, o.prev = p.insn, p.prev
	o.log.rewind(p.logPos)
	if o.o.Costs != nil {
		o.o.Costs.pop()
	}
	return true
}
