package vm

import (
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/mem"
)

// exit is the reason for leaving the loop.
type exit uint8

const (
	exitGo    exit = iota // continue at t.pc
	exitDone              // the first frame returned
	exitFault             // t.fault is set
	exitBreak             // a breakpoint is at t.pc
	exitStop              // suspended
)

// Frame is one function activation, for debuggers and reports.
type Frame struct {
	Image    *Image
	PC       int // next slot of the innermost frame, slot after the call of all others
	FP       uint64
	Stack    *mem.Region
	Callback bool // called by a helper, not by a call instruction
}

// Frames returns the activations, innermost first.
func (t *Thread) Frames() []Frame {
	if t.img == nil {
		return nil
	}
	n := t.Depth() + 1
	out := make([]Frame, 0, n)
	img, pc := t.img, t.pc
	for level := range n {
		f := t.at(level)
		out = append(out, Frame{Image: img, PC: pc, FP: f.fp, Stack: f.stack, Callback: level < n-1 && f.cont != nil})
		img, pc = f.img, f.ret
	}
	return out
}

// Depth returns the number of callers of the running function.
func (t *Thread) Depth() int { return t.under + t.depth }

// enterFrame prepares frame d and sets r10.
func (t *Thread) enterFrame(d int) *Fault {
	f := &t.frames[d]
	if f.stack == nil {
		name := t.cfg.Name
		if d += t.under; d > 0 {
			name = fmt.Sprintf("%s frame %d", name, d)
		}
		r, err := t.mem.Alloc(StackSize, mem.Region{Kind: mem.Stack, Name: name})
		if err != nil {
			if errors.Is(err, mem.ErrClosed) {
				return &Fault{Kind: StackOverflow, Text: err.Error()}
			}
			return &Fault{Kind: StackOverflow, Text: "no memory for a stack frame: " + err.Error()}
		}
		f.stack = r
		f.fp = r.Base + StackSize
		t.wipe(f)
		t.generation++
	}
	if t.track {
		t.mem.MarkUndefined(f.stack)
	}
	f.may = MaxMayGoto
	t.regs[10] = f.fp
	return nil
}

// Furnish gives the first n frames their stacks, which they otherwise get when they are first
// entered. The thread must be at the start of a run.
func (t *Thread) Furnish(n int) {
	fp := t.regs[10]
	for d := range min(n, MaxFrames) {
		if f := &t.frames[d]; f.stack == nil && t.enterFrame(d) != nil {
			break
		}
	}
	t.regs[10] = fp
}

// Furnished returns the number of frames with stacks.
func (t *Thread) Furnished() int {
	n := 0
	for n < MaxFrames && t.frames[n].stack != nil {
		n++
	}
	return n
}

// push enters the function at slot target of img; ret is the slot to return to, cont is not nil for
// a callback. After a fault nothing has changed.
func (t *Thread) push(img *Image, target, ret int, cont Continuation) *Fault {
	d := t.depth + 1
	if d >= MaxFrames {
		return &Fault{Kind: CallDepth, Text: fmt.Sprintf("the call would be frame %d, the limit is %d", d+1, MaxFrames)}
	}
	if f := t.enterFrame(d); f != nil {
		return f
	}
	f := &t.frames[d]
	f.img, f.ret, f.cont = t.img, ret, cont
	f.saved = [4]uint64(t.regs[6:10])
	t.depth, t.deep = d, true
	t.img, t.pc = img, target
	return nil
}

// pop leaves the running function and returns its continuation, nil for an ordinary call.
// t.pc is then the slot to return to. The depth must not be 0.
func (t *Thread) pop() Continuation {
	f := &t.frames[t.depth]
	if t.track {
		t.mem.MarkUndefined(f.stack)
	}
	t.depth--
	copy(t.regs[6:10], f.saved[:])
	t.regs[10] = t.frames[t.depth].fp
	t.img, t.pc = f.img, f.ret
	c := f.cont
	f.cont = nil
	return c
}

