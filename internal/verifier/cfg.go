package verifier

import (
	"sort"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// findSubprogs finds the functions: the program itself, called functions and callbacks
// (add_subprog_and_kfunc). The kernel has no other way to know where a function begins.
func (l *layout) findSubprogs() {
	starts := map[int]bool{0: true}
	count := 1
	add := func(at int) {
		if at < 0 || at >= len(l.insns) {
			l.refuse(refusal.CallInvalidDestination)
		}
		if !starts[at] {
			if count >= maxSubprogs {
				l.refuse(refusal.TooManySubprograms)
			}
			starts[at] = true
			count++
		}
	}
	// Nothing calls it, so that it is not found by its calls.
	cb := l.exceptionCallback()
	if cb != 0 {
		add(cb)
	}
	for i := range l.insns {
		in := &l.insns[i]
		switch {
		case isLocalCall(in), isFuncRef(in) && l.has(since.FuncPointers):
			// A callback is a function by its address, which the program takes somewhere.
			add(callTarget(i, in))
		case isKfuncCall(in):
			l.addKfunc(i)
		}
	}
	l.subs = l.subs[:0]
	for at := range starts {
		l.subs = append(l.subs, subprog{start: at, fastcallOff: 0})
	}
	sort.Slice(l.subs, func(i, j int) bool { return l.subs[i].start < l.subs[j].start })
	l.subs = append(l.subs, subprog{start: len(l.insns)})
	if cb != 0 {
		n := l.subprogFrom(cb)
		l.exceptionSub = n
		l.subs[n].isCallback, l.subs[n].isAsync, l.subs[n].isException = true, true, true
	}
}

// checkSubprogs checks that jumps stay within their function and that functions end with an exit or
// jump (check_subprogs). Control that falls into the next function would run it without a frame.
func (l *layout) checkSubprogs() {
	cur := 0
	for i := range l.insns {
		in := &l.insns[i]
		s := &l.subs[cur]
		end := l.subs[cur+1].start
		// Tail calls and packet loads may leave a function in its middle, for which the stack and
		// the function's result must allow.
		if isHelperCall(in) && in.Imm == int32(uapi.FuncTailCall) {
			s.tailCall = true
		}
		if class(in) == clsLD && (mode(in) == modeABS || mode(in) == modeIND) {
			s.ldAbs = true
		}
		// Where gotox goes is in tables, whose elements are checked when it is visited.
		if isJump(in) && opOf(in) != opExit && opOf(in) != opCall && !(in.Code == clsJMP|opJA|srcX && l.has(since.Gotox)) {
			off := i + jumpOff(in) + 1
			if in.Code == clsJMP32|opJA && !l.has(since.LongJump) {
				off = i + int(in.Off) + 1
			}
			// Another function has another frame, and is left by exits only.
			if off < s.start || off >= end {
				l.refuse(refusal.JumpOutRangeInsn, i, off)
			}
		}
		// Control would run on into the next function, or behind the program.
		if i == end-1 {
			c := in.Code
			if c != clsJMP|opExit && c != clsJMP|opJA && !(c == clsJMP32|opJA && l.has(since.LongJump)) && !(c == clsJMP|opJA|srcX && l.has(since.Gotox)) {
				l.refuse(refusal.LastInsnNotExitJmp)
			}
			cur++
		}
	}
}

const (
	// The marks of the walk (DISCOVERED, EXPLORED, FALLTHROUGH, BRANCH): an instruction on the
	// walk's path, one that it has left, and which ways out of it were followed.
	discovered = 0x10
	done       = 0x20
	edgeFall   = 1
	edgeBranch = 2
)

// cfg is the depth-first walk that finds unreachable instructions and marks where states are kept.
type cfg struct {
	e     *layout
	state []int
	stack []int
}

// push follows the edge from t to w (push_insn). Before 6.7 only jumps may close a loop: loop.
func (c *cfg) push(t, w, edge int, loop bool) bool {
	e := c.e
	// The edge was followed before: an instruction is visited once for each way out of it.
	if c.state[t] >= discovered|edge {
		return false
	}
	if w < 0 || w >= len(e.insns) {
		e.refuse(refusal.JumpOutRangeInsn, t, w)
	}
	// Paths meet where a jump leads, so states are compared there, and the jump is part of the
	// history that backtracking needs (mark_prune_point, mark_jmp_point).
	if edge == edgeBranch {
		e.aux[w].prune, e.aux[w].jump, e.aux[w].target = true, true, true
	}
	switch {
	case c.state[w] == 0:
		c.state[t] = discovered | edge
		c.state[w] = discovered
		if len(c.stack) >= len(e.insns) {
			e.refuse(refusal.FlowTooDeep)
		}
		c.stack = append(c.stack, w)
		return true
	case c.state[w]&0xf0 == discovered:
		// w is on the walk's own path: a loop, of which exploration finds out whether it ends.
		// Before 6.7 calls may not close one: that would be recursion.
		if !loop && !e.has(since.AnyBackEdge) {
			e.refuse(refusal.BackEdgeInsn, t, w)
		}
		return false
	case c.state[w] == done:
		// w was left before, by another way.
		c.state[t] = discovered | edge
	}
	return false
}

// call visits a call of a function or of a helper, and what follows it (visit_func_call_insn).
func (c *cfg) call(t int, visit bool) bool {
	e := c.e
	next := t + 1
	if isLdImm64(&e.insns[t]) {
		next++
	}
	if c.push(t, next, edgeFall, false) {
		return true
	}
	// The instruction after a call is reached from the callee's exits.
	if next < len(e.insns) {
		e.aux[next].prune, e.aux[next].jump = true, true
	}
	if !visit {
		return false
	}
	w := callTarget(t, &e.insns[t])
	e.aux[t].prune = true
	// What a callee does its callers do: for global functions, which are explored on their own,
	// nobody finds out otherwise (merge_callee_effects). The walk has left the callee when it comes
	// here again.
	from, to := &e.subs[e.subprogAt(t)], &e.subs[e.subprogAt(w)]
	from.changesPacket = from.changesPacket || to.changesPacket
	from.mightSleep = from.mightSleep || to.mightSleep
	from.mightThrow = from.mightThrow || to.mightThrow
	// The callee is walked as if the call jumped there.
	return c.push(t, w, edgeBranch, isFuncRef(&e.insns[t]))
}

// visit visits an instruction and reports whether its successors must be visited before it is done.
func (c *cfg) visit(t int) bool {
	e := c.e
	in := &e.insns[t]
	if isFuncRef(in) && e.has(since.FuncPointers) {
		return c.call(t, true)
	}
	if !isJump(in) {
		n := 1
		if isLdImm64(in) {
			n = 2
		}
		return c.push(t, t+n, edgeFall, false)
	}
	switch opOf(in) {
	case opExit:
		return false
	case opCall:
		return c.visitCall(t, in)
	case opJA:
		if isX(in) {
			if e.has(since.Gotox) {
				return c.indirect(t)
			}
			e.refuse(refusal.IndirectJumpUnknown)
		}
		off := int(in.Off)
		if class(in) == clsJMP32 && e.has(since.LongJump) {
			off = int(in.Imm)
		}
		if c.push(t, t+off+1, edgeFall, true) {
			return true
		}
		// The kernel takes a goto for a way on, and marks its target by itself.
		w := t + off + 1
		e.aux[w].prune, e.aux[w].jump, e.aux[w].target = true, true, true
		return false
	}
	// States are compared before a branch, where most paths separate (visit_insn).
	e.aux[t].prune = true
	// Without a state there the loop would never be found to converge.
	if isMayGoto(in) {
		e.aux[t].force = true
	}
	if c.push(t, t+1, edgeFall, true) {
		return true
	}
	return c.push(t, t+int(in.Off)+1, edgeBranch, true)
}

// visitCall notes what a call does to the function that makes it, and where states must be kept
// (visit_insn).
func (c *cfg) visitCall(t int, in *decode.Insn) bool {
	e := c.e
	a := &e.aux[t]
	// A state is compared before the call queues another exploration of its callback.
	if e.isAsyncCallback(in, t) {
		a.prune = true
	}
	// Callbacks run an unknown number of times: they return to this instruction, until the state is
	// like one of an earlier round. That needs a state here in each round.
	if e.isSyncCallback(in, t) && e.has(since.CallbackChains) {
		a.callback, a.force, a.prune, a.jump = true, true, true, true
	}
	s := &e.subs[e.subprogAt(t)]
	switch {
	case isHelperCall(in):
		// What the function does on some path, its callers must expect on each.
		id := uapi.FuncID(in.Imm)
		if e.has(since.GlobalEffects) && e.changesPacket(id) {
			s.changesPacket = true
		}
		if e.helperMightSleep(id) {
			s.mightSleep = true
		}
	case isKfuncCall(in):
		if k := e.kfuncAt(t); k != nil {
			// Loops over iterators end when the state at this call is like an earlier one.
			if k.flags.has(kfIterNext) {
				a.prune, a.force = true, true
			}
			if k.flags.has(kfSleepable) {
				s.mightSleep = true
			}
			if k.changesPacket {
				s.changesPacket = true
			}
			if k.is(proto.Throws) {
				s.mightThrow = true
			}
		}
	}
	return c.call(t, isLocalCall(in))
}

// indirect visits all targets of an indirect jump (visit_gotox_insn).
func (c *cfg) indirect(t int) bool {
	e := c.e
	a := &e.aux[t]
	if a.jumps == nil {
		a.jumps = e.jumpTable(t)
	}
	a.prune = true
	more := false
	for _, w := range a.jumps {
		e.aux[w].jump, e.aux[w].target = true, true
		if c.state[w] != 0 {
			continue
		}
		if len(c.stack) >= len(e.insns) {
			e.refuse(refusal.FlowTooDeep)
		}
		c.stack = append(c.stack, w)
		c.state[w] |= discovered
		more = true
	}
	return more
}

// jumpTable returns the targets in the instruction arrays that a function uses, ascending
// (create_jt). Which array the jump uses is not known yet, so it may go to targets of all of them.
func (l *layout) jumpTable(t int) []int {
	s := l.subprogAt(t)
	lo, hi := l.subs[s].start, l.subs[s+1].start
	set := map[int]bool{}
	for _, m := range l.maps {
		if m.Type != uapi.MapTypeInsnArray || len(m.Slots) == 0 {
			continue
		}
		// A map is the function's if its lowest target is in it.
		first := int(m.Slots[0])
		for _, x := range m.Slots {
			first = min(first, int(x))
		}
		if first < lo || first >= hi {
			continue
		}
		for _, x := range m.Slots {
			set[int(x)] = true
		}
	}
	if len(set) == 0 {
		l.refuse(refusal.NoJumpTablesFoundSubprogStarting, lo)
	}
	out := make([]int, 0, len(set))
	for w := range set {
		// A jump into another function would run it without a frame of its own.
		if w < lo || w >= hi {
			l.refuse(refusal.JumpTableInsnPointsOutsideSubprog, t, lo, hi)
		}
		out = append(out, w)
	}
	sort.Ints(out)
	return out
}

// checkCFG refuses programs with unreachable instructions, and marks where states are kept
// (check_cfg). Instructions that no path reaches are never verified.
func (l *layout) checkCFG() {
	c := &cfg{e: l, state: make([]int, len(l.insns)), stack: make([]int, 0, len(l.insns))}
	walk := func(at int) {
		// The walk keeps a stack of its own, since a program may be a million instructions deep.
		c.state[at] = discovered
		c.stack = append(c.stack[:0], at)
		for len(c.stack) > 0 {
			t := c.stack[len(c.stack)-1]
			if !c.visit(t) {
				c.state[t] = done
				c.stack = c.stack[:len(c.stack)-1]
			}
		}
	}
	walk(0)
	// Nothing calls the exception callback.
	if l.exceptionSub != 0 && c.state[l.subs[l.exceptionSub].start] != done {
		walk(l.subs[l.exceptionSub].start)
	}
	for i := 0; i < len(l.insns); i++ {
		if c.state[i] != done {
			l.refuse(refusal.UnreachableInsn, i)
		}
		if isLdImm64(&l.insns[i]) {
			// The second slot is no instruction: its code is 0.
			if c.state[i+1] != 0 {
				l.refuse(refusal.JumpIntoMiddleLdimm64Insn, i)
			}
			i++
		}
	}
}
