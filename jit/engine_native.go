//go:build linux && (amd64 || arm64)

package jit

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

// maxPrograms is the number of programs whose code an Engine keeps.
const maxPrograms = 256

// Engine is a vm.Engine that compiles a program when it first runs. It belongs to one Memory and
// must be used by one thread at a time. Create it with New, release it with Close.
type Engine struct {
	mem     *mem.Memory
	arena   mem.ArenaInfo
	target  plan.Target
	codes   map[*vm.Image]*code
	last    *code
	cache   *cache
	native  uint64      // instructions executed
	cover   *vm.Patches // receives the coverage, nil for none
	dirty   bool        // there is coverage to pass on
	check   *checker    // compares with the interpreter, nil not to
	resting *vm.Image   // left to the interpreter for the next rest runs
	rest    int
	program *plan.Program // memory to reuse
	began   vm.Turner     // the helper that Go began and that called the function of Frame(1), if one did
	out     plan.Code
	links   links
	eager   uint64 // see SetEager
}

// defaultEager is the initial value for SetEager: creating copies of loops costs about as much as
// generating native code, which pays off only after some hundred iterations.
const defaultEager = 1000

// cache holds the mappings of an engine, separate from it so that they can be released when the
// engine is garbage-collected.
type cache struct{ all []*pages }

func (c *cache) release() {
	for _, p := range c.all {
		p.release()
	}
	c.all = nil
}

// drop releases one of them.
func (c *cache) drop(p *pages) {
	p.release()
	c.all = slices.DeleteFunc(c.all, func(q *pages) bool { return q == p })
}

// code is the native code of a program.
type code struct {
	img     *vm.Image
	state   *plan.State
	text    uintptr
	top     uintptr // of the first function's Frame
	slots   []slot  // plus one for the end
	saves   []uint8 // by slot after a call, what the call saved
	slack   int64
	mayGoto bool
	simple  bool // needs neither before nor after
	quick   bool // needs nothing else between calls of functions
	pages   *pages
	left    uint64   // instructions to execute before loops get copies
	loops   bool     // loops are still to be copied
	sampler *sampler // samples branches before that
	calls   *calls   // calls that code executes itself
	words   []int32  // plan.Program.Words
	turns   []turn   // calls of helpers that call back, by slot
	tails   []tail   // tail calls, by slot
	exits   int      // exits since Engine.native was since
	since   uint64
	blocks  [][2]int32 // with coverage: the slots of blocks
	marks   []byte     // which blocks ran to their end
	told    []byte     // the marks that look has passed on, nil before the first
	partly  []bool     // which slots code exited at inside a block
	thins              // code without marks
	cells   int
	epoch   uint64                   // of the memory, when cells were set
	fps     [vm.MaxFrames + 1]uint64 // as in state.Stack

	// What state was filled in for.
	thread     *vm.Thread
	generation uint64
	depth      int
}

// slot is what the engine knows of a slot.
type slot struct {
	entry uint32 // offset of its code, 0 for none
	count int32  // see plan.Insn
}

// fits reports whether state matches the thread, so that nothing needs to be set up. The thread's
// last deep frames are then still on State.Stack.
func (c *code) fits(e *Engine, t *vm.Thread, deep int) bool {
	return c.img == t.Image() && c.thread == t && c.generation == t.Generation() && c.epoch == e.mem.Epoch() &&
		c.depth+deep == t.Depth() && c.fps[deep] == t.Regs()[10]
}

// begin returns the frame in which code begins, for a program with calls.
func (c *code) begin(t *vm.Thread, deep int) {
	st := c.state
	f := st.Frame(deep)
	st.Top = uintptr(unsafe.Pointer(f))
	if deep > 0 {
		t.Resume(deep)
		if c.saves[f.Ret]&plan.SavesHost == 0 { // it continues with its caller's
			f = st.Frame(deep - 1)
		}
	}
	st.Host = f.Host
}

// Supported reports whether this system has native code.
func Supported() bool { return true }