// leave executes the exit instruction at t.pc.
func (t *Thread) leave() exit {
	if t.depth == 0 {
		if len(t.below) == 0 {
			return exitDone
		}
		t.ascend()
	}
	cont := t.pop()
	if cont == nil {
		return exitGo
	}
	// The slot to return to is after the call of the helper; while the helper continues, pc is at
	// the call.
	t.pc--
	r0, a := cont.Resume(t, t.regs[0])
	return t.act(r0, a)
}

// act does what the helper called at t.pc requests, and advances t.pc.
func (t *Thread) act(r0 uint64, a *Action) exit {
	if a == nil {
		t.regs[0] = r0
		t.pc++
		if t.suspend {
			return exitStop
		}
		return exitGo
	}
	switch a.Kind {
	case ActFault:
		f := a.Fault
		if f == nil {
			f = &Fault{Kind: NotSimulated, Text: "helper failed without a reason"}
		}
		t.stop(f)
		return exitFault
	case ActInvoke:
		img, pc, ok := t.img.text.Resolve(a.Entry)
		if !ok || !img.begins(pc) || a.Then == nil {
			t.stop(&Fault{Kind: BadTarget, Text: fmt.Sprintf("callback address %#x is not a function of a program", a.Entry)})
			return exitFault
		}
		args, then := a.Args, a.Then
		if f := t.push(img, pc, t.pc+1, then); f != nil {
			t.stop(f)
			return exitFault
		}
		copy(t.regs[1:6], args[:])
		return exitGo
	case ActTailCall:
		if t.tailCalls >= MaxTailCalls && t.refused == nil {
			t.refused, t.refusedAt = t.img, t.pc
		}
		if t.tailCalls >= MaxTailCalls || a.Image == nil || a.Image.Len() == 0 {
			t.regs[0] = r0
			t.pc++
			return exitGo
		}
		t.deep = true
		t.descend()
		t.tailCalls++
		t.img, t.pc = a.Image, 0
		t.frames[t.depth].may = MaxMayGoto
		return exitGo
	case ActThrow:
		return t.throw(a.Cookie)
	case ActStop:
		t.regs[0] = r0
		t.pc++
		t.reason = a.Reason
		return exitStop
	case ActWait:
		t.reason = a.Reason
		t.insns-- // the caller counts the instruction
		return exitStop
	}
	t.stop(&Fault{Kind: NotSimulated, Text: "helper asked for an unknown action"})
	return exitFault
}

// throw unwinds to the first function of the program that runs: what called it, as an extension or
// by a tail call in one of its functions, goes on after it. Its exception callback, if there is
// one, runs in its place with the cookie; otherwise it returns the cookie (kernel/bpf/helpers.c
// bpf_throw and bpf_stack_walker).
func (t *Thread) throw(cookie uint64) exit {
	for t.Depth() > 0 {
		if first, _ := t.img.subprog(t.pc); first == 0 {
			break
		}
		if t.depth == 0 {
			t.ascend()
		}
		t.pop()
	}
	if cb := t.img.exception; cb > 0 && t.img.begins(cb) {
		t.pc = cb
		t.regs[1] = cookie
		t.frames[t.depth].may = MaxMayGoto
		return exitGo
	}
	t.regs[0] = cookie
	return t.leave()
}

// call executes a bpf-to-bpf call at t.pc to slot target.
func (t *Thread) call(target int) exit {
	if f := t.push(t.img, target, t.pc+1, nil); f != nil {
		t.stop(f)
		return exitFault
	}
	return exitGo
}

// gotoX executes an indirect jump to a text address.
func (t *Thread) gotoX(addr uint64) exit {
	img, pc, ok := t.img.text.Resolve(addr)
	if ok && img == t.img {
		lo, hi := img.subprog(t.pc)
		if pc >= lo && pc < hi && img.plain[pc].op != opSecondSlot {
			t.pc = pc
			return exitGo
		}
	}
	t.stop(&Fault{Kind: BadTarget, Text: fmt.Sprintf("indirect jump to %#x, which is not an instruction of this function", addr)})
	return exitFault
}
