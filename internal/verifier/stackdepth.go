package verifier

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// Whether a function has stack of its own, apart from the kernel's.
const (
	privUnknown = iota
	privNone
	privOwn
)

// roundStack returns the size of a function's stack frame in bytes (round_up_stack_depth), in the
// steps in which the JIT or the interpreter allocates it.
func (l *limits) roundStack(n int) int {
	return decode.RoundStack(n, l.has(since.StackByJIT))
}

// checkStackDepth checks that every chain of calls fits on the stack (check_max_stack_depth). The
// kernel's own stack is small, and programs run on top of whatever called them.
func (l *limits) checkStackDepth() {
	tail := false
	for i := 0; i < l.nsubs(); i++ {
		tail = tail || l.subs[i].tailCall
	}
	// Programs that may interrupt themselves get memory for each CPU instead; tail calls would
	// leave it without giving it back (bpf_enable_priv_stack).
	private := !tail && progtype.Of(l.prog.typ).HasPrivateStack(l.has, l.k.Arch, l.p.Attach)
	// Asynchronous callbacks begin on an empty stack.
	order := []int{}
	for i := l.nsubs() - 1; i >= 0; i-- {
		if i == 0 || l.subs[i].isAsync && l.has(since.AsyncStacks) {
			order = append(order, i)
		}
	}
	if !l.has(since.DepthOrder) {
		for i, j := 0, len(order)-1; i < j; i, j = i+1, j-1 {
			order[i], order[j] = order[j], order[i]
		}
	}
	for _, i := range order {
		l.chainDepth(i, private && i == 0)
	}
}

// callChain is the walk over every chain of calls that begins at one function
// (check_max_stack_depth_subprog).
type callChain struct {
	l       *limits
	private bool
	callers [maxSubprogs + 1]chainCall
	frame   int // how many callers there are
	chain   int // calls since the last global function, where the release counts them
	depth   int // bytes of stack
	sub     int
	insn    int // the next one to look at
}

// chainCall is where a caller goes on.
type chainCall struct{ insn, sub, chain int }

// chainDepth follows the calls of a function. Unreached code counts unless it is removed, because
// the kernel looks at all code.
func (l *limits) chainDepth(root int, private bool) {
	w := callChain{l: l, private: private, sub: root, insn: l.subs[root].start}
	if !private {
		l.subs[root].privateStack = privNone
	}
	w.enter()
	tailReachable := false
	for {
		if next := w.nextCall(); next >= 0 {
			tailReachable = tailReachable || l.subs[next].tailCall
			w.call(next)
			w.enter()
			continue
		}
		// The exception callback runs on the stack that was unwound; a tail call would replace it.
		if tailReachable && w.anyCaller(func(s *subprog) bool { return s.isException }) {
			l.refuse(refusal.CannotTailCallWithinExceptionCb)
		}
		if w.frame == 0 {
			return
		}
		w.leave()
	}
}

// anyCaller reports whether one of the functions that wait for the current one is such a function.
func (w *callChain) anyCaller(is func(*subprog) bool) bool {
	for _, c := range w.callers[:w.frame] {
		if is(&w.l.subs[c.sub]) {
			return true
		}
	}
	return false
}

// inCallback reports whether the current function is a callback or called by one.
func (w *callChain) inCallback() bool {
	isCallback := func(s *subprog) bool { return s.isCallback }
	return isCallback(&w.l.subs[w.sub]) || w.anyCaller(isCallback)
}

// enter adds the stack of the current function.
func (w *callChain) enter() {
	l, s := w.l, &w.l.subs[w.sub]
	if s.ldAbs && l.has(since.NoLoadPacketInCallback) && w.inCallback() {
		l.refuse(refusal.CannotUseBPFLDABSIND)
	}
	// A program that tail-calls another keeps the frames of its callers. With 256 bytes for them, a
	// chain of 33 tail calls takes no more than the 8 KiB that the kernel allows for.
	if w.sub > 0 && s.tailCall && w.depth >= 256 {
		l.refuse(refusal.TailCallsNotAllowedWhenCall, w.depth)
	}
	own := l.roundStack(s.stackDepth)
	// Below that, another stack costs more than it saves (BPF_PRIV_STACK_MIN_SIZE).
	if w.private && s.privateStack == privUnknown && own >= 64 {
		s.privateStack = privOwn
	}
	if s.privateStack == privOwn {
		l.deepest = max(l.deepest, own)
		if own > maxStack {
			l.refuse(refusal.StackSizeSubprogTooLarge, w.sub, own)
		}
		return
	}
	w.depth += own
	l.deepest = max(l.deepest, w.depth)
	if w.depth > maxStack {
		l.refuse(refusal.CombinedStackSizeCallsTooLarge, w.frame+1, w.depth)
	}
}

