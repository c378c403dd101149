package plan

import "github.com/bpfrun/bpfrun/decode"

// Compilers read numbers that may be unaligned, as all in packed structures, byte by byte, and so
// does code that is independent of the byte order: shifts and ors then make the number. Here this
// becomes one load, with the bytes swapped if necessary. The loads and shifts of the bytes are left
// to deadResults.

// part is a value that consists of bytes of memory, and zeros: the n bytes at root + at, shifted to
// the left by a number of bytes.
type part struct {
	root, at int32
	stores   int32 // scan.stores when the bytes were loaded
	// Code must not be entered between since, the first load or the first instruction that computed
	// its address, and the use of the part.
	since    int32
	n, shift uint8
	order    order

	// The load of the part that came last: its slot, its base register, what was known of that
	// and the last slot that had changed it.
	last    int32
	base    uint8
	delta   int32
	from    int32 // value.since
	changed int32
}

// order is the order of the bytes in a part.
type order uint8

const (
	anyOrder order = iota // a single byte
	little
	big
)

// loads records what a load reads, after its check has been decided.
func (p *Program) loads(pc int32, in *Insn) {
	s := &p.scan
	if !s.joins {
		s.wrote(in.Dst, pc)
		return
	}
	k := part{n: in.Size, stores: s.stores}
	switch in.Op {
	case decode.OpLdxB:
	case decode.OpLdxH, decode.OpLdxW:
		k.order = little
	default:
		s.wrote(in.Dst, pc)
		return
	}
	v := &s.values[in.Base]
	switch {
	case in.Kind != KindLoad || in.Has(FlagWord) || v.root == 0 && in.Check != CheckNone:
		s.wrote(in.Dst, pc)
		return
	case v.root == 0:
		k.since = pc
	default:
		k.since = min(v.since, pc)
	}
	k.root, k.at = v.root, v.delta+in.Off
	k.last, k.base, k.delta, k.from, k.changed = pc, in.Base, v.delta, v.since, v.changed
	s.wrote(in.Dst, pc)
	s.know(in.Dst, k)
}

// know records that a register holds a part.
func (s *scan) know(r uint8, k part) {
	s.parts = append(s.parts, k)
	s.values[r].part = int32(len(s.parts))
}

// fitting returns the number of a part if it has no bits beyond a width, otherwise 0.
func (s *scan) fitting(number int32, width uint8) int32 {
	if number == 0 {
		return 0
	}
	if k := &s.parts[number-1]; (k.n+k.shift)*8 > width {
		return 0
	}
	return number
}

// shift records the result of a shift to the left by a constant.
func (p *Program) shift(pc int32, in *Insn) {
	s := &p.scan
	number, width := s.values[in.Dst].part, rows[in.Op].width
	s.wrote(in.Dst, pc)
	by := uint8(in.Imm) & (width - 1)
	if number == 0 || by%8 != 0 || in.Kind != KindOp || rows[in.Op].class != classLsh {
		return
	}
	k := s.parts[number-1]
	if k.shift += by / 8; (k.n+k.shift)*8 <= width {
		s.know(in.Dst, k)
	}
}

// join records the result of an operation that may join two parts. If that is a whole number, it is
// loaded instead.
func (p *Program) join(pc int32, in *Insn) {
	s := &p.scan
	before := s.values[in.Dst]
	x, y := before.part, s.values[in.Src].part
	s.wrote(in.Dst, pc)
	width := rows[in.Op].width
	if in.Has(FlagDead) || s.fitting(x, width) == 0 || s.fitting(y, width) == 0 {
		return
	}
	k, ok := s.parts[x-1].with(&s.parts[y-1])
	if !ok || k.stores != s.stores {
		return
	}
	// Two bytes in the other order take as long, and longer if they have just been stored one by one.
	worth := k.n > 2 || k.order == little
	if worth && k.shift == 0 && k.n&(k.n-1) == 0 && !p.loadHere(pc, in, &k) {
		p.loadBefore(pc, before.changed, &k)
	}
	s.know(in.Dst, k)
}

