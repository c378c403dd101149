package verifier

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/decode"
)

// Costs are what a verification costs, by place in the program. The zero value is ready for
// [Options.Costs], for one verification.
type Costs struct {
	// Insns has a row for each slot of the program.
	Insns []InsnCost
	// Calls are the chains of calls in which instructions were processed; callers come before their
	// callees.
	Calls []CallCost
	// Forks are the places that queued a second path, by slot.
	Forks map[int]*ForkCost
	// Hot is the path along which, at every fork, the side that cost more was chosen; it ends where
	// nothing forks any more.
	Hot []Step
	// Apart are the places of states that kept states apart which are equal in (almost) all others,
	// the most frequent first.
	Apart []Apart

	e        *explorer
	call     int // the current row of Calls
	rows     map[callKey]int
	room     int   // how many numbers rows of Calls may still have
	segs     []seg // paths from a fork to their end, by their number
	seg      int32
	pending  []int32 // numbers of the queued ones, as in pool
	apart    map[apartKey]*Apart
	compared int
}

// InsnCost is what an instruction costs.
type InsnCost struct {
	Processed int // how often it was processed
	Pruned    int // how often the path ended there, because an earlier state covers it
	States    int // how many states were kept there
	Taken     int // conditional jumps: how often the path went to the target
	Fell      int // and how often to the next instruction
}

// CallCost is what a function costs in one chain of calls.
type CallCost struct {
	Parent int // row of the caller, -1 if there is none
	Site   int // slot of the call
	Start  int // slot at which the function starts
	Name   string
	Global bool // it is verified once, and not with each call
	Times  int  // how often it was entered
	// Insns are how often its instructions were processed in this chain, from Start on.
	Insns []int
	// States are how many states were kept.
	States []int
}

// ForkCost is what the second paths cost that a place queued.
type ForkCost struct {
	Count  int // how often it queued one
	Pruned int // how many ended before they processed ten instructions
	Insns  int // instructions processed on them, without those of further forks
}

// Step is a fork on a path.
type Step struct {
	Insn int
	// Queued means that the path goes on with the queued side: that of the target, for conditional
	// jumps.
	Queued bool
	// Below is how many instructions were processed from here on, Other how many on the other side.
	Below, Other int
}

// Apart is a place that kept states apart.
type Apart struct {
	Insn  int    // where states are compared
	In    int    // the same in the function that the place belongs to: a caller is at a call
	Place string // "R3", "fp-16", "caller's R6", "references", "locks"
	Kind  ApartKind
	// Count is how often nothing else differed, Also how often something else did, too. The
	// candidates are the closest states.
	Count, Also int
	// Loop means that the kept state belongs to the same path: an earlier turn of a loop.
	Loop bool
	// Kept and Now describe the place in the first pair of states.
	Kept, Now string
}

// ApartKind is how a place differs.
type ApartKind uint8

// Kinds of differences.
const (
	ApartValue  ApartKind = iota // constants that differ
	ApartRange                   // the new range is not within the old
	ApartType                    // a pointer and a number, other pointers, a null check on one side
	ApartUnset                   // it has no value in the new state
	ApartLinked                  // the same value, but other registers are linked to it
	ApartHeld                    // references, locks and the like
)

// String returns what differs, in words.
func (k ApartKind) String() string {
	return [...]string{"constant", "range", "type", "unset", "linked", "held"}[k]
}

type apartKey struct {
	insn  int
	place string
	loop  bool
}

// callKey is what tells a row of Calls from others.
type callKey struct{ parent, site, start int }

// seg is a path from a fork (or the start of a function) to its end.
type seg struct {
	parent   int32
	insn     int32 // slot of the fork
	at       int32 // instructions of the parent before the fork
	own      int32 // processed on it
	total    int32 // and on those that it forked
	children []int32
}

const (
	// maxApart bounds how many pairs of states are compared for [Costs.Apart], which costs as much
	// as the verification itself.
	maxApart = 200000
	// maxCallNumbers bounds what the rows of [Costs.Calls] take: a program may have as many chains
	// of calls as calls are verified. What is called in further chains is counted without its
	// callers.
	maxCallNumbers = 1 << 24
	// closest is how many kept states a state is compared with.
	closest = 4
	// soon is how many instructions a path processes at most that is said to be pruned at once.
	soon = 10
)