// nextCall goes on to the next call in the current function and returns which function it calls; -1
// if no call is left.
func (w *callChain) nextCall() int {
	l := w.l
	for end := l.subs[w.sub+1].start; w.insn < end; w.insn++ {
		i := w.insn
		in := &l.insns[i]
		if isKfuncCall(in) {
			// Between a callback and the program are frames of the kernel, which an exception
			// cannot unwind.
			if l.kfuncAt(i).is(proto.Throws) && w.inCallback() {
				l.refuse(refusal.BpfThrowKfuncInsnCannotCalled, i, w.sub)
			}
			continue
		}
		ref := isFuncRef(in) && l.has(since.FuncPointers)
		if !isLocalCall(in) && !ref {
			continue
		}
		to := l.subprogFrom(callTarget(i, in))
		// Only its address is taken here: it runs later, on another stack.
		if l.subs[to].isAsync {
			if !isLocalCall(in) {
				continue
			}
			if l.subs[to].isException {
				l.refuse(refusal.InsnCannotCallExceptionCbDirectly, i)
			}
		}
		return to
	}
	return -1
}

// call goes on in the function that the current instruction calls.
func (w *callChain) call(next int) {
	l := w.l
	w.callers[w.frame] = chainCall{w.insn + 1, w.sub, w.chain}
	w.sub, w.insn = next, l.subs[next].start
	if !w.private {
		l.subs[next].privateStack = privNone
	}
	w.frame++
	w.chain++
	// Each global function is explored by itself, with frames counted from there.
	if l.has(since.GlobalChains) && l.subs[next].linkage == funcGlobal && l.funcInfo() {
		w.chain = 0
	}
	if w.chain >= maxFrames || w.frame >= len(w.callers) {
		l.refuse(refusal.CallStackFramesTooDeep2, w.chain)
	}
}

// leave goes on in the caller, behind the call.
func (w *callChain) leave() {
	if s := &w.l.subs[w.sub]; s.privateStack != privOwn {
		w.depth -= w.l.roundStack(s.stackDepth)
	}
	w.frame--
	c := w.callers[w.frame]
	w.insn, w.sub, w.chain = c.insn, c.sub, c.chain
}

// What rewriting an accepted program adds to the stack of a function.
const (
	inlinedLoopStack  = 24 // three registers
	mayGotoStack      = 8  // a count
	timedMayGotoStack = 16 // and a time
)

// stackDepths are the stacks of the functions as the kernel prints them at the end
// (print_verification_stats). An accepted program has been rewritten by then: functions that
// nothing calls are gone (opt_remove_dead_code), and inlined loops and counters have places on the
// stack (optimize_bpf_loop, do_misc_fixups).
func (e *explorer) stackDepths(accepted bool) (out []int) {
	for n := 0; n < e.nsubsOr0(); n++ {
		depth, loop, counter, seen := e.subs[n].stackDepth, 0, 0, n == 0
		for i := e.subs[n].start; i < e.subs[n+1].start; i++ {
			seen = seen || e.aux[i].seen
			switch {
			case !e.aux[i].seen:
			case isMayGoto(&e.insns[i]) && e.insns[i].Off == 0: // goes (opt_remove_nops)
			case e.aux[i].loopState == loopFits && e.has(since.InlinedLoops):
				loop = -depth&7 + inlinedLoopStack
			case isMayGoto(&e.insns[i]) && e.has(since.TimedMayGoto) && e.k.Arch != "arm64":
				counter = timedMayGotoStack
			case isMayGoto(&e.insns[i]):
				counter = mayGotoStack
			}
		}
		switch {
		case !accepted:
			out = append(out, depth)
		case seen:
			out = append(out, depth+loop+counter)
		}
	}
	if accepted && e.defaultThrow && !e.has(since.TotalsLogged) {
		out = append(out, 0) // a function that the kernel adds (add_hidden_subprog)
	}
	return out
}