// with joins two parts, if they are neighbours in memory and in the value.
func (k *part) with(l *part) (part, bool) {
	if k.shift > l.shift {
		k, l = l, k
	}
	if k.root != l.root || k.stores != l.stores || k.shift+k.n != l.shift {
		return part{}, false
	}
	j := *k
	if l.last > k.last {
		j = *l
	}
	j.at, j.since, j.n, j.shift = min(k.at, l.at), min(k.since, l.since), k.n+l.n, k.shift
	switch {
	case k.at+int32(k.n) == l.at && k.order != big && l.order != big:
		j.order = little
	case l.at+int32(l.n) == k.at && k.order != little && l.order != little:
		j.order = big
	default:
		return part{}, false
	}
	return j, true
}

// loadHere turns the instruction that makes a part into its load. All bytes were loaded one by one
// before, from accessible memory. It reports false if no register has the address any more.
func (p *Program) loadHere(pc int32, in *Insn, k *part) bool {
	if k.root == 0 {
		return p.load(in, k, in.Dst, 10, 0, k.since, pc)
	}
	r := p.scan.holder(k.root)
	if r < 0 {
		return false
	}
	v := &p.scan.values[r]
	return p.load(in, k, in.Dst, uint8(r), v.delta, min(k.since, v.since), pc)
}

// loadBefore lets the instruction at that last changed the register of a part, before the one that
// makes it, load the whole part, and drops the latter. It needs the address that the last load of
// the part had, and nothing may look at the register, or exit, in between. If the instruction at
// shifts what the last load loaded, that load becomes the load of the whole.
func (p *Program) loadBefore(pc, at int32, k *part) {
	d := p.Insns[pc].Dst
	shift := int32(-1)
	if at > k.last && rows[p.Insns[at].Op].class == classLsh {
		shift, at = at, k.last
	}
	if at < 0 || at > k.last || k.changed >= at || p.Insns[at].reads == all {
		return
	}
	for q := at + 1; q < pc; q++ {
		if in := &p.Insns[q]; q != shift && (in.reads|in.writes)>>d&1 != 0 {
			return
		}
	}
	in := &p.Insns[at]
	if !p.load(in, k, d, k.base, k.delta, min(k.since, k.from), pc) {
		return
	}
	in.Flags &^= FlagDead // of a join to a shorter part
	p.drop(pc)
	if shift >= 0 {
		p.drop(shift)
	}
}

// drop drops an instruction whose work another one does.
func (p *Program) drop(pc int32) {
	in := &p.Insns[pc]
	in.Flags |= FlagDead
	in.reads, in.writes = 0, 0
}

// load turns an instruction into the load of a part, by the address in a register less delta. It
// reports false if the slots from from to pc, which must not be entered, are too many.
func (p *Program) load(in *Insn, k *part, dst, base uint8, delta, from, pc int32) bool {
	if pc-from > maxCover {
		return false
	}
	p.cover(from+1, pc)
	in.Kind, in.Dst, in.Src, in.Base, in.Size = KindLoad, dst, base, base, k.n
	switch k.n {
	case 2:
		in.Op = decode.OpLdxH
	case 4:
		in.Op = decode.OpLdxW
	case 8:
		in.Op = decode.OpLdxDW
	}
	if k.root == 0 {
		in.Check, in.Off = CheckNone, k.at
	} else {
		in.Check, in.Off = CheckDone, k.at-delta
	}
	if in.Flags &^= FlagSwap; k.order == big {
		in.Flags |= FlagSwap
	}
	in.reads, in.writes = 1<<base, 1<<dst
	return true
}

// holder returns a register that holds a root plus a known number, -1 if there is none.
func (s *scan) holder(root int32) int {
	for r := range s.values[:10] {
		if s.values[r].root == root {
			return r
		}
	}
	return -1
}
