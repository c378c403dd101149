package verifier

import (
	"unsafe"

	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

const (
	frameBytes = int(unsafe.Sizeof(frame{}))
	stateBytes = int(unsafe.Sizeof(state{}))
	slotBytes  = int64(unsafe.Sizeof(slot{}))
)

type pendingState struct {
	st         *state
	insn, prev int
	logPos     int
}

func (o *pool) newFrame() *frame {
	if n := len(o.freeFrames); n > 0 {
		f := o.freeFrames[n-1]
		o.freeFrames = o.freeFrames[:n-1]
		return f
	}
	o.took(int64(frameBytes))
	return new(frame)
}

func (o *pool) freeFrame(f *frame) {
	if f != nil {
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
	return new(state)
}

func (o *pool) freeState(s *state) {
	for i, f := range s.frames {
		o.freeFrame(f)
		s.frames[i] = nil
	}
	s.hist, s.parent, s.loopEntry, s.equal = nil, nil, nil, nil
	o.freeStates = append(o.freeStates, s)
}

func (o *pool) copyFrame(dst, src *frame) {
	stack, refs := dst.stack, dst.refs
	*dst = *src
	if cap(stack) < len(src.stack) {
		o.took(int64(len(src.stack)-cap(stack)) * slotBytes)
		stack = make([]slot, len(src.stack))
	}
	dst.stack = stack[:len(src.stack)]
	copy(dst.stack, src.stack)
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

// growStack grows the stack of f to at least size bytes.
func (o *pool) growStack(f *frame, size int) {
	n := (size + 7) / 8
	if n <= len(f.stack) {
		return
	}
	if n <= cap(f.stack) {
		old := len(f.stack)
		f.stack = f.stack[:n]
		clear(f.stack[old:])
	} else {
		o.took(int64(n) * slotBytes)
		s := make([]slot, n, max(n, min(2*n, 64)))
		copy(s, f.stack)
		f.stack = s
	}
	sub := &o.subs[f.sub]
	sub.stackDepth = max(sub.stackDepth, n*8)
}

// initFrame prepares a frame for a function.
func (o *pool) initFrame(f *frame, callsite, no, sub int) {
	stack, refs := f.stack[:0], f.refs[:0]
	*f = frame{callsite: callsite, no: no, sub: sub, stack: stack, refs: refs}
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
	if len(o.pending) > maxPending {
		o.refuse(refusal.SequenceJumpsTooComplex, len(o.pending))
	}
	if s.parent != nil {
		s.parent.branches++
	}
	return s
}

// pushAsync queues a callback that runs on its own.
func (o *pool) pushAsync(to, from, sub int, sleepable bool) *state {
	s := o.newState()
	s.branches = 1
	s.sleepable = sleepable
	s.frames[0] = o.newFrame()
	o.initFrame(s.frames[0], mainFunc, 0, sub)
	o.queue(s, to, from)
	if len(o.pending) > maxPending {
		o.refuse(refusal.SequenceJumpsTooComplexAsyncCb, len(o.pending))
	}
	return s
}

func (o *pool) queue(s *state, to, from int) {
	o.pending = append(o.pending, pendingState{st: s, insn: to, prev: from, logPos: o.log.pos()})
	if o.o.Costs != nil {
		o.o.Costs.fork(from)
	}
}

// pop continues with the state queued last.
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
