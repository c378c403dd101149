package verifier

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier/since"
)

// push queues a copy of the current state, to be explored from instruction to on (push_stack).
func (e *env) push(to, from int) *state {
	s := e.newState()
	e.copyState(s, e.cur)
	e.pending = append(e.pending, pendingState{st: s, insn: to, prev: from, logPos: e.log.pos()})
	if len(e.pending) > maxPending {
		e.refuse(uapi.E2BIG, "The sequence of %d jumps is too complex.", len(e.pending))
	}
	if s.parent != nil {
		s.parent.branches++
	}
	return s
}

// pushAsync queues a callback that runs by itself.
func (e *env) pushAsync(to, from, sub int, sleepable bool) *state {
	s := e.newState()
	s.branches = 1
	s.sleepable = sleepable
	s.frames[0] = e.newFrame()
	e.initFrame(s.frames[0], mainFunc, 0, sub)
	e.pending = append(e.pending, pendingState{st: s, insn: to, prev: from, logPos: e.log.pos()})
	if len(e.pending) > maxPending {
		e.refuse(uapi.E2BIG, "The sequence of %d jumps is too complex for async cb.", len(e.pending))
	}
	return s
}

// pop continues with the state that was queued last.
func (e *env) pop() bool {
	n := len(e.pending)
	if n == 0 {
		return false
	}
	p := e.pending[n-1]
	e.pending = e.pending[:n-1]
	e.freeState(e.cur)
	e.cur = p.st
	e.insn, e.prev = p.insn, p.prev
	e.log.rewind(p.logPos)
	return true
}

// walkAll explores everything from the current state on (do_check).
func (e *env) walkAll() {
	e.prev = -1
	prev := -1
	for {
		e.histEntry = nil
		e.prev = prev
		s := e.cur
		if e.insn < 0 || e.insn >= len(e.insns) {
			e.refuse(uapi.EFAULT, "invalid insn idx %d insn_cnt %d", e.insn, len(e.insns))
		}
		in := &e.insns[e.insn]
		e.processed++
		if e.processed > maxInsns {
			e.refuse(uapi.E2BIG, "BPF program is too large. Processed %d insn", e.processed)
		}
		if e.processed&1023 == 0 {
			if err := e.ctx.Err(); err != nil {
				panic(stopped{err})
			}
		}
		a := &e.aux[e.insn]
		s.last = e.prev
		s.insn = e.insn
		e.lines = e.lines[:0]
		if a.prune {
			if e.visited(e.insn) {
				e.log.safe(e)
				if e.o.onInsn != nil {
					e.o.onInsn(e, true)
				}
				if !e.next(&prev) {
					return
				}
				continue
			}
		}
		if a.jump && e.r.jumpPoints {
			e.pushHistory(s, 0, 0, 0, nil)
		}
		e.log.insn(e)
		if e.o.onInsn != nil {
			e.o.onInsn(e, false)
		}
		a.seen = true
		prev = e.insn
		if e.live != nil {
			e.live.begin(e, e.insn)
		}
		exit := e.step(in)
		if e.live != nil {
			e.live.commit(e, e.live.cur)
		}
		switch exit {
		case stepNext:
			e.insn++
		case stepJumped:
		case stepReturned:
			e.log.returned()
		case stepEnd:
			if !e.next(&prev) {
				return
			}
		}
	}
}

// next ends the current path and continues with the one queued last; false when there is none.
func (e *env) next(prev *int) bool {
	if e.live != nil {
		e.live.update(e)
	}
	e.finish(e.cur)
	if !e.pop() {
		return false
	}
	*prev = e.prev
	if e.live != nil {
		e.live.forget()
	}
	e.log.branch()
	return true
}

type stepResult uint8

const (
	stepNext     stepResult = iota // the next instruction follows
	stepJumped                     // e.insn is set
	stepReturned                   // a function returned; e.insn is set
	stepEnd                        // the path ends
)

// step judges an instruction and moves the state over it.
func (e *env) step(in *decode.Insn) stepResult {
	if n := max(in.Dst, in.Src); n > 10 {
		e.refuse(uapi.EINVAL, "R%d is invalid", n)
	}
	switch class(in) {
	case clsALU, clsALU64:
		e.alu(in)
	case clsLDX:
		if m := mode(in); m != modeMEM && !(m == modeMEMSX && e.has(since.CPUv4)) || in.Imm != 0 {
			e.refuse(uapi.EINVAL, "BPF_LDX uses reserved fields")
		}
		e.load(in, in.Dst, in.Src, mode(in) == modeMEMSX)
	case clsSTX:
		if mode(in) == modeATOMIC {
			e.atomic(in)
			return stepNext
		}
		if mode(in) != modeMEM || in.Imm != 0 {
			e.refuse(uapi.EINVAL, "BPF_STX uses reserved fields")
		}
		e.store(in)
	case clsST:
		if mode(in) != modeMEM || in.Src != 0 {
			e.refuse(uapi.EINVAL, "BPF_ST uses reserved fields")
		}
		e.checkSrc(in.Dst)
		t := e.reg(int(in.Dst)).typ
		if t.base() == ptrCtx && !e.has(since.StoreConstToContext) {
			e.refuse(uapi.EACCES, "BPF_ST stores into R%d %s is not allowed", in.Dst, e.typeName(t))
		}
		e.access(e.insn, int(in.Dst), int(in.Off), sizeOf(in), write, -1, false, false)
		e.samePointer(t, false)
	case clsJMP, clsJMP32:
		e.jumps++
		return e.jump(in)
	case clsLD:
		switch mode(in) {
		case modeABS, modeIND:
			return e.loadPacket(in)
		case modeIMM:
			e.loadImm(in)
			e.insn++
			e.aux[e.insn].seen = true
		default:
			e.refuse(uapi.EINVAL, "invalid BPF_LD mode")
		}
	}
	return stepNext
}

