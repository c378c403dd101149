package verifier

import (
	"fmt"
	"math"
	"strings"
)

// stackLiveness computes, for each chain of calls, which stack slots may be read from an
// instruction on, from the reads and writes seen during exploration (kernel/bpf/liveness.c of
// 6.18).
type stackLiveness struct {
	instances map[chainKey]*instance
	cur       *instance
	writes    [maxFrames]uint64
	writeInsn int
	q         liveQuery
}

// chainKey identifies a chain of calls: the call sites, then the start of the function.
type chainKey struct {
	sites [maxFrames]int32
	depth int32
}

// instance is a function as reached by one chain of calls.
type instance struct {
	key    chainKey
	starts [maxFrames]int
	count  int
	masks  [maxFrames][]slotMasks
	seen   []bool // whether must is set for the instruction

	updated, dropped bool
}

// slotMasks are sets of slots at an instruction.
type slotMasks struct{ read, must, mustAfter, live uint64 }

type liveQuery struct {
	inst  [maxFrames]*instance
	depth int
	insn  int
}

func newStackLiveness() *stackLiveness { return &stackLiveness{instances: map[chainKey]*instance{}} }

// lookup returns the function at a depth of a state's chain of calls (lookup_instance). One
// function may write its caller's stack in one chain and not in another.
func (l *stackLiveness) lookup(e *position, s *state, depth int) *instance {
	var k chainKey
	var starts [maxFrames]int
	for i := 0; i <= depth; i++ {
		starts[i] = e.subs[s.frames[i].sub].start
		if i < s.curFrame {
			k.sites[i] = int32(s.frames[i+1].callsite)
		}
	}
	k.depth = int32(depth)
	k.sites[depth] = int32(starts[depth])
	return l.instance(e, k, starts)
}

// instance returns the entry of a chain of calls, a new one if need be.
func (l *stackLiveness) instance(e *position, k chainKey, starts [maxFrames]int) *instance {
	if in := l.instances[k]; in != nil {
		return in
	}
	n := e.subprogAt(starts[k.depth])
	count := e.subs[n+1].start - e.subs[n].start
	e.took(int64(count))
	in := &instance{key: k, starts: starts, count: count, seen: make([]bool, count)}
	l.instances[k] = in
	return in
}

// chain returns the chain of calls as the kernel's log prints it.
func (in *instance) chain() string {
	var sites []string
	for _, at := range in.key.sites[:in.key.depth+1] {
		sites = append(sites, fmt.Sprint(at))
	}
	return "(" + strings.Join(sites, ",") + ")"
}

func (in *instance) start() int { return in.starts[in.key.depth] }

func (in *instance) at(frame, insn int) *slotMasks {
	if in.masks[frame] == nil {
		return nil
	}
	if i := insn - in.start(); i >= 0 && i < in.count {
		return &in.masks[frame][i]
	}
	return nil
}

func (in *instance) need(e *position, frame, insn int) *slotMasks {
	if in.masks[frame] == nil {
		e.took(int64(in.count) * 32)
		in.masks[frame] = make([]slotMasks, in.count)
	}
	return &in.masks[frame][insn-in.start()]
}

func (l *stackLiveness) ensure(e *position) *instance {
	if l.cur == nil {
		l.cur = l.lookup(e, e.cur, e.cur.curFrame)
	}
	return l.cur
}

func (l *stackLiveness) forget() { l.cur = nil }

// markRead records a read (mark_stack_read). What is live already need not go through the function
// again.
func (l *stackLiveness) markRead(e *position, in *instance, frame, insn int, mask uint64) {
	m := in.need(e, frame, insn)
	if n := m.read | mask; n != m.read && n|m.live != m.live {
		in.updated = true
	}
	m.read |= mask
}

// begin starts collecting what an instruction writes.
func (l *stackLiveness) begin(e *position, insn int) {
	l.ensure(e)
	l.writeInsn = insn
	l.writes = [maxFrames]uint64{}
}