// begin prepares the record of a verification, before the program is laid out.
func (c *Costs) begin(e *explorer) {
	*c = Costs{e: e, call: -1, rows: map[callKey]int{}, room: maxCallNumbers, Forks: map[int]*ForkCost{}, apart: map[apartKey]*Apart{}, Insns: make([]InsnCost, len(e.insns))}
	next := e.o.onInsn
	e.o.onInsn = func(p *position, pruned bool) {
		c.insn(p, pruned)
		if next != nil {
			next(p, pruned)
		}
	}
}

// root begins a path that no fork queued.
func (c *Costs) root(insn int) {
	c.pending = c.pending[:0]
	c.seg = int32(len(c.segs))
	c.segs = append(c.segs, seg{parent: -1, insn: int32(insn)})
}

func (c *Costs) insn(p *position, pruned bool) {
	i := p.insn
	in := &c.Insns[i]
	in.Processed++
	if pruned {
		in.Pruned++
	}
	c.segs[c.seg].own++
	if from := p.prev; from >= 0 && isConditional(&p.insns[from]) {
		if i == from+1 {
			c.Insns[from].Fell++
		} else {
			c.Insns[from].Taken++
		}
	}
	c.enter(p)
	call := &c.Calls[c.call]
	if at := i - call.Start; at >= 0 && at < len(call.Insns) {
		call.Insns[at]++
		if at == 0 && (p.prev < 0 || isJump(&p.insns[p.prev]) && opOf(&p.insns[p.prev]) == opCall) {
			call.Times++
		}
	}
}

func isConditional(in *decode.Insn) bool {
	if !isJump(in) {
		return false
	}
	switch opOf(in) {
	case opCall, opExit, opJA:
		return false
	}
	return true
}

// enter makes the chain of calls of the current state the current row.
func (c *Costs) enter(p *position) {
	s := p.cur
	if c.call >= 0 && c.is(c.call, s, s.curFrame) {
		return
	}
	row := -1
	for f := 0; f <= s.curFrame; f++ {
		row = c.child(p, row, s.frames[f])
	}
	c.call = row
}

// is reports whether a row is the chain of calls to a frame of a state.
func (c *Costs) is(row int, s *state, f int) bool {
	for ; row >= 0 && f >= 0; f-- {
		call := &c.Calls[row]
		if call.Site != s.frames[f].callsite || call.Start != c.e.subs[s.frames[f].sub].start {
			return false
		}
		row = call.Parent
	}
	return row < 0 && f < 0
}

// child returns the row of a frame that row calls, and adds it if it is new.
func (c *Costs) child(p *position, row int, f *frame) int {
	sub := &p.subs[f.sub]
	n := p.subs[f.sub+1].start - sub.start
	key := callKey{row, f.callsite, sub.start}
	if i, ok := c.rows[key]; ok {
		return i
	}
	if 2*n > c.room {
		key.parent, key.site = -1, -1
		if i, ok := c.rows[key]; ok {
			return i
		}
	}
	c.room -= 2 * n
	c.rows[key] = len(c.Calls)
	c.Calls = append(c.Calls, CallCost{Parent: key.parent, Site: key.site, Start: sub.start, Name: sub.name, Global: sub.linkage == funcGlobal && f.sub > 0, Insns: make([]int, n), States: make([]int, n)})
	return len(c.Calls) - 1
}

// fork notes that the current instruction queued a path.
func (c *Costs) fork(from int) {
	f := c.Forks[from]
	if f == nil {
		f = &ForkCost{}
		c.Forks[from] = f
	}
	f.Count++
	n := int32(len(c.segs))
	c.segs = append(c.segs, seg{parent: c.seg, insn: int32(from), at: c.segs[c.seg].own})
	c.segs[c.seg].children = append(c.segs[c.seg].children, n)
	c.pending = append(c.pending, n)
}

// pop notes that the path queued last is explored.
func (c *Costs) pop() {
	n := len(c.pending) - 1
	c.seg = c.pending[n]
	c.pending = c.pending[:n]
}

// kept notes that a state was kept.
func (c *Costs) kept(p *position, i int) {
	c.Insns[i].States++
	c.enter(p)
	call := &c.Calls[c.call]
	if at := i - call.Start; at >= 0 && at < len(call.States) {
		call.States[at]++
	}
}