func (e *env) jump(in *decode.Insn) stepResult {
	w32 := class(in) == clsJMP32
	switch opOf(in) {
	case opCall:
		if isX(in) || in.Src != 2 && in.Off != 0 || in.Src > 2 || in.Src == 2 && e.rel < since.R(5, 13) || in.Dst != 0 || w32 {
			e.refuse(uapi.EINVAL, "BPF_CALL uses reserved fields")
		}
		return e.call(in)
	case opJA:
		if isX(in) && e.has(since.Gotox) {
			return e.gotox(in)
		}
		if isX(in) || in.Src != 0 || in.Dst != 0 || !w32 && in.Imm != 0 || w32 && (in.Off != 0 || !e.has(since.LongJump)) {
			e.refuse(uapi.EINVAL, "BPF_JA uses reserved fields")
		}
		e.insn += jumpOff(in) + 1
		return stepJumped
	case opExit:
		if isX(in) || in.Imm != 0 || in.Src != 0 || in.Dst != 0 || w32 {
			e.refuse(uapi.EINVAL, "BPF_EXIT uses reserved fields")
		}
		return e.exit(false)
	}
	e.condJump(in)
	return stepNext
}

// exit leaves a function, or the program.
func (e *env) exit(throw bool) stepResult {
	s := e.cur
	e.resourceLeak(throw || s.curFrame == 0, !throw, exitPrefix(throw))
	if throw {
		return stepEnd
	}
	if s.curFrame > 0 {
		if e.live != nil {
			e.live.update(e)
		}
		e.leaveFunc()
		return stepReturned
	}
	e.checkReturn(0, "R0")
	return stepEnd
}

func exitPrefix(throw bool) string {
	if throw {
		return "bpf_throw"
	}
	return "BPF_EXIT instruction in main prog"
}

// checkSrc demands that a register may be read.
func (e *env) checkSrc(n uint8) {
	if n > 10 {
		e.refuse(uapi.EINVAL, "R%d is invalid", n)
	}
	e.log.touch(int(n))
	r := e.reg(int(n))
	if r.typ == notInit {
		e.refuse(uapi.EACCES, "R%d !read_ok", n)
	}
	if n != 10 {
		e.readReg(r)
	}
}

// checkDst demands that a register may be written; mark makes it unknown.
func (e *env) checkDst(n uint8, mark bool) {
	if n > 10 {
		e.refuse(uapi.EINVAL, "R%d is invalid", n)
	}
	if n == 10 {
		e.refuse(uapi.EACCES, "frame pointer is read only")
	}
	e.log.touch(int(n))
	r := e.reg(int(n))
	r.wrote()
	if mark {
		r.unknown()
	}
}

// clobber makes the registers a call does not keep not initialised.
func (e *env) clobber(regs *[11]reg) {
	for i := 0; i <= 5; i++ {
		regs[i].notInit()
		regs[i].wrote()
		e.log.touch(i)
	}
}

// samePointer demands that an instruction always works on one kind of pointer where the kernel rewrites it.
func (e *env) samePointer(t regType, trustMayDiffer bool) {
	p := &e.curAux().ptrType
	if *p == notInit {
		*p = t
		return
	}
	if t == *p || mismatchOK(t) && mismatchOK(*p) {
		return
	}
	if trustMayDiffer && t.base() == ptrBTF && (*p).base() == ptrBTF {
		*p = ptrBTF | ptrUntrusted
		return
	}
	if trustMayDiffer && e.rel >= since.R(6, 17) && isUntrusted(t) && isUntrusted(*p) {
		*p = ptrBTF | ptrUntrusted
		return
	}
	e.refuse(uapi.EINVAL, "same insn cannot be used with different pointers")
}

func isUntrusted(t regType) bool {
	return t.base() == ptrBTF || t.base() == ptrMem && t&ptrUntrusted != 0
}

func mismatchOK(t regType) bool {
	switch t.base() {
	case ptrCtx, ptrSocket, ptrSockCommon, ptrTCPSock, ptrXDPSock, ptrBTF, ptrArena:
		return false
	case ptrMem:
		return t&ptrUntrusted == 0
	}
	return true
}
