package loader

import (
	"math/bits"
	"slices"
	"sync"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
)

// Address describes how a program computed the address of an access: what it added to the pointer
// that it began with. A pointer begins where it is loaded from memory, returned by a call, or
// passed to the program. What explains how that pointer was found does not explain the place of the
// access.
type Address struct {
	// Relocs are the CO-RE relocations of fields whose offsets were added, the one next to the
	// access first. Different paths to the access may add different ones.
	Relocs []*Reloc
	// Fixed means that on some path a constant that no relocation explains was added.
	Fixed bool
	// Bare means that on some path nothing was added, Moved that it was a number computed at run
	// time: an index, a length. Constants added to a pointer that is known to lead to numbers or
	// characters count as such.
	Bare, Moved bool
	// Mixed means that on some path it was such a number and a constant: a member of an element, or
	// another element.
	Mixed bool
	// Struct means that the pointer of a path that counts for Bare was loaded from a field that
	// points to a struct.
	Struct bool
	// Partial means that the search had to stop before it saw all paths.
	Partial bool
}

// AccessRelocs returns the CO-RE relocations that may determine the offset of the load, store or
// helper call at pc.
func (lp *LinkedProgram) AccessRelocs(pc int) []*Reloc { return lp.AddressAt(pc).Relocs }

// AddressAt describes the address of the load, store or helper call at pc. The address is the third
// argument of a probe read helper, and the second argument of other calls.
func (lp *LinkedProgram) AddressAt(pc int) Address {
	if pc < 0 || pc >= len(lp.Insns) {
		return Address{}
	}
	if r, ok := lp.fieldReloc(pc); ok {
		return Address{Relocs: []*Reloc{r}}
	}
	in := lp.Insns[pc]
	flags := in.Info().Flags
	from := slice{pc: pc}
	if in.Off != 0 {
		from.added = addedFixed
	}
	switch {
	case flags&decode.FlagCall != 0:
		from.added = 0
		from.wanted = 1 << 3
		if a := lp.address(from); a.Relocs != nil || lp.copies(pc) {
			return a
		}
		from.wanted = 1 << 2
	case flags&decode.FlagLoad != 0:
		from.wanted = 1 << in.Src
	case flags&decode.FlagStore != 0:
		from.wanted = 1 << in.Dst
	default:
		return Address{}
	}
	return lp.address(from)
}

// fieldReloc returns the relocation of an instruction if it is for a field that the target has.
func (lp *LinkedProgram) fieldReloc(pc int) (*Reloc, bool) {
	r, ok := lp.RelocAt(pc)
	if !ok || r.Err != nil || r.Relocation == nil || !r.Kind.IsField() || r.Poisoned() || r.Target == nil {
		return nil, false
	}
	return r, true
}

// added says what a path added to a pointer, and what is known about the pointer.
type added uint8

const (
	addedReloc  added = 1 << iota
	addedFixed        // a constant
	addedNumber       // a number that is known only at run time
	begun             // one of the registers that were added together was followed to its origin
	toStruct          // the pointer was loaded from a field that points to a struct or union
	toElements        // from a field that points to a number, a character or a pointer
)

// slice is a position of the backward search: the registers, and stack slots of 8 bytes, whose
// values are followed.
type slice struct {
	pc     int
	wanted uint16
	slots  uint64
	added  added
}

func (s slice) single() bool { return bits.OnesCount16(s.wanted)+bits.OnesCount64(s.slots) == 1 }

// sliceStates limits the states that one search visits.
const sliceStates = 4096

// keptStates is the number for which a map has room that the next search uses.
const keptStates = 256

// slicer searches backward from an access along all paths that lead there.
type slicer struct {
	lp    *LinkedProgram
	out   Address
	seen  map[slice]bool
	queue []slice
	// untyped searches do not determine where pointers lead.
	untyped bool
}

func (lp *LinkedProgram) address(from slice) Address {
	x := newSlicer(lp)
	x.run(from)
	return x.end()
}

// slicers are used again: there is one search for each instruction that reads kernel memory.
var slicers sync.Pool

