package verifier

import (
	"math"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// maxFlowCalls is the number of calls that the kernel follows.
const maxFlowCalls = 10000

// unknownBytes stands for an access of unknown size.
const unknownBytes = math.MinInt64

// computeStackFlow analyses every function, callers before callees: a function that was reached
// with pointers to a stack is analysed for each such call, others once and for all. order is
// topological.
func (w *flowAnalysis) computeStackFlow(known *constFlow, order []int) {
	n := w.nsubs()
	f := &stackFlow{
		instances: map[flowKey]*flowInstance{}, analyzed: make([]bool, n), calls: map[int]*[trackedSlots]argTrack{}, known: known.calls, starts: w.blockStarts(),
	}
	w.liveness.flow = f
	var sites [maxFrames]int
	for i := len(order) - 1; i >= 0; i-- {
		sub := order[i]
		if f.analyzed[sub] && w.subs[sub].linkage != funcGlobal {
			continue
		}
		w.analyzeFlow(nil, f.instance(w.position, nil, 0, sub), &sites)
	}
	f.calls, f.known, f.starts = nil, nil, nil
	w.log.stackUses(w.position, f)
}

// topological orders functions so that callees come before their callers; it refuses recursion, in
// which the analysis would not end.
func (w *flowAnalysis) topological() []int {
	n := w.nsubs()
	color := make([]uint8, n)
	var out, stack []int
	for i := range n {
		if color[i] != 0 {
			continue
		}
		color[i] = 1
		stack = append(stack[:0], i)
	walk:
		for len(stack) > 0 {
			cur := stack[len(stack)-1]
			for _, at := range w.postorder[w.subs[cur].postorder:w.subs[cur+1].postorder] {
				in := &w.insns[at]
				if !isLocalCall(in) && !isFuncRef(in) {
					continue
				}
				callee := w.subprogFrom(callTarget(at, in))
				switch {
				case callee < 0 || color[callee] == 2 || color[callee] == 1 && isFuncRef(in):
				case color[callee] == 1:
					w.refuse(refusal.RecursiveCall, w.subs[cur].name, w.subs[callee].name)
				default:
					color[callee] = 1
					stack = append(stack, callee)
					continue walk
				}
			}
			color[cur] = 2
			out = append(out, cur)
			stack = stack[:len(stack)-1]
		}
	}
	return out
}

// analyzeFlow analyses a function for the arguments of one call; entry is nil if no call passes it
// pointers to a stack.
func (w *flowAnalysis) analyzeFlow(entry *trackRegs, in *flowInstance, sites *[maxFrames]int) {
	f := w.liveness.flow
	if f.count++; f.count > maxFlowCalls {
		w.refuse(refusal.LivenessAnalysisExceededComplexityLimitCalls, f.count)
	}
	if f.count%64 == 0 {
		if err := w.ctx.Err(); err != nil {
			panic(stopped{err})
		}
	}
	var before *flowInstance
	// The call was analysed before with other arguments. What either analysis reads may be read.
	if in.done {
		before = in
		in = &flowInstance{flowKey: in.flowKey, sub: in.sub, start: in.start, count: in.count}
	}
	calls := w.trackFunction(entry, in, sites)
	f.analyzed[in.sub] = true
	for _, at := range w.postorder[w.subs[in.sub].postorder:w.subs[in.sub+1].postorder] {
		regs := calls[at]
		if regs == nil {
			continue
		}
		callee, args, ok := w.flowCall(in, at, regs)
		if !ok {
			continue
		}
		// Deeper chains are refused by exploration as well.
		if in.depth == maxFrames-1 {
			w.refuse(refusal.CallsTooDeepForLiveness)
		}
		next := f.instance(w.position, in, at, callee)
		sites[in.depth] = at
		w.analyzeFlow(&args, next, sites)
		// What the callee needs of its callers' frames, the call reads.
		for fr := range next.depth {
			if next.masks[fr] != nil {
				in.read(w.position, fr, at, next.masks[fr][0].live)
			}
		}
	}
	if before != nil {
		before.merge(in)
		in = before
	}
	w.settleFlow(in)
}

// flowCall returns the function that instruction at calls with pointers to a stack, and the
// arguments. Without such pointers it cannot reach the caller's stack.
func (w *flowAnalysis) flowCall(in *flowInstance, at int, regs *trackRegs) (callee int, args trackRegs, ok bool) {
	insn := &w.insns[at]
	switch {
	case isLocalCall(insn):
		if callee = w.subprogFrom(callTarget(at, insn)); callee < 0 {
			return 0, args, false
		}
		// A callee gets the registers as they are.
		copy(args[1:6], regs[1:6])
	case w.aux[at].callback:
		fn, from, to := callbackArgs(insn)
		if fn == 0 {
			return 0, args, false
		}
		c := w.liveness.flow.known[at][fn]
		// The callback may be any function, and read anything through its context.
		if c.kind != knownFunc {
			if regs[from].frame != trackNone {
				for fr := 0; fr <= in.depth; fr++ {
					in.read(w.position, fr, at, allHalves)
				}
			}
			return 0, args, false
		}
		callee = int(c.val)
		for r := 1; r <= 5; r++ {
			args[r] = noTrack
		}
		args[to] = regs[from]
	default:
		return 0, args, false
	}
	for r := 1; r <= 5; r++ {
		ok = ok || args[r].isPointer()
	}
	return callee, args, ok
}

// callbackArgs returns the register with the callback, the one with its context, and the register
// in which the callback receives that (find_callback_subprog). Other arguments of callbacks are no
// pointers to the stack.
func callbackArgs(in *decode.Insn) (fn, from, to int) {
	if !isHelperCall(in) {
		return 0, 0, 0
	}
	switch uapi.FuncID(in.Imm) {
	case uapi.FuncLoop, uapi.FuncUserRingbufDrain:
		return 2, 3, 2
	case uapi.FuncForEachMapElem:
		return 2, 3, 4
	case uapi.FuncFindVma:
		return 3, 4, 3
	}
	return 0, 0, 0
}

// trackFunction computes the contents of registers and slots before each instruction of a function,
// and records stack accesses (compute_subprog_args). It returns the registers at calls of
// functions.
func (w *flowAnalysis) trackFunction(entry *trackRegs, in *flowInstance, sites *[maxFrames]int) map[int]*trackRegs {
	first := &keptTrack{slots: new([trackedSlots]argTrack)}
	for r := range first.regs {
		first.regs[r] = noTrack
	}
	for s := range first.slots {
		first.slots[s] = noTrack
	}
	// In the beginning R10 and the arguments may be pointers to a stack, and nothing else.
	first.regs[10] = oneOffset(in.depth, 0)
	if entry != nil {
		copy(first.regs[1:6], entry[1:6])
	}
	f := w.liveness.flow
	parents := func(frame int) *[trackedSlots]argTrack { return f.calls[sites[frame]] }
	calls := map[int]*trackRegs{}
	if w.log.level > 1 {
		w.trackLogged(first, in, parents, calls)
		return calls
	}
	w.took(int64(in.count) * pointerBytes)
	kept := make([]*keptTrack, in.count)
	kept[0] = first
	order := w.postorder[w.subs[in.sub].postorder:w.subs[in.sub+1].postorder]
	var buf [2]int
	var t trackState
	block := func(at int, last bool) (changed bool) {
		from := kept[at-in.start]
		t.regs, t.slots = from.regs, *from.slots
		for {
			// Only what holds on all paths is recorded.
			if last {
				w.flowInsn(in, &t, at, calls)
			}
			t.step(&w.insns[at], in.depth, parents)
			next := w.succ(buf[:0], at)
			if len(next) == 1 && !f.starts[next[0]] {
				at = next[0]
				continue
			}
			for _, s := range next {
				if s >= in.start && s < in.start+in.count && w.joinKept(&kept[s-in.start], &t, from) {
					changed = true
				}
			}
			return changed
		}
	}
	for changed, last := true, false; changed || !last; {
		last = !changed
		changed = false
		for p := len(order) - 1; p >= 0; p-- {
			if at := order[p]; kept[at-in.start] != nil && block(at, last) {
				changed = true
			}
		}
	}
	return calls
}

// flowInsn records what an instruction does with the stack.
func (w *flowAnalysis) flowInsn(in *flowInstance, t *trackState, at int, calls map[int]*trackRegs) {
	w.flowAccess(in, t, at)
	if w.insns[at].Code == codeCall {
		w.flowArgs(in, t, at)
	}
	if isLocalCall(&w.insns[at]) || w.aux[at].callback {
		slots, regs := t.slots, t.regs
		w.liveness.flow.calls[at] = &slots
		calls[at] = &regs
	}
}

// joinKept merges the state of another path, which began with from, into one where a block begins.
func (w *flowAnalysis) joinKept(kept **keptTrack, t *trackState, from *keptTrack) bool {
	k := *kept
	if k == nil {
		w.took(keptTrackBytes)
		k = &keptTrack{regs: t.regs, slots: from.slots}
		if t.slots != *from.slots {
			w.took(trackSlotsBytes)
			slots := t.slots
			k.slots = &slots
		}
		*kept = k
		return true
	}
	changed := false
	for r := range k.regs {
		if n := joinTracks(k.regs[r], t.regs[r]); n != k.regs[r] {
			k.regs[r], changed = n, true
		}
	}
	var slots *[trackedSlots]argTrack // not those that others share
	for s := range k.slots {
		n := joinTracks(k.slots[s], t.slots[s])
		if n == k.slots[s] {
			continue
		}
		if slots == nil {
			w.took(trackSlotsBytes)
			slots = new([trackedSlots]argTrack)
			*slots = *k.slots
		}
		slots[s] = n
	}
	if slots != nil {
		k.slots, changed = slots, true
	}
	return changed
}

// flowAccess records the effect of a load or store (record_load_store_access). Sizes are negative
// for stores; an atomic operation reads before it writes.
func (w *flowAnalysis) flowAccess(in *flowInstance, st *trackState, at int) {
	insn := &w.insns[at]
	size, reg := int64(sizeOf(insn)), insn.Dst
	switch class(insn) {
	case clsLDX:
		reg = insn.Src
	case clsSTX:
		switch {
		case mode(insn) != modeATOMIC || insn.Imm == storeRel:
			size = -size
		case insn.Imm == loadAcq:
			reg = insn.Src
		}
	case clsST:
		size = -size
	default:
		return
	}
	if reg > 10 {
		return
	}
	a := st.regs[reg]
	for i := range a.n {
		off, ok := addOffset(a.off[i], int64(insn.Off))
		if !ok {
			a.anyOffset()
			break
		}
		a.off[i] = off
	}
	w.flowTouch(in, a, size, at)
}

// flowTouch records that bytes at an address are read, or written if bytes is negative
// (record_stack_access). Everything that may be read counts as read, and only what is certainly
// written as written, because the latter ends the life of what was there.
func (w *flowAnalysis) flowTouch(in *flowInstance, a argTrack, bytes int64, at int) {
	switch {
	case a.frame == trackSeveral:
		// Any byte of any of the frames (record_imprecise).
		for fr := 0; fr <= in.depth; fr++ {
			if a.mask>>fr&1 != 0 {
				in.read(w.position, fr, at, allHalves)
			}
		}
		return
	case a.frame < 0 || int(a.frame) > in.depth || bytes == 0:
		return
	case a.n == 0:
		// Any byte of the frame may be read; none is certainly written.
		if bytes > 0 || bytes == unknownBytes {
			in.read(w.position, int(a.frame), at, allHalves)
		}
		return
	case bytes < 0 && bytes != unknownBytes && a.n != 1:
		// One of several places is written.
		return
	}
	for i := range a.n {
		off := -int64(a.off[i])
		if off <= 0 {
			continue
		}
		switch {
		case bytes == unknownBytes:
			in.read(w.position, int(a.frame), at, halfRange(0, int(off-1)/4))
		case bytes > 0:
			in.read(w.position, int(a.frame), at, halfRange(max(int((off-bytes)/4), 0), int(off-1)/4))
		default:
			// A half that is written in part keeps the rest.
			lo, hi := max(int((off+bytes+3)/4), 0), int(off/4)-1
			if lo <= hi {
				m := in.need(w.position, int(a.frame), at)
				m.write = m.write.or(halfRange(lo, hi))
			}
		}
	}
}

// settleFlow computes what is live before each instruction (update_instance): what the following
// ones need, without what this one writes, and with what it reads.
func (w *flowAnalysis) settleFlow(in *flowInstance) {
	in.done = true
	order := w.postorder[w.subs[in.sub].postorder:w.subs[in.sub+1].postorder]
	var buf [2]int
	for fr := 0; fr <= in.depth; fr++ {
		masks := in.masks[fr]
		if masks == nil {
			continue
		}
		for changed := true; changed; {
			changed = false
			for _, at := range order {
				succ := w.succ(buf[:0], at)
				if len(succ) == 0 {
					continue
				}
				var after halves
				for _, s := range succ {
					if i := s - in.start; i >= 0 && i < in.count {
						after = after.or(masks[i].live)
					}
				}
				m := &masks[at-in.start]
				if live := after.andNot(m.write).or(m.read); live != m.live {
					m.live, changed = live, true
				}
			}
		}
	}
}
