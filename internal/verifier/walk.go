package verifier

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// walkAll explores everything from the current state on (do_check).
func (e *explorer) walkAll() {
	e.prev = -1
	prev := -1
	f := e.o.follow
	if f != nil && !f.active {
		f = nil
	}
	for {
		e.precision.histEntry = nil
		e.prev = prev
		if f != nil {
			f.steer(e, &prev)
		}
		s := e.cur
		if e.insn < 0 || e.insn >= len(e.insns) {
			e.refuse(refusal.InvalidInsnIdxInsnCnt, e.insn, len(e.insns))
		}
		in := &e.insns[e.insn]
		e.countInsn()
		a := &e.aux[e.insn]
		s.last = e.prev
		s.insn = e.insn
		// A refusal's reason is what was said about its own instruction.
		e.lines = e.lines[:0]
		// States are kept and compared only where paths meet or separate.
		if a.prune {
			if e.checkpoints.visited(e.insn) {
				e.log.safe(e.position)
				if e.o.onInsn != nil {
					e.o.onInsn(e.position, true)
				}
				if !e.next(&prev) {
					return
				}
				continue
			}
		}
		// Where the path comes from is noted for the walk back (push_jmp_history).
		if a.jump && e.r.jumpPoints {
			e.precision.pushHistory(s, 0, 0, 0, nil)
		}
		e.log.insn(e.position)
		if e.o.onInsn != nil {
			e.o.onInsn(e.position, false)
		}
		// Instructions that no path reaches are removed or replaced (opt_remove_dead_code,
		// sanitize_dead_code).
		a.seen = true
		prev = e.insn
		if e.liveness.live != nil {
			e.liveness.live.begin(e.position, e.insn)
		}
		exit := e.step(in)
		if e.liveness.live != nil {
			e.liveness.live.commit(e.position, e.liveness.live.cur)
		}
		switch exit {
		case stepNext:
			e.insn++
		case stepJumped:
		case stepReturned:
			e.log.returned()
		case stepEnd:
			if f != nil {
				f.stop("")
			}
			if !e.next(&prev) {
				return
			}
		}
	}
}

// countInsn counts a processed instruction. Those of all paths count, so that the limit bounds the
// time of a load (BPF_COMPLEXITY_LIMIT_INSNS).
func (e *explorer) countInsn() {
	e.processed++
	e.subs[e.cur.frames[0].sub].processed++
	if e.processed > maxInsns {
		e.refuse(refusal.BPFProgramTooLargeProcessedInsn, e.processed)
	}
	if e.processed&1023 == 0 {
		if err := e.ctx.Err(); err != nil {
			panic(stopped{err})
		}
	}
}

// next ends the current path and continues with the one queued last; it returns false if there is
// none. Marks are completed before the next path is compared with anything.
func (e *explorer) next(prev *int) bool {
	e.checkpoints.finish(e.cur)
	if e.liveness.live != nil {
		e.liveness.live.update(e.position)
	}
	if !e.pool.pop() {
		return false
	}
	*prev = e.prev
	if e.liveness.live != nil {
		e.liveness.live.forget()
	}
	e.log.branch()
	return true
}

type stepResult uint8

const (
	stepNext     stepResult = iota // continue with the next instruction
	stepJumped                     // e.insn is set
	stepReturned                   // a function returned; e.insn is set
	stepEnd                        // the path ends
)

// step checks an instruction and applies it to the state.
func (e *explorer) step(in *decode.Insn) stepResult {
	e.checkRegisters(in)
	switch class(in) {
	case clsALU, clsALU64:
		e.values.alu(in)
	case clsLDX:
		e.memFields(in)
		e.memory.load(in, in.Dst, in.Src, mode(in) == modeMEMSX)
	case clsSTX:
		if mode(in) == modeATOMIC {
			e.memory.atomic(in)
			return stepNext
		}
		e.memFields(in)
		e.memory.store(in)
	case clsST:
		e.memFields(in)
		e.values.checkSrc(in.Dst)
		t := e.reg(int(in.Dst)).typ
		// The rewriting of accesses to the context had no form for a stored constant.
		if t.base() == ptrCtx && !e.has(since.StoreConstToContext) {
			e.refuse(refusal.BPFSTStoresIntoRNot, in.Dst, e.typeName(t))
		}
		e.memory.access(e.insn, int(in.Dst), int(in.Off), sizeOf(in), write, -1, false, false)
		e.memory.samePointer(t, false)
	case clsJMP, clsJMP32:
		e.jumps++
		return e.jump(in)
	case clsLD:
		switch mode(in) {
		case modeABS, modeIND:
			return e.loadPacket(in)
		case modeIMM:
			e.loadImm(in)
			// The second slot of the load is not an instruction.
			e.insn++
			e.aux[e.insn].seen = true
		default:
			e.packetFields(in)
		}
	}
	return stepNext
}

// jump checks jumps, calls and exits (do_check_insn). Conditions queue the path that is not taken
// next.
func (e *explorer) jump(in *decode.Insn) stepResult {
	e.jumpFields(in)
	switch opOf(in) {
	case opCall:
		return e.call(in)
	case opJA:
		if isX(in) {
			return e.conditions.gotox(in)
		}
		e.insn += jumpOff(in) + 1
		return stepJumped
	case opExit:
		return e.frames.exit(false)
	}
	e.conditions.condJump(in)
	return stepNext
}