func newSlicer(lp *LinkedProgram) *slicer {
	x, ok := slicers.Get().(*slicer)
	if !ok {
		x = &slicer{seen: map[slice]bool{}}
	}
	x.lp = lp
	return x
}

// end returns what was found. The slicer is used no more.
func (x *slicer) end() Address {
	out := x.out
	if len(x.seen) > keptStates { // clearing a large map takes long
		x.seen = map[slice]bool{}
	}
	clear(x.seen)
	*x = slicer{seen: x.seen, queue: x.queue[:0]}
	slicers.Put(x)
	return out
}

func (x *slicer) run(from slice) {
	x.before(from)
	for next := 0; next < len(x.queue); next++ {
		x.step(x.queue[next])
	}
}

// push queues the instruction s.pc, which is the next one to go back over.
func (x *slicer) push(s slice) {
	if len(x.seen) >= sliceStates {
		x.out.Partial = true
		return
	}
	if !x.seen[s] {
		x.seen[s] = true
		x.queue = append(x.queue, s)
	}
}

// ended records what a path added.
func (x *slicer) ended(s slice) {
	switch {
	case s.added&addedReloc != 0:
	case s.added&toElements != 0:
		x.out.Moved = true
	case s.added&addedNumber != 0 && s.added&addedFixed != 0:
		x.out.Mixed = true
	case s.added&addedNumber != 0:
		x.out.Moved = true
	case s.added&addedFixed != 0:
		x.out.Fixed = true
	default:
		x.out.Bare = true
		x.out.Struct = x.out.Struct || s.added&toStruct != 0
	}
}

// before continues at the instructions that may precede s.pc, or ends the path if nothing is left
// to follow.
func (x *slicer) before(s slice) {
	const frame = 1 << 10 // r10 is never written
	s.wanted &^= frame
	f, ok := x.lp.FuncAt(s.pc)
	if !ok || s.wanted == 0 && s.slots == 0 {
		x.ended(s)
		return
	}
	ways := x.lp.ways.before(x.lp, f)
	if s.pc == f.Start {
		x.callers(f, s)
	}
	for _, prev := range ways.of(s.pc - f.Start) {
		next := s
		next.pc = int(prev)
		x.push(next)
	}
}

// callers continues with the arguments of a function where it is called. In the main program and in
// callbacks, the kernel passes them.
func (x *slicer) callers(f Func, s slice) {
	const arguments = 0x3e
	called := false
	for pc, in := range x.lp.Insns {
		if in.Op() != decode.OpCallLocal || s.wanted&arguments == 0 {
			continue
		}
		if to, ok := in.Target(pc); ok && to == f.Start {
			called = true
			x.before(slice{pc: pc, wanted: s.wanted & arguments, added: s.added})
		}
	}
	if !called {
		x.ended(s)
	}
}

// step goes back over the instruction s.pc.
func (x *slicer) step(s slice) {
	in := x.lp.Insns[s.pc]
	flags := in.Info().Flags
	dst := uint16(1) << in.Dst
	switch {
	case flags&decode.FlagCall != 0:
		x.call(s, in)
	case flags&decode.FlagStore != 0:
		x.store(s, in)
	case s.wanted&dst == 0 || flags&(decode.FlagJump|decode.FlagBranch|decode.FlagExit) != 0:
		x.before(s)
	case flags&decode.FlagLoad != 0:
		x.load(s, in)
	default:
		x.alu(s, in)
	}
}

// store follows a wanted stack slot to the register that was stored there. Atomic operations return
// what memory held.
func (x *slicer) store(s slice, in decode.Insn) {
	info := in.Info()
	var loaded uint16
	if info.Writes&decode.RegSrc != 0 {
		loaded |= 1 << in.Src
	}
	if info.Writes&decode.RegR0 != 0 {
		loaded |= 1
	}
	if s.wanted&loaded != 0 {
		s.wanted &^= loaded
		x.origin(s, nil)
		return
	}
	if slot, ok := slotAt(in.Dst, int64(in.Off)); ok && s.slots&slot != 0 && info.Size == 8 {
		s.slots &^= slot
		if info.Form == decode.FormStoreReg {
			s.wanted |= 1 << in.Src
		}
	}
	x.before(s)
}