// New returns an engine for threads that use m.
func New(m *mem.Memory) (*Engine, error) {
	a := m.Arena()
	if a.Data == nil {
		return nil, mem.ErrClosed
	}
	delta := int64(uintptr(a.Shadow)) - int64(uintptr(a.Data))
	if a.Big || delta >= 0 || delta < -1<<30 {
		return nil, fmt.Errorf("%w: a big-endian or very large memory", ErrUnsupported)
	}
	e := &Engine{
		mem: m, arena: a, codes: map[*vm.Image]*code{}, cache: &cache{}, eager: defaultEager,
		target: plan.Target{Base: a.Base, ShadowDelta: delta},
	}
	runtime.AddCleanup(e, func(c *cache) { c.release() }, e.cache)
	return e, nil
}

// Name returns "jit".
func (e *Engine) Name() string { return "jit" }

// Executed returns the number of instructions executed as native code.
func (e *Engine) Executed() uint64 { return e.native }

// Close releases the code. The engine must not be used afterwards.
func (e *Engine) Close() {
	e.feed()
	e.unlink()
	e.cache.release()
	e.codes, e.last = nil, nil
}

// compile finds or generates the code of a program, nil if there cannot be any.
func (e *Engine) compile(img *vm.Image, words []*uint64) *code {
	c, ok := e.codes[img]
	if !ok && e.codes != nil {
		if len(e.codes) >= maxPrograms {
			e.feed()
			e.unlink()
			e.cache.release()
			clear(e.codes)
		}
		// Without native code the interpreter runs the program: there is nothing to report.
		c, _ = e.make(img, words, nil, nil)
		e.codes[img] = c
	}
	e.last = c
	return c
}

// SetEager sets after how many executed instructions per slot a program is compiled again with its
// loops optimised; 0 means at once.
func (e *Engine) SetEager(perSlot int) { e.eager = uint64(max(perSlot, 0)) }

// heat acts when a program has run for long: it samples branches for a while, then compiles the
// program again.
func (e *Engine) heat(c *code, words []*uint64) *code {
	if c.sampler == nil && e.eager > 0 && e.check == nil { // check wants everything optimised at once
		var slots []int32
		if p := plan.New(c.img, words, e.program); p != nil {
			p.Selects(func(slot int32) { slots = append(slots, slot) })
			e.program = p
		}
		c.sampler = newSampler(slots, c.img.Len())
		return c
	}
	if c.sampler != nil && c.sampler.left > 0 {
		return c
	}
	e.feed()
	c.loops = false
	hot, err := e.make(c.img, words, c, nil)
	if err != nil {
		return c
	}
	e.unlink()
	e.cache.drop(c.pages)
	e.codes[c.img] = hot
	if hot.marks != nil {
		hot.mayThin, hot.by = true, c.sampler
		hot.begins(e)
	}
	return hot
}

// chooses reports whether a branch of the program being compiled again becomes a selection.
func (c *code) chooses(slot int32) bool { return c.sampler == nil || c.sampler.unpredictable(slot) }

// profile returns the sampler's profile, if there is one.
func (c *code) profile() *plan.Profile {
	if c.sampler == nil {
		return nil
	}
	return &c.sampler.counts
}

