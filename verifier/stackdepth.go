package verifier

import (
	"github.com/bpfrun/bpfrun/progtype"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier/since"
)

const (
	privUnknown = iota
	privNone
	privOwn
)

// roundStack is what a function's stack takes.
func (e *env) roundStack(n int) int {
	if e.has(since.StackByJIT) {
		return (n + 15) / 16 * 16
	}
	return (max(n, 1) + 31) / 32 * 32
}

// checkStackDepth demands that every chain of calls has room on the stack (check_max_stack_depth).
func (e *env) checkStackDepth() {
	tail := false
	for i := 0; i < e.nsubs(); i++ {
		tail = tail || e.subs[i].tailCall
	}
	private := !tail && progtype.Of(e.prog.typ).HasPrivateStack(e.rel, e.k.Arch, e.p.Attach)
	order := []int{}
	for i := e.nsubs() - 1; i >= 0; i-- {
		if i == 0 || e.subs[i].isAsync {
			order = append(order, i)
		}
	}
	if e.rel < since.R(6, 13) {
		for i, j := 0, len(order)-1; i < j; i, j = i+1, j-1 {
			order[i], order[j] = order[j], order[i]
		}
	}
	for _, i := range order {
		e.chainDepth(i, private && i == 0)
	}
}

// chainDepth walks the calls of a function. Code the walk never saw counts unless it is removed: the kernel looks at all of it.
func (e *env) chainDepth(root int, private bool) {
	type call struct{ insn, sub, chain int }
	var stack [maxSubprogs + 1]call
	chain := 0 // calls since the last global function, where the release counts them so
	depth, frame, sub, i := 0, 0, root, e.subs[root].start
	if !private {
		e.subs[root].privateStack = privNone
	}
	enter := true
	tailReachable := false
	for {
		if enter {
			enter = false
			s := &e.subs[sub]
			if s.ldAbs && e.rel >= since.R(6, 12) {
				cb := s.isCallback
				for j := 0; j < frame && !cb; j++ {
					cb = e.subs[stack[j].sub].isCallback
				}
				if cb {
					e.refuse(uapi.EINVAL, "cannot use BPF_LD_[ABS|IND] within callback")
				}
			}
			if sub > 0 && s.tailCall && depth >= 256 {
				e.refuse(uapi.EACCES, "tail_calls are not allowed when call stack of previous frames is %d bytes. Too large", depth)
			}
			own := e.roundStack(s.stackDepth)
			if private && s.privateStack == privUnknown && own >= 64 {
				s.privateStack = privOwn
			}
			if s.privateStack == privOwn {
				if own > maxStack {
					e.refuse(uapi.EACCES, "stack size of subprog %d is %d. Too large", sub, own)
				}
			} else {
				depth += own
				if depth > maxStack {
					if e.rel >= since.R(6, 19) {
						e.refuse(uapi.EACCES, "combined stack size of %d calls is %d. Too large", frame+1, depth)
					}
					e.refuse(uapi.EACCES, "combined stack size of %d calls is %d. Too large", frame+1, depth)
				}
			}
		}
		end := e.subs[sub+1].start
		next := -1
		for ; i < end; i++ {
			in := &e.insns[i]
			if isKfuncCall(in) {
				if k := e.kfuncAt(i); k != nil && k.name == "bpf_throw" {
					bad := e.subs[sub].isCallback
					for j := 0; j < frame && !bad; j++ {
						bad = e.subs[stack[j].sub].isCallback
					}
					if bad {
						e.refuse(uapi.EINVAL, "bpf_throw kfunc (insn %d) cannot be called from callback subprog %d", i, sub)
					}
				}
				continue
			}
			ref := isFuncRef(in) && e.rel >= since.R(5, 13)
			if !isLocalCall(in) && !ref {
				continue
			}
			to := e.subprogFrom(callTarget(i, in))
			if e.subs[to].isAsync {
				if !isLocalCall(in) {
					continue
				}
				if e.subs[to].isException {
					e.refuse(uapi.EINVAL, "insn %d cannot call exception cb directly", i)
				}
			}
			next = to
			break
		}
		if next >= 0 {
			stack[frame] = call{i + 1, sub, chain}
			sub, i = next, e.subs[next].start
			if !private {
				e.subs[sub].privateStack = privNone
			}
			if e.subs[sub].tailCall {
				tailReachable = true
			}
			frame++
			chain++
			if e.has(since.GlobalChains) && e.subs[sub].linkage == funcGlobal && e.funcInfo() {
				chain = 0
			}
			if chain >= maxFrames || frame >= len(stack) {
				e.refuse(uapi.E2BIG, "the call stack of %d frames is too deep !", chain)
			}
			enter = true
			continue
		}
		if tailReachable {
			for j := 0; j < frame; j++ {
				if e.subs[stack[j].sub].isException {
					e.refuse(uapi.EINVAL, "cannot tail call within exception cb")
				}
			}
		}
		if frame == 0 {
			return
		}
		if e.subs[sub].privateStack != privOwn {
			depth -= e.roundStack(e.subs[sub].stackDepth)
		}
		frame--
		i, sub, chain = stack[frame].insn, stack[frame].sub, stack[frame].chain
	}
}