// commit records what the instruction wrote (commit_stack_write_marks): of several visits only what
// each of them wrote is certain to be overwritten.
func (l *stackLiveness) commit(e *position, in *instance) {
	if in == nil {
		return
	}
	idx := l.writeInsn - in.start()
	for f := 0; f <= int(in.key.depth); f++ {
		mask := l.writes[f]
		if mask == 0 && !in.seen[idx] {
			continue
		}
		m := in.need(e, f, l.writeInsn)
		// The kernel keeps the old set in 32 bits.
		old := uint64(uint32(m.must))
		if in.seen[idx] {
			mask &= old
		}
		if old != mask {
			m.must = mask
			in.updated = true
		}
		if old&^mask != 0 {
			in.dropped = true
		}
	}
	in.seen[idx] = true
}

// updateInsn applies the equations of live variables to one instruction (update_insn): live is what
// the next ones need but for what is written here, and what is read here. mustAfter is what every
// path from here on writes, for callers.
func (l *stackLiveness) updateInsn(e *position, in *instance, f, insn int, buf []int) bool {
	succ := e.succ(buf, insn)
	// Nothing follows an exit.
	if len(succ) == 0 {
		return false
	}
	m := in.at(f, insn)
	after, must := uint64(0), uint64(math.MaxUint64)
	for _, s := range succ {
		x := in.at(f, s)
		if x == nil {
			continue
		}
		after |= x.live
		must &= x.mustAfter
	}
	must |= m.must
	before := after&^m.must | m.read
	changed := before != m.live || must != m.mustAfter
	if e.log.level > 1 && (m.read != 0 || m.must != 0 || insn == in.start() || e.aux[insn].prune) {
		e.log.marks(in, f, insn, "live", m.live, before)
		e.log.marks(in, f, insn, "written", m.mustAfter, must)
	}
	m.live, m.mustAfter = before, must
	return changed
}

// updateInstance applies the equations until nothing changes (update_instance).
func (l *stackLiveness) updateInstance(e *position, in *instance) {
	// Sets of what is written only shrink from here on, and must be computed anew.
	if in.dropped {
		for f := 0; f <= int(in.key.depth); f++ {
			for i := range in.masks[f] {
				in.masks[f][i].mustAfter = 0
			}
		}
	}
	n := e.subprogAt(in.start())
	var buf [2]int
	turns := 0
	for changed := true; changed; turns++ {
		changed = false
		for f := 0; f <= int(in.key.depth); f++ {
			if in.masks[f] == nil {
				continue
			}
			for _, i := range e.postorder[e.subs[n].postorder:e.subs[n+1].postorder] {
				if l.updateInsn(e, in, f, i, buf[:0]) {
					changed = true
				}
			}
		}
	}
	e.log.iterations(in, turns)
	if in.key.depth > 0 {
		l.toCaller(e, in)
	}
}

// toCaller transfers what a function reads and writes to the call (propagate_to_outer_instance),
// where it is like what one instruction does.
func (l *stackLiveness) toCaller(e *position, in *instance) {
	k, starts := in.key, in.starts
	d := k.depth
	site := int(k.sites[d-1])
	k.sites[d], starts[d] = 0, 0
	k.depth--
	k.sites[d-1] = int32(starts[d-1])
	out := l.instance(e, k, starts)
	l.writeInsn = site
	l.writes = [maxFrames]uint64{}
	for f := 0; f < int(d); f++ {
		if m := in.at(f, in.start()); m != nil {
			l.writes[f] |= m.mustAfter
			l.markRead(e, out, f, site, m.live)
		}
	}
	l.commit(e, out)
}

// update processes what was collected for the chain of the current state (bpf_update_live_stack).
// It happens at the end of paths and functions, so that states are cleared by complete marks.
func (l *stackLiveness) update(e *position) {
	l.forget()
	// Inner functions first, as they add to what their callers do.
	for f := e.cur.curFrame; f >= 0; f-- {
		in := l.lookup(e, e.cur, f)
		if in.updated {
			l.updateInstance(e, in)
			in.updated, in.dropped = false, false
		}
	}
}