// make compiles a program. If there is code for it already, it is optimised; known is
// plan.Target.Known.
func (e *Engine) make(img *vm.Image, words []*uint64, old *code, known []byte) (*code, error) {
	p := plan.New(img, words, e.program)
	if p == nil {
		return nil, fmt.Errorf("%w: a program of %d slots", ErrUnsupported, img.Len())
	}
	if p.Computed && e.cover != nil { // it would be unknown which parts of blocks ran
		return nil, fmt.Errorf("%w: coverage of indirect jumps", ErrUnsupported)
	}
	if e.target.Ways = e.cover.RecordsWays(); e.target.Ways {
		p.MarkWays()
	}
	if old != nil {
		p.Optimise(old.chooses, old.profile())
	}
	e.target.Known = known
	e.program = p
	e.out.Reset(len(p.Insns))
	marks := 0
	if e.target.Marks = e.cover != nil; e.target.Marks {
		marks = p.Blocks()
	}
	bytes := marks
	if e.target.Ways {
		bytes *= 3
	}
	e.target.StateDelta = stateDelta(bytes)
	if err := backendCompile(p, e.target, &e.out); err != nil {
		return nil, err
	}
	m, err := newPages(e.out.Text, e.target.StateDelta)
	if err != nil {
		return nil, err
	}
	e.cache.all = append(e.cache.all, m)
	c := &code{
		img: img, state: m.state(), text: m.text(), mayGoto: p.MayGoto,
		top: uintptr(unsafe.Pointer(m.state().Frame(0))), slots: make([]slot, p.Len()+1),
		slack: p.Slack(), calls: callsOf(p), words: append([]int32(nil), p.Words...),
		pages: m, loops: p.Loops && old == nil, left: e.eager * uint64(p.Len()),
	}
	if marks > 0 {
		c.blocks, c.marks, c.partly = make([][2]int32, marks), m.marks(bytes), make([]bool, p.Len())
		for i := range c.blocks {
			start, end := p.Block(i)
			c.blocks[i] = [2]int32{int32(start), int32(end)}
		}
	}
	for pc := range p.Insns[:p.Len()] {
		in := &p.Insns[pc]
		c.slots[pc] = slot{e.out.Entries[pc], in.Count}
		if in.Kind == plan.KindCall || in.Has(plan.FlagTurns) {
			if c.saves == nil {
				c.saves = make([]uint8, p.Len()+1)
			}
			c.saves[pc+1] = in.Saves
		}
	}
	c.turns, c.tails = turnsOf(p, &e.out, c.saves), tailsOf(p)
	c.state.Arrive, c.state.Slack = c.text+uintptr(e.out.Arrive), c.slack
	c.cells = p.Cells
	for pc := range p.Insns {
		if in := &p.Insns[pc]; in.Check == plan.CheckRange && in.Cell >= 0 {
			cell := &c.state.Cells[in.Cell]
			cell.Key, cell.Lo, cell.N = uint64(-int64(in.Lo)), int64(in.Lo), int64(in.Hi-in.Lo)
		}
	}
	c.state.ForgetLocks()
	c.state.Data, c.state.Shadow, c.state.NegBase = uintptr(e.arena.Data), uintptr(e.arena.Shadow), -e.arena.Base
	return c, nil
}

// Run is the loop around native code, see [vm.Engine]. Most programs are short, so its cost
// dominates a run: what few programs need is in before and after.
func (e *Engine) Run(t *vm.Thread, limit uint64) bool {
	end := t.Insns() + limit // may wrap: so does the difference
	// The number of frames that code left for a call or an access and that are still on
	// State.Stack. It continues in them as long as nothing else happened and no memory that the
	// waiting functions may know about became inaccessible.
	deep, ok := 0, false
	for {
		c := e.last
		if c != nil && c.img != t.Image() && len(e.links.all) > 0 { // back from a tail call
			if d := e.codes[t.Image()]; d != nil && d.fits(e, t, 0) {
				c, e.last = d, d
			}
		}
		if c == nil || !c.fits(e, t, deep) || deep == 0 && c.turns != nil && t.Depth() > 0 {
			if c = e.rejoin(t); c != nil {
				deep = 1
			} else if c = e.last; c == nil || !c.fits(e, t, deep) {
				if c, deep = e.prepare(t), 0; c == nil {
					return t.Insns() != end-limit
				}
			}
		}
		room := int64(min(end-t.Insns(), 1<<40)) - c.slack
		if room < c.slack { // code would not get far
			return t.Insns() != end-limit
		}
		if c.loops {
			if c.sampler != nil {
				if !c.sampler.observe(t.PC()) {
					c.thread = nil // prepare continues
				}
				return true
			}
			room = min(room, int64(max(c.left, uint64(c.slack))))
		} else if c.mayThin {
			room = min(room, int64(max(c.trial, uint64(c.slack))))
		}
		at := c.slots[t.PC()]
		if at.entry == 0 {
			return true
		}
		st := c.state
		st.Room = room + int64(at.count)
		st.Entry = c.text + uintptr(at.entry)
		st.Limit = e.mem.Limit()
		if !c.simple {
			e.before(c, t)
		}
		if c.saves != nil {
			c.begin(t, deep)
		}
		first, slack, tails := c, c.slack, uint64(0)
		if e.links.from != nil {
			e.arrives(c, t)
		}
		if c.tails != nil {
			e.mayTail(c, t)
			tails = st.Tails
		}
		left := backendEnter(c.text, uintptr(unsafe.Pointer(st)))
		if c.tails != nil && (left != uintptr(unsafe.Pointer(st)) || st.Tails != tails) {
			c = e.tailCalled(c, t, left, tails)
			st = c.state
		}
		why := plan.Reason(st.Exit & (1<<plan.ReasonBits - 1))
		pc := int(st.Exit >> plan.ReasonBits)
		n := uint64(room + slack - st.Room - c.slack)
		if why != plan.Returned {
			n += uint64(c.slots[pc].count)
		}
		e.native += n
		t.Advance(pc, n)
		if first != c && first.loops {
			e.heated(first, n)
		}
		if (!c.simple || st.Top != c.top) && !e.after(c, t, why, n) {
			return true
		}
		deep = 0
		if st.Top != c.top {
			deep = st.Depth()
		}
		if why == plan.CallFunc && c.quick {
			if why, ok = e.recall(c, t, pc); !ok {
				return true
			}
		}
		switch why {
		case plan.Interpret:
			if t.Insns() == end || !t.Access() {
				return true
			}
			e.exited(c)
		case plan.CallFunc:
			if c.tails != nil {
				e.leaves(c, t, pc)
			}
			if !t.CallFunc() {
				return true
			}
			e.exited(c)
		case plan.Leave:
			if !t.LeaveFunc() {
				return true
			}
		case plan.Returned:
			t.Returned(e.continuation(c, pc, deep+1))
			return true
		}
	}
}

