package verifier

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

const (
	privUnknown = iota
	privNone
	privOwn
)

// roundStack returns the size of a function's stack frame in bytes.
func (l *limits) roundStack(n int) int {
	return decode.RoundStack(n, l.has(since.StackByJIT))
}

// checkStackDepth checks that every chain of calls fits on the stack (check_max_stack_depth).
func (l *limits) checkStackDepth() {
	tail := false
	for i := 0; i < l.nsubs(); i++ {
		tail = tail || l.subs[i].tailCall
	}
	private := !tail && progtype.Of(l.prog.typ).HasPrivateStack(l.has, l.k.Arch, l.p.Attach)
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

// chainDepth follows the calls of a function. Unreached code counts unless it is removed, because
// the kernel looks at all code.
func (l *limits) chainDepth(root int, private bool) {
	type call struct{ insn, sub, chain int }
	var stack [maxSubprogs + 1]call
	chain := 0 // calls since the last global function, where the release counts them
	depth, frame, sub, i := 0, 0, root, l.subs[root].start
	if !private {
		l.subs[root].privateStack = privNone
	}
	enter := true
	tailReachable := false
	for {
		if enter {
			enter = false
			s := &l.subs[sub]
			if s.ldAbs && l.has(since.NoLoadPacketInCallback) {
				cb := s.isCallback
				for j := 0; j < frame && !cb; j++ {
					cb = l.subs[stack[j].sub].isCallback
				}
				if cb {
					l.refuse(refusal.CannotUseBPFLDABSIND)
				}
			}
			if sub > 0 && s.tailCall && depth >= 256 {
				l.refuse(refusal.TailCallsNotAllowedWhenCall, depth)
			}
			own := l.roundStack(s.stackDepth)
			if private && s.privateStack == privUnknown && own >= 64 {
				s.privateStack = privOwn
			}
			if s.privateStack == privOwn {
				l.deepest = max(l.deepest, own)
				if own > maxStack {
					l.refuse(refusal.StackSizeSubprogTooLarge, sub, own)
				}
			} else {
				depth += own
				l.deepest = max(l.deepest, depth)
				if depth > maxStack {
					l.refuse(refusal.CombinedStackSizeCallsTooLarge, frame+1, depth)
				}
			}
		}
		end := l.subs[sub+1].start
		next := -1
		for ; i < end; i++ {
			in := &l.insns[i]
			if isKfuncCall(in) {
				if l.kfuncAt(i).is(proto.Throws) {
					bad := l.subs[sub].isCallback
					for j := 0; j < frame && !bad; j++ {
						bad = l.subs[stack[j].sub].isCallback
					}
					if bad {
						l.refuse(refusal.BpfThrowKfuncInsnCannotCalled, i, sub)
					}
				}
				continue
			}
			ref := isFuncRef(in) && l.has(since.FuncPointers)
			if !isLocalCall(in) && !ref {
				continue
			}
			to := l.subprogFrom(callTarget(i, in))
			if l.subs[to].isAsync {
				if !isLocalCall(in) {
					continue
				}
				if l.subs[to].isException {
					l.refuse(refusal.InsnCannotCallExceptionCbDirectly, i)
				}
			}
			next = to
			break
		}
		if next >= 0 {
			stack[frame] = call{i + 1, sub, chain}
			sub, i = next, l.subs[next].start
			if !private {
				l.subs[sub].privateStack = privNone
			}
			if l.subs[sub].tailCall {
				tailReachable = true
			}
			frame++
			chain++
			if l.has(since.GlobalChains) && l.subs[sub].linkage == funcGlobal && l.funcInfo() {
				chain = 0
			}
			if chain >= maxFrames || frame >= len(stack) {
				l.refuse(refusal.CallStackFramesTooDeep2, chain)
			}
			enter = true
			continue
		}
		if tailReachable {
			for j := 0; j < frame; j++ {
				if l.subs[stack[j].sub].isException {
					l.refuse(refusal.CannotTailCallWithinExceptionCb)
				}
			}
		}
		if frame == 0 {
			return
		}
		if l.subs[sub].privateStack != privOwn {
			depth -= l.roundStack(l.subs[sub].stackDepth)
		}
		frame--
		i, sub, chain = stack[frame].insn, stack[frame].sub, stack[frame].chain
	}
}

// What rewriting an accepted program adds to the stack of a function.
const (
	inlinedLoopStack  = 24 // three registers
	mayGotoStack      = 8  // a count
	timedMayGotoStack = 16 // and a time
)

// stackDepths are the stacks of the functions as the kernel prints them at the end
// (print_verification_stats). An accepted program has been rewritten by then: functions that nothing
// calls are gone (opt_remove_dead_code), and inlined loops and counters have places on the stack
// (optimize_bpf_loop, do_misc_fixups).
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