func (l *stackLiveness) query(e *position, s *state) {
	l.q = liveQuery{depth: s.curFrame, insn: s.insn}
	for f := 0; f <= s.curFrame; f++ {
		l.q.inst[f] = l.lookup(e, s, f)
	}
}

func (in *instance) liveBefore(insn, frame, slot int) bool {
	m := in.at(frame, insn)
	return m != nil && m.live>>slot&1 != 0
}

// alive reports whether a slot of a frame may be read from the state on that was passed to query
// (bpf_stack_slot_alive): by the current function, or by one of its callers after the call. A call
// with a callback is processed again.
func (l *stackLiveness) alive(e *position, frame, slot int) bool {
	q := &l.q
	c := q.inst[q.depth]
	if c.liveBefore(q.insn, frame, slot) {
		return true
	}
	for i := frame; i < q.depth; i++ {
		site := int(c.key.sites[i])
		at := site + 1
		if e.aux[site].callback {
			at = site
		}
		if q.inst[i].liveBefore(at, frame, slot) {
			return true
		}
	}
	return false
}

// readSlot records that a slot of a frame is read.
func (l *liveness) readSlot(f *frame, spi int) {
	if l.flow != nil {
		return
	}
	if l.r.static {
		l.live.markRead(l.position, l.live.ensure(l.position), f.no, l.insn, 1<<spi)
		return
	}
	l.markSlotRead(f, spi)
}

// wroteSlot records that a whole slot of a frame is written.
func (l *liveness) wroteSlot(f *frame, spi int) {
	if l.flow != nil {
		return
	}
	if l.r.static {
		l.live.writes[f.no] |= 1 << spi
		return
	}
	f.uses[spi] |= liveWritten
}

// markRead marks a read in the checkpoints back to where the register was written (mark_reg_read):
// a state that differs there may go another way, one that differs elsewhere cannot.
func (l *liveness) markRead(r *reg) {
	n := 0
	for r.live&liveWritten == 0 && r.parent != nil && r.parent.live&liveRead == 0 {
		r = r.parent
		r.live |= liveRead
		n++
	}
	l.longest = max(l.longest, n)
}

// markSlotRead marks a read of a slot in the checkpoints back to where the slot was written.
func (l *liveness) markSlotRead(f *frame, spi int) {
	n := 0
	for f.uses[spi]&liveWritten == 0 && spi < f.common && f.before.uses[spi]&liveRead == 0 {
		f = f.before
		f.uses[spi] |= liveRead
		n++
	}
	l.longest = max(l.longest, n)
}

// readReg and wroteReg record accesses of registers.
func (l *liveness) readReg(r *reg) {
	if !l.r.static {
		l.markRead(r)
	}
}

func (r *reg) wrote() { r.live |= liveWritten }

// propagateLiveness makes the current state read what the kept state reads (propagate_liveness):
// its path ends here, and goes on as that of the kept state did.
func (l *liveness) propagateLiveness(old, cur *state) { l.propagateLivenessChanged(old, cur, nil) }

// propagateLivenessChanged also tells whether a mark was new, as loops are processed until none is.
func (l *liveness) propagateLivenessChanged(old, cur *state, changed *bool) {
	for fr := 0; fr <= old.curFrame; fr++ {
		o, c := old.frames[fr], cur.frames[fr]
		first := 0
		// R0 to R5 of a caller are clobbered by the call.
		if fr < old.curFrame {
			first = 6
		}
		for i := first; i < 10; i++ {
			l.propagateReg(&o.regs[i], &c.regs[i], changed)
		}
		for i := 0; i < min(len(o.stack), len(c.stack)); i++ {
			if o.uses[i]&liveRead != 0 && c.uses[i]&liveRead == 0 {
				setTrue(changed)
				c.uses[i] |= liveRead
				l.markSlotRead(c, i)
			}
		}
	}
}

func (l *liveness) propagateReg(o, c *reg, changed *bool) {
	if o.live&liveRead == 0 || c.live&liveRead != 0 {
		return
	}
	setTrue(changed)
	c.live |= liveRead
	l.markRead(c)
}