// recall makes the call at a slot, continues code after it, and so on for the calls that follow, as
// Run would. It returns why code left for the last time, or OutOfRoom if Run has to decide how the
// thread continues; ok is false if the engine must return.
//
// Programs wait for calls, so this avoids what calls do not change. What is left of the room stays in
// the State, and the count of the instructions follows from it, not from the last count. A call that
// is complete leaves the thread in the same function.
func (e *Engine) recall(c *code, t *vm.Thread, pc int) (why plan.Reason, ok bool) {
	st := c.state
	from := c.slots[pc].count
	begun := t.Insns()
	whole := begun + uint64(st.Room) - uint64(from)
	calls := uint64(0)
	for insns := begun; ; {
		if !t.CallAt(pc, insns) {
			e.recalled(c, insns-begun-calls, calls)
			return 0, false
		}
		to := c.slots[pc+1]
		if calls++; calls == exitsWatched || to.entry == 0 || to.count != from+1 || e.last != c || c.thread != t || c.generation != t.Generation() || c.epoch != e.mem.Epoch() {
			e.recalled(c, t.Insns()-begun-calls, calls)
			return plan.OutOfRoom, true
		}
		st.Entry, st.Limit = c.text+uintptr(to.entry), e.mem.Limit()
		if !c.simple {
			e.before(c, t)
		}
		backendEnter(c.text, uintptr(unsafe.Pointer(st)))
		exit := st.Exit
		why, pc = plan.Reason(exit&(1<<plan.ReasonBits-1)), int(exit>>plan.ReasonBits)
		from = c.slots[pc].count
		insns = whole - uint64(st.Room) + uint64(from)
		if c.simple && why == plan.CallFunc {
			continue
		}
		n := insns - t.Insns()
		t.Advance(pc, n)
		if !c.simple {
			e.after(c, t, why, n)
		}
		if why != plan.CallFunc {
			e.recalled(c, insns-begun-calls, calls)
			return why, true
		}
	}
}

// recalled accounts for what recall executed: instructions of native code, and calls.
func (e *Engine) recalled(c *code, insns, calls uint64) {
	e.native += insns
	if calls > 0 {
		c.exits += int(calls) - 1
		e.exited(c)
	}
}

// before does what programs that are not simple need before code is entered.
func (e *Engine) before(c *code, t *vm.Thread) {
	if c.mayGoto {
		c.state.May = t.MayGoto()
	}
	e.dirty = true
	if e.check != nil {
		e.check.before(e, t)
	}
	if c.calls != nil {
		c.calls.open(e, c.state, t)
	}
}