// slotAt returns the bit of the stack slot at an offset from r10.
func slotAt(base uint8, off int64) (uint64, bool) {
	if base != 10 || off >= 0 || off < -512 || off%8 != 0 {
		return 0, false
	}
	return 1 << (-off/8 - 1), true
}

// origin ends the search for one register or slot, which has been removed from s.
func (x *slicer) origin(s slice, pointers []*Reloc) {
	if s.added&begun != 0 {
		s.added |= addedNumber // of two numbers that were added, one is no pointer
	}
	s.added |= begun
	if len(pointers) > 0 && s.added&(toStruct|toElements) == 0 {
		s.added |= leadsTo(pointers)
	}
	x.before(s)
}

// leadsTo returns where the pointers in relocated fields lead, 0 if that is unknown or differs.
func leadsTo(relocs []*Reloc) added {
	var all added
	for _, r := range relocs {
		last := r.Local.Last()
		if r.Local.BTF == nil || last.Name == "" {
			return 0
		}
		t, err := r.Local.BTF.Type(last.Type)
		if err != nil || last.Index >= len(t.Members) {
			return 0
		}
		p := r.Local.BTF.SkipMods(t.Members[last.Index].Type)
		if p.Kind == btf.KindArray {
			p = r.Local.BTF.SkipMods(p.Ref)
		}
		if p.Kind != btf.KindPtr {
			return 0
		}
		switch to := r.Local.BTF.SkipMods(p.Ref); {
		case to.Kind == btf.KindVoid || to.Kind == btf.KindFwd:
			return 0
		case to.Kind.IsComposite():
			all |= toStruct
		default:
			all |= toElements
		}
	}
	if all == toStruct|toElements {
		return 0
	}
	return all
}

// load ends or follows a wanted register that was loaded: from the stack, it has the value that was
// stored there.
func (x *slicer) load(s slice, in decode.Insn) {
	s.wanted &^= 1 << in.Dst
	if slot, ok := slotAt(in.Src, int64(in.Off)); ok && in.Info().Size == 8 {
		s.slots |= slot
		x.before(s)
		return
	}
	if in.Info().Size < 8 {
		s.added |= addedNumber
		x.before(s)
		return
	}
	var pointers []*Reloc
	if !x.untyped {
		if r, ok := x.lp.fieldReloc(s.pc); ok {
			pointers = []*Reloc{r}
		} else {
			pointers = x.relocsOf(s.pc, in.Src)
		}
	}
	x.origin(s, pointers)
}

// relocsOf returns the relocations of a register's value before pc.
func (x *slicer) relocsOf(pc int, reg uint8) []*Reloc {
	y := newSlicer(x.lp)
	y.untyped = true
	y.run(slice{pc: pc, wanted: 1 << reg})
	return y.end().Relocs
}

// call goes back over a call, which may have returned a wanted register, or have written wanted
// slots of the stack.
func (x *slicer) call(s slice, in decode.Insn) {
	const overwritten = 0x3f
	for slots := s.slots; slots != 0; slots &= slots - 1 {
		slot := slots & -slots
		if !x.lp.writes(s.pc, -8*int64(bits.TrailingZeros64(slot)+1)) {
			continue
		}
		s.slots &^= slot
		var pointers []*Reloc
		if !x.untyped && x.lp.copies(s.pc) {
			pointers = x.relocsOf(s.pc, 3)
		}
		x.origin(s, pointers)
		return
	}
	if s.wanted&1 == 0 {
		s.wanted &^= overwritten
		x.before(s)
		return
	}
	s.wanted &^= overwritten
	to, ok := in.Target(s.pc)
	f, known := x.lp.FuncAt(to)
	if !ok || in.Op() != decode.OpCallLocal || !known {
		x.origin(s, nil)
		return
	}
	for pc := f.Start; pc < min(f.Start+f.Len, len(x.lp.Insns)); pc++ {
		if x.lp.Insns[pc].Info().Flags&decode.FlagExit != 0 {
			x.before(slice{pc: pc, wanted: 1, added: s.added})
		}
	}
	if s.wanted != 0 || s.slots != 0 {
		s.added |= addedNumber
		x.before(s)
	}
}

