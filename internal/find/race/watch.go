package race

import (
	"bytes"
	"slices"
	"sync"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/find/race/order"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// watch follows one order instruction by instruction: which accesses there were, and which reads
// decided what an actor did later. A value decides what is computed from it, where it is stored,
// and everything after a branch on it.
type watch struct {
	events []event
	flows  []flow
	actor  int   // at work
	cpus   []int // of the actors
	weak   bool  // stores are seen late
	at     int   // index of the event that the next instruction makes, -1 for none
}

// event is an access of what is shared, or an effect: a record that is sent, a result.
type event struct {
	actor   int
	prog    *loader.LinkedProgram
	pc      int
	kind    accessKind
	effect  bool // it leaves the program
	ends    bool // it is the program's result
	touches []order.Touch
	table   maps.Map // that a call is about
	own     bool     // it changes the value of its CPU alone
	// by are the reads that decided it, as indices of events.
	by []int
	// asked means that something was decided by its result.
	asked bool
	// failed means that a compare-and-exchange or a validated change did not happen.
	failed bool
	value  uint64 // that a load reads or a store writes, if known
	known  bool
	// kept are the bytes of its first touch that a write leaves as they were, one bit each.
	kept uint8
	// stale is the map whose element the event uses although it was deleted and its memory became
	// the element of another key.
	stale    maps.Map
	was, now []byte // keys
}

// writes reports whether an event changes something that is shared.
func (e *event) writes() bool {
	return !e.failed && slices.ContainsFunc(e.touches, func(t order.Touch) bool { return t.Write })
}

// looks reports whether an event is a read that can be outdated when it decides something.
func (e *event) looks() bool { return e.kind == plainRead || e.kind == lookup || e.kind == atomicRead }

// locks reports whether an event takes or releases a lock.
func (e *event) locks() bool { return e.kind == lock || e.kind == unlock }

// ofWorld reports whether an event is a call of the simulation that the actors are operations of.
// It is an operation by itself.
func (e *event) ofWorld() bool { return len(e.touches) > 0 && e.touches[0].Addr == worldCell }

// conflicts reports whether the order of two events matters.
func (e *event) conflicts(o *event) bool {
	for _, t := range e.touches {
		for _, u := range o.touches {
			if t.Overlaps(u) && (t.Write && !e.failed || u.Write && !o.failed) {
				return true
			}
		}
	}
	return false
}

// set is a set of reads of one actor, by their numbers; those beyond the first 63 share one.
type set uint64

// flow is where the values of an actor's reads got.
type flow struct {
	regs    [11]set
	saved   [][4]set
	memory  map[uint64]set    // of memory that is not shared, by address / 8
	control set               // what branches depended on
	reads   []int             // events by number
	retired set               // reads that a newer one replaced
	elems   map[uint64][]byte // keys of the elements that were looked up, by address
	gone    map[uint64]bool   // those that the actor deleted itself since
}

func newWatch(actors []Actor) *watch {
	w := &watch{at: -1, flows: make([]flow, len(actors))}
	for i := range actors {
		w.cpus = append(w.cpus, actors[i].Input.CPU)
	}
	for i := range w.flows {
		w.flows[i].memory, w.flows[i].elems, w.flows[i].gone = map[uint64]set{}, map[uint64][]byte{}, map[uint64]bool{}
	}
	return w
}

// step notes the access that an actor makes next.
func (w *watch) step(s *system, i int) {
	w.actor = i
	p := &s.now[i]
	img, pc := s.thread.Image(), s.thread.PC()
	e := event{actor: i, pc: pc, kind: p.next.kind, touches: slices.Clone(p.next.touches), table: p.next.table, own: p.next.own}
	e.prog, _ = s.m.ProgramOf(img)
	f := &w.flows[i]
	in := img.Insns()[pc]
	by := w.operands(s, f, in, img, pc) | f.control
	retire := w.overlapping(f, &e)
	fresh := retire // it sees what is there now
	switch e.kind {
	case compare, lookup, plainRead:
		f.retired |= retire
	case validated: // what it saw is in its result, which may be ignored
	default:
		fresh = 0
	}
	e.by = f.events(by &^ f.retired &^ fresh)
	if e.kind != plainWrite && e.kind != change && e.kind != validated {
		f.retired |= retire
	}
	w.notice(s, f, &e)
	w.at = len(w.events)
	w.events = append(w.events, e)
	if p.next.array != 0 && !p.half { // no instruction is executed
		n := p.next.size / 2 &^ 7
		last := &w.events[w.at].touches[len(e.touches)-1]
		last.Size = n
		w.at = -1
	}
}

// notice finds out whether an access is of an element that is another key's by now.
func (w *watch) notice(s *system, f *flow, e *event) {
	if e.kind > compare || len(e.touches) == 0 {
		return
	}
	addr := e.touches[0].Addr
	r := s.memory.Find(addr)
	if r == nil {
		return
	}
	m, ok := r.Owner.(maps.Map)
	_, in, elem := r.Elem(addr)
	finder, finds := m.(maps.KeyFinder)
	if !ok || !elem || !finds || !isHash(m.Spec().Type) {
		return
	}
	was, ok := f.elems[addr-in]
	if !ok {
		return
	}
	if now, _, ok := finder.KeyOf(addr); ok && (!bytes.Equal(now, was) || f.gone[addr-in]) {
		e.stale, e.was, e.now, e.own = m, was, bytes.Clone(now), f.gone[addr-in]
	}
}

// found notes the key of an element that a lookup returned.
func (w *watch) found(s *system, f *flow, addr uint64) {
	r := s.memory.Find(addr)
	if addr == 0 || r == nil {
		return
	}
	if finder, ok := r.Owner.(maps.KeyFinder); ok {
		if key, _, ok := finder.KeyOf(addr); ok {
			f.elems[addr], f.gone[addr] = bytes.Clone(key), false
		}
	}
}

// user notes the call that a thread of user space makes next. What it found before may decide what
// it does.
func (w *watch) user(s *system, i int) {
	p := &s.now[i]
	e := event{actor: i, pc: p.step, kind: p.next.kind, touches: slices.Clone(p.next.touches), table: p.next.table}
	for at := range w.events {
		if o := &w.events[at]; o.actor == i && (o.looks() || o.kind == change) {
			e.by = append(e.by, at)
		}
	}
	w.events = append(w.events, e)
}

// overlapping returns the reads of the bytes that an event touches.
func (w *watch) overlapping(f *flow, e *event) set {
	var out set
	for n, at := range f.reads {
		for _, t := range w.events[at].touches {
			if slices.ContainsFunc(e.touches, t.Overlaps) {
				out |= 1 << min(n, 63)
			}
		}
	}
	return out
}

// earlier returns the reads before an event of the bytes that it touches.
func (w *watch) earlier(f *flow, at int) set {
	var out set
	for n, read := range f.reads {
		if read < at && slices.ContainsFunc(w.events[read].touches, func(t order.Touch) bool { return slices.ContainsFunc(w.events[at].touches, t.Overlaps) }) {
			out |= 1 << min(n, 63)
		}
	}
	return out
}

// events lists the events of a set.
func (f *flow) events(s set) []int {
	var out []int
	for n, at := range f.reads {
		if s>>min(n, 63)&1 != 0 {
			out = append(out, at)
		}
	}
	return out
}

// number gives the read that is event at a number.
func (f *flow) number(at int) set {
	f.reads = append(f.reads, at)
	return 1 << min(len(f.reads)-1, 63)
}

// span joins what is known of memory that is not shared.
func (f *flow) span(addr, size uint64) set {
	var out set
	for a := addr >> 3; size > 0 && size < 1<<16 && a <= (addr+size-1)>>3; a++ {
		out |= f.memory[a]
	}
	return out
}

// fill says where bytes of memory that is not shared come from.
func (f *flow) fill(addr, size uint64, from set) {
	for a := addr >> 3; size > 0 && size < 1<<16 && a <= (addr+size-1)>>3; a++ {
		if whole := a<<3 >= addr && a<<3+8 <= addr+size; whole {
			f.memory[a] = from
		} else {
			f.memory[a] |= from
		}
	}
}

// operands returns the reads that the operands of an instruction depend on.
func (w *watch) operands(s *system, f *flow, in decode.Insn, img *vm.Image, pc int) set {
	info := in.Info()
	var out set
	if info.Reads&decode.RegDst != 0 {
		out |= f.regs[in.Dst]
	}
	if info.Reads&decode.RegSrc != 0 && in.Src < 11 {
		out |= f.regs[in.Src]
	}
	if info.Reads&decode.RegR0 != 0 {
		out |= f.regs[0]
	}
	if info.Form == decode.FormCall || info.Form == decode.FormCallKfunc {
		if fn := img.Func(pc); fn != nil {
			w.arguments(s, fn, func(arg int, addr, size uint64, _ bool) {
				out |= f.regs[arg+1] | f.span(addr, size)
			})
		}
	}
	return out
}

// arguments calls do for each argument of a call, with the memory that it points to.
func (w *watch) arguments(s *system, fn *vm.Func, do func(arg int, addr, size uint64, write bool)) {
	regs := s.thread.Regs()
	h, ok := proto.Lookup(uapi.FuncID(fn.ID))
	if fn.Kfunc || !ok {
		for i := range 5 {
			do(i, regs[i+1], 8, true)
		}
		return
	}
	keySize, valueSize := uint64(0), uint64(0)
	for i, a := range h.Common().Args {
		addr, size := regs[i+1], uint64(0)
		switch a.Kind {
		case proto.ConstMap:
			if m, ok := s.m.MapAt(addr); ok {
				keySize, valueSize = uint64(m.Spec().KeySize), uint64(m.Spec().ValueSize)
			}
		case proto.MapKey:
			size = keySize
		case proto.MapValue:
			size = valueSize
		case proto.Mem:
			size = regs[i+2]
		case proto.FixedMem:
			size = uint64(a.Size)
		case proto.RingbufMem:
			if r := s.memory.Find(addr); r != nil && r.Kind == mem.RingbufRecord {
				size = r.Size
			}
		}
		do(i, addr, size, a.Writes())
	}
}

// sends are the helpers whose arguments leave the program.
var sends = sync.OnceValue(func() map[uapi.FuncID]bool {
	return map[uapi.FuncID]bool{
		uapi.FuncPerfEventOutput: true, uapi.FuncSkbOutput: true, uapi.FuncXDPOutput: true, uapi.FuncRingbufOutput: true, uapi.FuncRingbufSubmit: true,
		uapi.FuncTracePrintk: true, uapi.FuncTraceVprintk: true, uapi.FuncRedirect: true, uapi.FuncCloneRedirect: true, uapi.FuncSkbStoreBytes: true,
		uapi.FuncXDPStoreBytes: true, uapi.FuncProbeWriteUser: true, uapi.FuncSendSignal: true, uapi.FuncOverrideReturn: true, uapi.FuncSeqWrite: true, uapi.FuncSeqPrintf: true,
	}
})

// insn executes one instruction and follows the values.
func (w *watch) insn(s *system) vm.Stop {
	t := s.thread
	img, pc, depth := t.Image(), t.PC(), t.Depth()
	f := &w.flows[w.actor]
	in := img.Insns()[pc]
	info := in.Info()
	from := w.operands(s, f, in, img, pc)
	before := [11]uint64(t.Regs()[:11])
	var fills []order.Touch
	call := info.Form == decode.FormCall || info.Form == decode.FormCallKfunc
	if fn := img.Func(pc); call && fn != nil {
		if !fn.Kfunc && sends()[uapi.FuncID(fn.ID)] {
			if w.at < 0 {
				e := event{actor: w.actor, pc: pc, kind: otherCall, by: f.events((from | f.control) &^ f.retired)}
				e.prog, _ = s.m.ProgramOf(img)
				w.events = append(w.events, e)
				w.events[len(w.events)-1].effect = true
			} else {
				w.events[w.at].effect = true
			}
		}
		w.arguments(s, fn, func(_ int, addr, size uint64, write bool) {
			if write {
				fills = append(fills, order.Touch{Addr: addr, Size: size})
			}
		})
	}
	if info.Form == decode.FormExit && depth == 0 {
		e := event{actor: w.actor, pc: pc, kind: otherCall, effect: true, ends: true, by: f.events((f.regs[0] | f.control) &^ f.retired)}
		e.prog, _ = s.m.ProgramOf(img)
		w.events = append(w.events, e)
	}
	at := w.at
	w.at = -1
	was, small := w.bytes(s, at)
	stop := s.x.Run(1)
	if now, _ := w.bytes(s, at); small {
		for i := range was {
			if was[i] == now[i] {
				w.events[at].kept |= 1 << i
			}
		}
	}
	w.flow(s, f, in, info, from, before, at, fills)
	return stop
}

// bytes returns what is where an event writes, if that is one place of at most eight bytes.
func (w *watch) bytes(s *system, at int) (b [8]byte, ok bool) {
	if at < 0 {
		return b, false
	}
	e := &w.events[at]
	if len(e.touches) != 1 || e.touches[0].Size > 8 || structural(e.touches[0].Addr) || !e.touches[0].Write || w.weak && e.kind == plainWrite {
		return b, false
	}
	return b, s.memory.Read(e.touches[0].Addr, b[:e.touches[0].Size]) == nil
}

// keeps reports whether a write leaves the bytes as they were that another event is about.
func (e *event) keeps(o *event) bool {
	if e.kept == 0 {
		return false
	}
	t := e.touches[0]
	for _, u := range o.touches {
		for a := max(t.Addr, u.Addr); a < min(t.Addr+t.Size, u.Addr+u.Size); a++ {
			if e.kept>>(a-t.Addr)&1 == 0 {
				return false
			}
		}
	}
	return true
}

// flow says where the results of an instruction come from. at is the event that it is, -1 for none.
func (w *watch) flow(s *system, f *flow, in decode.Insn, info *decode.Info, from set, before [11]uint64, at int, fills []order.Touch) {
	regs := s.thread.Regs()
	var e *event
	read := set(0)
	if at >= 0 {
		e = &w.events[at]
		if e.kind != plainWrite && e.kind != lock && e.kind != unlock {
			read = f.number(at)
		}
	}
	switch info.Form {
	case decode.FormALUImm:
		if in.Op() == decode.OpMov64Imm || in.Op() == decode.OpMov32Imm {
			f.regs[in.Dst] = 0
		}
	case decode.FormALUReg, decode.FormMovSX, decode.FormAddrCast, decode.FormNeg, decode.FormEnd:
		f.regs[in.Dst] = from
	case decode.FormImm64:
		f.regs[in.Dst] = 0
	case decode.FormLoad, decode.FormLoadAcq:
		if e != nil {
			e.value, e.known = regs[in.Dst], true
			f.regs[in.Dst] = from | read
			break
		}
		f.regs[in.Dst] = from | f.span(before[in.Src]+uint64(int64(in.Off)), uint64(info.Size))
	case decode.FormStoreImm, decode.FormStoreReg, decode.FormStoreRel:
		addr := before[in.Dst] + uint64(int64(in.Off))
		if e != nil {
			e.value, e.known = before[in.Src&15%11], true
			if info.Form == decode.FormStoreImm {
				e.value = uint64(int64(in.Imm))
			}
			break
		}
		f.fill(addr, uint64(info.Size), from)
	case decode.FormFetch, decode.FormXchg:
		f.regs[in.Src] = from | read
	case decode.FormCmpXchg:
		if e != nil {
			e.failed = regs[0] != before[0]
		}
		f.regs[0] = from | read
	case decode.FormJumpImm, decode.FormJumpReg:
		for _, at := range f.events(from &^ f.retired) {
			if k := w.events[at].kind; k == change || k == validated { // whether it succeeded says more than what was looked up before
				f.retired |= w.earlier(f, at)
				w.events[at].asked = true
			}
		}
		f.control |= from &^ f.retired
	case decode.FormLdAbs, decode.FormLdInd:
		f.regs[0] = from
	case decode.FormCall, decode.FormCallKfunc:
		if in.Op() == decode.OpCallLocal {
			f.saved = append(f.saved, [4]set(f.regs[6:10]))
			break
		}
		if e != nil && (e.kind == validated || e.kind == change) && int32(regs[0]) < 0 {
			e.failed = true
		}
		for _, t := range fills {
			f.fill(t.Addr, t.Size, from|read)
		}
		if e != nil && e.kind == change && e.table != nil && !e.failed && regs[0] == 0 && len(e.touches) == 3 { // a delete, with the element
			f.gone[e.touches[2].Addr] = true
		}
		if e != nil && e.kind == lookup {
			w.found(s, f, regs[0])
		}
		f.regs[0] = from | read
		clear(f.regs[1:6])
	case decode.FormExit:
		if n := len(f.saved); n > 0 {
			copy(f.regs[6:10], f.saved[n-1][:])
			f.saved = f.saved[:n-1]
		}
	}
}