// after does what is necessary after code left after n instructions, if it called functions or is
// not simple. It returns false if the interpreter continued instead.
func (e *Engine) after(c *code, t *vm.Thread, why plan.Reason, n uint64) bool {
	pc := t.PC()
	if c.calls != nil {
		c.calls.book(e, c)
	}
	if c.loops {
		if e.heated(c, n); c.left == 0 {
			e.last = c
		}
	} else if c.mayThin {
		if c.trial -= min(c.trial, n); c.trial == 0 {
			e.last, c.thread = c, nil
		}
	}
	e.takeFrames(c, t)
	e.leftBlock(c, pc)
	return e.check == nil || e.check.compare(e, t, n, why == plan.Returned)
}

// heated counts instructions of a program whose loops are still to be copied.
func (e *Engine) heated(c *code, n uint64) {
	if c.left -= min(c.left, n); c.left == 0 {
		c.thread = nil // prepare handles it
	}
}

// leftBlock records that code left, or a function that a helper calls was entered, inside a block.
func (e *Engine) leftBlock(c *code, pc int) {
	if pc < len(c.partly) && !c.partly[pc] { // not after the end
		c.partly[pc] = true
		e.cover.Mark(c.img, c.blockAt(pc), pc+1)
	}
}

// Cover makes the engine record which instructions it executes for threads with p. Call it before
// the first run.
func (e *Engine) Cover(p *vm.Patches) {
	e.cover, e.last = p, nil
	p.SetFeed(e.feed, e.look)
}

// feed passes on the blocks that ran since it was last called.
func (e *Engine) feed() {
	if !e.dirty {
		return
	}
	e.dirty = false
	for _, c := range e.codes {
		if c == nil || c.marks == nil {
			continue
		}
		if c.full != nil {
			e.passOn(c)
			c = e.thicken(c)
		}
		e.passOn(c)
		c.begins(e)
	}
}

// passOn passes on what code recorded, and forgets it.
func (e *Engine) passOn(c *code) {
	for i, m := range c.marks {
		if m != 0 {
			e.pass(c, i)
		}
	}
	clear(c.marks)
	clear(c.told)
	clear(c.partly)
}

// look passes on the blocks that ran for the first time, and keeps them recorded: thin code goes on
// leaving them out.
func (e *Engine) look() {
	if !e.dirty {
		return
	}
	for _, c := range e.codes {
		if c == nil || c.marks == nil {
			continue
		}
		e.tell(c)
		if c.full != nil { // it may have continued in thin code since
			e.tell(c.full)
		}
	}
}

// tell passes on the marks of code that are new.
func (e *Engine) tell(c *code) {
	if within(c.marks, c.told) {
		return
	}
	if c.told == nil {
		c.told = make([]byte, len(c.marks))
	}
	for i, m := range c.marks {
		if m != 0 && c.told[i] == 0 {
			e.pass(c, i)
		}
	}
	copy(c.told, c.marks)
}

// pass passes on mark i of code.
func (e *Engine) pass(c *code, i int) {
	n := len(c.blocks)
	b := c.blocks[i%n]
	if i < n {
		e.cover.Mark(c.img, int(b[0]), int(b[1]))
		return
	}
	e.cover.MarkWay(c.img, int(b[1])-1, vm.Way(i/n-1)) // branches have one slot
}

// blockAt returns the first slot of the block that contains pc.
func (c *code) blockAt(pc int) int {
	i, ok := slices.BinarySearchFunc(c.blocks, int32(pc), func(b [2]int32, pc int32) int { return int(b[0] - pc) })
	if !ok {
		i--
	}
	return int(c.blocks[i][0])
}

// Check makes the engine compare every piece of native code with the interpreter, which executes it
// again from the same state. report receives the differences, and the run continues with the
// interpreter's results. It is slow.
func (e *Engine) Check(report func(difference string)) {
	e.check = &checker{report: report}
	e.last = nil
}