// alu goes back over an operation on a wanted register.
func (x *slicer) alu(s slice, in decode.Insn) {
	const mov, add, sub = 0xb0, 0, 0x10
	dst := uint16(1) << in.Dst
	r, field := x.lp.fieldReloc(s.pc)
	_, relocated := x.lp.RelocAt(s.pc)
	op, fromRegister := in.Code&0xf0, in.Code&8 != 0
	if field {
		if !slices.Contains(x.out.Relocs, r) {
			x.out.Relocs = append(x.out.Relocs, r)
		}
		s.added |= addedReloc
		if in.Code == 0x18 || op == mov {
			s.wanted &^= dst
		}
		x.before(s)
		return
	}
	switch {
	case in.Code == 0x18:
		s.wanted &^= dst
		x.origin(s, nil)
		return
	case op == mov && fromRegister:
		s.wanted = s.wanted&^dst | 1<<in.Src
	case op == mov:
		s.wanted &^= dst
		if in.Imm != 0 && !relocated {
			s.added |= addedFixed
		}
	case op == add && fromRegister:
		s.wanted |= 1 << in.Src
	case (op == add || op == sub) && !fromRegister && !relocated:
		if s.added |= addedFixed; !s.single() {
			s.added |= addedNumber // it may be a step of an index
		}
	default: // what was subtracted, or scales, names no field
		s.added |= addedNumber
	}
	x.before(s)
}

// waysOf keeps the ways into the instructions of a program's functions, since many accesses are
// searched for.
type waysOf struct {
	mu      sync.Mutex
	byStart map[int]*ways
}

// before returns the ways into the instructions of a function.
func (k *waysOf) before(lp *LinkedProgram, f Func) *ways {
	k.mu.Lock()
	defer k.mu.Unlock()
	w := k.byStart[f.Start]
	if w == nil {
		if k.byStart == nil {
			k.byStart = map[int]*ways{}
		}
		w = lp.waysInto(f)
		k.byStart[f.Start] = w
	}
	return w
}

// ways are, for each instruction of a function, those that may execute immediately before it:
// from[start[i]:start[i+1]].
type ways struct{ start, from []int32 }

func (w *ways) of(i int) []int32 { return w.from[w.start[i]:w.start[i+1]] }

func (lp *LinkedProgram) waysInto(f Func) *ways {
	w := &ways{start: make([]int32, f.Len+2)}
	lp.eachWay(f, func(to, _ int) { w.start[to+1]++ })
	for i := range f.Len + 1 {
		w.start[i+1] += w.start[i]
	}
	w.from = make([]int32, w.start[f.Len+1])
	next := slices.Clone(w.start)
	lp.eachWay(f, func(to, from int) {
		w.from[next[to]] = int32(from)
		next[to]++
	})
	return w
}

// eachWay calls found for each way from an instruction to another one of the function, or to its
// end: to counts from the function's start.
func (lp *LinkedProgram) eachWay(f Func, found func(to, from int)) {
	add := func(to, from int) {
		if i := to - f.Start; i >= 0 && i <= f.Len {
			found(i, from)
		}
	}
	end := min(f.Start+f.Len, len(lp.Insns))
	for pc := f.Start; pc < end; pc += max(lp.Insns[pc].Len(), 1) {
		in := lp.Insns[pc]
		flags := in.Info().Flags
		if flags&(decode.FlagJump|decode.FlagBranch) != 0 {
			to := pc + 1 + int(in.Off)
			if in.Op() == decode.OpJa32 {
				to = pc + 1 + int(in.Imm)
			}
			add(to, pc)
		}
		if flags&(decode.FlagJump|decode.FlagExit) == 0 {
			add(pc+max(in.Len(), 1), pc)
		}
	}
}