// end completes the record.
func (c *Costs) end() {
	e := c.e
	sum := 0
	for i := range c.Insns {
		sum += c.Insns[i].Processed
	}
	if e.insn >= 0 && e.insn < len(c.Insns) {
		c.Insns[e.insn].Processed += e.processed - sum // the one at which it ended
	}
	for i := len(c.segs) - 1; i >= 0; i-- { // those forked later come later
		s := &c.segs[i]
		s.total += s.own
		if s.parent >= 0 {
			c.segs[s.parent].total += s.total
			f := c.Forks[int(s.insn)]
			f.Insns += int(s.own)
			if s.own > 0 && s.own <= soon {
				f.Pruned++
			}
		}
	}
	c.hot()
	for _, a := range c.apart {
		c.Apart = append(c.Apart, *a)
	}
	slices.SortFunc(c.Apart, func(a, b Apart) int {
		switch {
		case a.Count != b.Count:
			return b.Count - a.Count
		case a.Also != b.Also:
			return b.Also - a.Also
		case a.Insn != b.Insn:
			return a.Insn - b.Insn
		case a.Place != b.Place:
			return strings.Compare(a.Place, b.Place)
		case a.Loop:
			return 1
		}
		return -1
	})
	c.e, c.segs, c.pending, c.apart, c.rows = nil, nil, nil, nil, nil
}

// hot finds the hottest path.
func (c *Costs) hot() {
	if len(c.segs) == 0 {
		return // it was refused before the first instruction
	}
	at := int32(0)
	for i := range c.segs {
		if c.segs[i].parent < 0 && c.segs[i].total > c.segs[at].total {
			at = int32(i)
		}
	}
	for {
		s := &c.segs[at]
		left, gone := s.total, int32(0)
		next := int32(-1)
		for _, k := range s.children {
			child := &c.segs[k]
			left -= child.at - gone
			gone = child.at
			stay := left - child.total
			if child.total > stay {
				c.Hot = append(c.Hot, Step{Insn: int(child.insn), Queued: true, Below: int(child.total), Other: int(stay)})
				next = k
				break
			}
			c.Hot = append(c.Hot, Step{Insn: int(child.insn), Below: int(stay), Other: int(child.total)})
			left = stay
		}
		if next < 0 {
			return
		}
		at = next
	}
}

// missed finds what kept the current state apart from those kept at instruction i; none of them
// covers it.
func (p *checkpoints) missed(c *Costs, i int) {
	var best []difference
	var of *state
	tries := 0
	for s := *p.bucket(i); s != nil && tries < closest && c.compared < maxApart; s = s.next {
		if s.insn != i || !sameCallsites(s, p.cur) {
			continue
		}
		tries++
		c.compared++
		d := p.differences(s, p.cur, p.exactnessFor(s))
		if of == nil || len(d) < len(best) {
			best, of = d, s
		}
	}
	if len(best) == 0 || len(best) > 3 {
		return
	}
	for _, d := range best {
		key := apartKey{i, d.place, of.branches > 0}
		a := c.apart[key]
		if a == nil {
			a = &Apart{Insn: i, In: d.in, Place: d.place, Kind: d.kind, Loop: key.loop, Kept: d.kept, Now: d.now}
			if d.texts != nil {
				a.Kept, a.Now = d.texts()
			}
			c.apart[key] = a
		}
		if len(best) == 1 {
			a.Count++
		} else {
			a.Also++
		}
	}
}

// difference is a place in which two states differ.
type difference struct {
	in        int
	place     string
	kind      ApartKind
	kept, now string
	texts     func() (kept, now string)
}

// exactnessFor is how exactly a kept state would have to be met.
func (p *checkpoints) exactnessFor(s *state) exactness {
	if s.branches > 0 || p.r.scc && p.incompleteMarks(s) {
		return p.loopExactness()
	}
	if l := p.loopEntry(s); !p.r.scc && l != nil && l.branches > 0 {
		return p.loopExactness()
	}
	return notExact
}