// prepare sets up the state for the running function. It returns nil if native code cannot run it,
// because there is none or one of its assumptions does not hold.
func (e *Engine) prepare(t *vm.Thread) *code {
	fp := t.StackEnd()
	if fp == 0 || e.rests(t.Image()) || t.Altered() || t.Tracks() || e.mem.Watched() || t.Memory() != e.mem || t.Patches() != e.cover {
		return nil
	}
	context, words := t.Context()
	c := e.last
	if c == nil || c.img != t.Image() {
		if c = e.compile(t.Image(), words); c == nil {
			return nil
		}
	}
	if c.loops && c.left == 0 {
		c = e.heat(c, words)
		e.last = c
	}
	if c.mayThin && c.trial == 0 {
		c = e.thinned(c, words)
		e.last = c
	}
	st := c.state
	if fp != c.fps[0] {
		e.setFrame(c, 0, fp)
	}
	if c.saves != nil { // the program has calls
		var fps [vm.MaxFrames + 1]uint64
		t.Stacks(&fps)
		for i := 1; ; i++ {
			if fps[i] != c.fps[i] {
				e.setFrame(c, i, fps[i])
			}
			if fps[i] == 0 {
				break
			}
		}
	}
	st.Regs = uintptr(unsafe.Pointer(t.Regs()))
	st.ArenaKern, st.ArenaUser = t.ArenaMapping()
	if c.words != nil {
		c.setContext(context, words)
	}
	c.thread, c.generation, c.depth = t, t.Generation(), t.Depth()
	c.simple = !c.mayGoto && c.calls == nil && c.marks == nil && e.check == nil && !c.loops
	c.quick = c.saves == nil && c.tails == nil && !c.mayGoto && !c.loops && !c.mayThin && e.check == nil
	if now := e.mem.Epoch(); now != c.epoch {
		e.forget(c, now)
		c.epoch = now
	}
	return c
}

// setFrame sets the address of frame i's stack, 0 for a frame that code cannot enter.
func (e *Engine) setFrame(c *code, i int, fp uint64) {
	if i == 0 {
		e.unlink() // it may be linked for the stack it had
	}
	c.fps[i] = fp
	f := c.state.Frame(i)
	if f.FP, f.Host = fp, 0; fp != 0 {
		f.Host = uintptr(e.arena.Data) + uintptr(fp-e.arena.Base)
	}
}

// forget drops all locks, and makes cells drop what they know about memory that is no longer accessible in epoch now.
func (e *Engine) forget(c *code, now uint64) {
	c.state.ForgetLocks()
	for epoch := max(c.epoch, now-min(now, mem.Changes+1)) + 1; epoch <= now; epoch++ {
		lo, hi := e.mem.Change(epoch)
		for i := range c.state.Cells[:c.cells] {
			cell := &c.state.Cells[i]
			// The bytes it stands for.
			n := uint64(cell.N)
			start := cell.Key + uint64(cell.Lo)
			end := start + cell.Count + n - 1
			switch {
			case cell.Count == 0 || hi <= start || lo >= end:
			case lo > start && lo-start >= n: // those in front remain
				cell.Count = lo - start - n + 1
			default:
				cell.Count = 0
				// A check that has succeeded for long must not wait long because of a change.
				cell.Backoff >>= 2
				cell.Credit = min(cell.Credit, cell.Backoff)
			}
		}
	}
}

// takeFrames creates frames of the thread for functions that code entered and did not leave.
func (e *Engine) takeFrames(c *code, t *vm.Thread) {
	st := c.state
	n := st.Depth()
	if c.mayGoto {
		may := st.May
		if n > 0 {
			may = st.Frame(1).May
		}
		t.SetMayGoto(may)
	}
	if n == 0 {
		return
	}
	// A register that a call does not save has its value in the called function.
	saved := (*[4]uint64)(t.Regs()[6:10])
	for i := n; i > 0; i-- {
		f := st.Frame(i)
		mask := c.saves[f.Ret]
		for r := range saved {
			if mask>>r&1 == 0 {
				f.Saved[r] = saved[r]
			}
		}
		saved = &f.Saved
	}
	for i := 1; i <= n; i++ {
		may := uint64(vm.MaxMayGoto)
		if c.mayGoto {
			if may = st.May; i < n {
				may = st.Frame(i + 1).May
			}
		}
		f := st.Frame(i)
		var cont vm.Continuation
		if c.saves[f.Ret]&helperCalls != 0 {
			call := int(f.Ret) - 1
			cont = e.continuation(c, call, i)
			e.leftBlock(c, call)
		}
		t.Enter(int(f.Ret), &f.Saved, may, cont)
	}
}
