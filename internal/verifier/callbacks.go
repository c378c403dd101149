package verifier

import (
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// cbKind determines the arguments of a callback.
type cbKind uint8

// callback queues the call of a callback (push_callback_call). How often it is called is not known,
// also 0 times: the current path goes on as if it were not called.
func (fs *frames) callback(sub int, kind cbKind) {
	sp := &fs.subs[sub]
	sp.isCallback = true
	s := fs.cur
	caller := s.frame()
	// Such a callback runs later and on a stack of its own, so that its path begins with nothing of
	// the current state (push_async_cb). Its caller's references do not count there.
	if kind == cbTimer || kind == cbTaskWork {
		sp.isAsync = true
		sleepable := kind == cbTaskWork
		if k := fs.kfuncAt(fs.insn); k != nil {
			sleepable = true
		}
		a := fs.pool.pushAsync(sp.start, fs.insn, sub, sleepable)
		f := a.frames[0]
		// A callback may set itself again: a state of another entry is no sign of a loop
		// (is_state_visited).
		f.asyncEntry = caller.asyncEntry + 1
		fs.setCallback(caller, f, kind)
		return
	}
	if !fs.has(since.CallbackChains) {
		// The callback is explored once, as a function that the call enters after all other checks.
		fs.enterFunc(s, sub, fs.insn, func(caller, callee *frame) { fs.setCallback(caller, callee, kind) })
		s.curFrame--
		fs.calledBack = true
		return
	}
	q := fs.pool.push(sp.start, fs.insn)
	cur := fs.cur
	fs.cur = q
	fs.enterFunc(q, sub, fs.insn, func(caller, callee *frame) { fs.setCallback(caller, callee, kind) })
	fs.cur = cur
	// The states of one round look like those of the last: this count tells them from an endless
	// loop.
	q.unroll++
	// How often the callback ran is compared with the number that bpf_loop was told.
	q.frames[q.curFrame-1].callbackDepth++
	caller.callbackDepth = 0
}

// enterCallback enters the callback of the call that was just checked, if it has one.
func (fs *frames) enterCallback() stepResult {
	if !fs.calledBack {
		return stepNext
	}
	fs.calledBack = false
	fs.cur.curFrame++
	fs.insn = fs.subs[fs.frame().sub].start
	fs.log.called(fs.position)
	return stepJumped
}

// setCallback sets up the arguments of a callback.
func (fs *frames) setCallback(caller, f *frame, kind cbKind) {
	c := &caller.regs
	r := &f.regs
	f.inCallback = true
	f.callbackRet = retRange{0, 1} // 1 ends the iteration
	switch kind {
	case cbMapElem:
		m := fs.maps[fs.curAux().lookup-1]
		if !m.Type.Has(uapi.MapEachElem) {
			fs.refuse(refusal.CallbackFunctionNotAllowedMap)
		}
		r[1] = c[1]
		fs.mapPtrs(&r[2], &r[3], &c[1]) // a key of the map and its value
		r[4] = c[3]
		r[5].notInit()
	case cbLoop:
		// The index of the round is any number, so that all rounds are explored at once.
		r[1].unknown()
		r[2] = c[3]
		r[3].notInit()
		r[4].notInit()
		r[5].notInit()
	case cbTimer, cbTaskWork:
		// What such a callback returns goes to kernel code that expects 0, but for task work.
		f.inCallback, f.inAsync = false, true
		f.callbackRet = retRange{0, 0}
		src := c[1]
		if kind == cbTaskWork {
			src = c[3]
			f.callbackRet = retRange{-1 << 31, 1<<31 - 1}
		}
		r[1].pointer(constMap)
		r[1].mapp, r[1].uid = src.mapp, fs.callbackUID(&src)
		fs.mapPtrs(&r[2], &r[3], &src)
		r[4].notInit()
		r[5].notInit()
	case cbVMA:
		// The callback gets the task, the mapping that was found, and the context.
		r[1] = c[1]
		id, ok := fs.kernelType("vm_area_struct")
		if !ok {
			fs.unknown("struct vm_area_struct, which the kernel's BTF does not have")
		}
		r[2].pointer(ptrBTF)
		r[2].spec, r[2].tid = fs.kernelSpec(), uint32(id)
		r[3] = c[4]
		r[4].notInit()
		r[5].notInit()
	case cbUserRing:
		// The dynptr is a register, as it is memory of the helper's that the callback may only
		// read.
		r[0].notInit()
		markDynReg(&r[1], dynTypeLocal, true, fs.newID())
		r[2] = c[3]
		r[3].notInit()
		r[4].notInit()
		r[5].notInit()
	case cbTreeLess:
		// The comparison gets two nodes of the tree, which it does not own.
		rec := fs.recordOf(&c[1])
		fl := rec.find(uint32(c[1].offset()), fieldRBRoot)
		if fl == nil {
			fs.refuse(refusal.NoTreeAtPointer)
		}
		graphNode(&r[1], fl)
		fs.resources.nonOwning(&r[1])
		graphNode(&r[2], fl)
		fs.resources.nonOwning(&r[2])
		r[3].notInit()
		r[4].notInit()
		r[5].notInit()
	}
	for i := 1; i <= 5; i++ {
		if !fs.r.static {
			// Arguments in the caller's registers are read there.
			continue
		}
		r[i].parent = nil
	}
}

func (fs *frames) mapPtrs(key, value, m *reg) {
	key.pointer(ptrMapKey)
	key.mapp, key.uid = m.mapp, fs.callbackUID(m)
	value.pointer(ptrMapValue)
	value.mapp, value.uid = m.mapp, key.uid
}

// callbackUID is which inner map a callback's arguments are of. Without it they could be used with
// another map of the same kind.
func (fs *frames) callbackUID(m *reg) uint32 {
	if !fs.has(since.CallbackMaps) {
		return 0
	}
	return m.uid
}

// loopCall checks bpf_loop: the callback is explored as long as the number of iterations allows.
func (fs *frames) loopCall(m *callMeta) {
	// The verifier inlines loops whose flags are 0, so it must know the flags' value.
	if r := fs.reg(4); r.isNull() && fs.inlineLoop(m.sub) {
		fs.precision.precise(4)
	}
	if !fs.has(since.CallbackChains) {
		fs.callback(m.sub, cbLoop)
		return
	}
	// The number of rounds decides how often the callback is explored.
	fs.precision.precise(1)
	f := fs.frame()
	// With few rounds the exploration ends by count, otherwise when the states converge
	// (check_helper_call).
	if uint64(f.callbackDepth) < fs.reg(1).UMax {
		fs.callback(m.sub, cbLoop)
		return
	}
	f.callbackDepth = 0
	fs.log.note("frame%d bpf_loop iteration limit reached", fs.cur.curFrame)
}

// inlineLoop reports whether the flags of the loop still matter (update_loop_inline_state): a call
// is inlined if all paths to it have flags 0 and the same callback.
func (fs *frames) inlineLoop(sub int) bool {
	a := fs.curAux()
	if a.loopState == loopUnseen {
		a.loopState, a.loopSub = loopNever, sub
		if fs.reg(4).isNull() {
			a.loopState = loopFits
		}
		return true
	}
	if a.loopState != loopFits {
		return false
	}
	if !fs.reg(4).isNull() || a.loopSub != sub {
		a.loopState = loopNever
	}
	return true
}