// differences compares two states of the same instruction and chain of calls, place by place.
func (p *checkpoints) differences(o, c *state, x exactness) []difference {
	var out []difference
	p.idmap.reset(p.ids)
	if o.sleepable != c.sleepable || o.rcu != c.rcu || o.preempt != c.preempt || o.locks != c.locks || o.lock != c.lock || (o.irqID == 0) != (c.irqID == 0) {
		out = append(out, difference{in: o.insn, place: "locks", kind: ApartHeld})
	}
	if p.r.stateRefs && !p.safeRefs(o.refs, c.refs) {
		out = append(out, difference{in: o.insn, place: "references", kind: ApartHeld, kept: countOf(len(o.refs)), now: countOf(len(c.refs))})
	}
	for fr := 0; fr <= o.curFrame; fr++ {
		of, cf := o.frames[fr], c.frames[fr]
		owner := strings.Repeat("caller's ", o.curFrame-fr)
		live := uint16(0xffff)
		if p.r.liveRegs {
			live = p.aux[o.at(fr)].live
		}
		for r := 0; r < 10; r++ {
			if a, b := &of.regs[r], &cf.regs[r]; live>>r&1 != 0 && !p.safe(a, b, x) {
				out = append(out, difference{in: o.at(fr), place: fmt.Sprintf("%sR%d", owner, r), kind: p.howApart(a, b), texts: func() (string, string) {
					return p.short(a, fr), p.short(b, fr)
				}})
			}
		}
		for k := range of.stack {
			a, b := of.stack[k:k+1], []*slot(nil)
			if k < len(cf.stack) {
				b = cf.stack[k : k+1]
			}
			if p.safeStack(&frame{stack: a, uses: []uint8{of.use(k)}}, &frame{stack: b}, x) {
				continue
			}
			d := difference{in: o.at(fr), place: fmt.Sprintf("%sfp-%d", owner, 8*(k+1)), kind: ApartUnset}
			if b != nil {
				d.kind = p.howSlotsApart(a[0], b[0])
			}
			d.texts = func() (string, string) {
				now := "unset"
				if b != nil {
					now = p.slotText(b[0], k, fr)
				}
				return p.slotText(a[0], k, fr), now
			}
			out = append(out, d)
		}
		if !p.r.stateRefs && !p.safeRefs(of.refs, cf.refs) {
			out = append(out, difference{in: o.insn, place: "references", kind: ApartHeld, kept: countOf(len(of.refs)), now: countOf(len(cf.refs))})
		}
	}
	return out
}

func countOf(n int) string { return fmt.Sprintf("%d held", n) }

// short describes a register; of numbers only the range, unless bits say more.
func (p *checkpoints) short(r *reg, fr int) string {
	switch {
	case r.typ == notInit:
		return "unset"
	case r.typ != scalar:
		return regText(p.position, r, fr)
	case r.Var.IsConst():
		return fmt.Sprint(int64(r.Var.Value))
	case r.unbounded() && r.Var.Mask == math.MaxUint64:
		return "any number"
	case r.SMin == math.MinInt64 && r.SMax == math.MaxInt64:
		return regText(p.position, r, fr)
	}
	return fmt.Sprintf("%d to %d", r.SMin, r.SMax)
}

// slotText describes a stack slot as the log does, without its name.
func (p *checkpoints) slotText(s *slot, k, fr int) string {
	if s.isSpill() {
		return p.short(&s.reg, fr)
	}
	var b strings.Builder
	slotText(p.position, &b, s, k, fr, "")
	_, text, ok := strings.Cut(strings.TrimSpace(b.String()), "=")
	if !ok {
		return "unset"
	}
	return text
}

func (p *checkpoints) howApart(o, c *reg) ApartKind {
	switch {
	case c.typ == notInit:
		return ApartUnset
	case o.typ != c.typ:
		return ApartType
	case o.Var.IsConst() && c.Var.IsConst() && o.Var.Value != c.Var.Value:
		return ApartValue
	case !o.Within(&c.Bounds) || !o.Var.Contains(c.Var):
		return ApartRange
	case o.typ == scalar || o.typ.base() == ptrMapValue || o.typ.base() == ptrPacket:
		return ApartLinked
	}
	return ApartType
}

func (p *checkpoints) howSlotsApart(o, c *slot) ApartKind {
	switch {
	case o.isSpill() && c.isSpill():
		return p.howApart(&o.reg, &c.reg)
	case clean(c.t[7]) == slotInvalid:
		return ApartUnset
	case o.t[7] == slotSpill && c.t[7] == slotMisc || o.t[7] == slotZero && c.t[7] == slotMisc:
		return ApartRange
	}
	return ApartType
}
