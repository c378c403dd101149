package plan

import (
	"iter"
	"slices"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/vm"
)

// Elements of maps lie apart from each other, so the run of memory that a cell remembers is one
// element, and an access to a different element each time would always need the shadow. A lookup
// that code makes itself knows that the element is accessible, and tells the cells of the accesses
// that follow. Which these are is a guess: a cell that is set in vain does no harm.

const (
	maxFills    = 3  // cells that one lookup sets
	maxFollowed = 64 // slots behind a lookup that are searched for accesses
	maxKnown    = 16 // slots before a lookup that are searched for the map
)

// FilledCell is a cell that a lookup sets: Key, which is at Off in State, to the element's address
// minus Lo, and Count.
type FilledCell struct{ Off, Lo, Count int32 }

// FillsOf yields the cells that a lookup in line sets when it has found an element.
func (p *Program) FillsOf(f *Inline) iter.Seq[FilledCell] {
	return func(yield func(FilledCell) bool) {
		for _, pc := range f.Fills {
			in := &p.Insns[pc]
			n := int64(in.Hi) - int64(in.Lo)
			if count := int64(f.open()) - n + 1; in.Check == CheckRange && in.Cell >= 0 && count > 0 {
				if !yield(FilledCell{in.CellOffset(), in.Lo, int32(min(count, maxStride))}) {
					return
				}
			}
		}
	}
}

// StaleCells yields the cells that reservations may have set to a record, which are not valid any
// longer when it ends.
func (p *Program) StaleCells() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for i := range p.Inlines {
			if f := &p.Inlines[i]; f.Kind == vm.InlineReserve {
				for cell := range p.FillsOf(f) {
					if !yield(cell.Off) {
						return
					}
				}
			}
		}
	}
}

// open returns the size in bytes of the map's elements if all of them can be accessed.
func (f *Inline) open() uint64 {
	switch {
	case f.Record != 0:
		return f.Record
	case f.Hash != nil:
		return f.Hash.Open
	}
	return f.Array.Open
}

// granular reports whether all elements start at granules, as runs do.
func (f *Inline) granular() bool {
	if f.Record != 0 { // records do
		return true
	}
	if h := f.Hash; h != nil {
		return (h.Stride|h.CPUStride)%granule == 0
	}
	return (f.Array.Base|f.Array.Stride|f.Array.CPUStride)%granule == 0
}

// granule is the number of bytes that the shadow describes by one byte.
const granule = 8

// fills finds the accesses to the elements that lookups find.
func (p *Program) fills() {
	for pc := range p.Insns {
		if in := &p.Insns[pc]; in.Kind == KindCallInline {
			if f := p.Inline(in); f.finds() && f.open() != 0 && f.granular() {
				p.follow(int32(pc)+1, f)
			}
		}
	}
}

// follow finds the accesses behind a lookup, on the way on which it has found an element.
func (p *Program) follow(pc int32, f *Inline) {
	held := uint16(1) // registers with the address of the element or of a part of it
	for range maxFollowed {
		if pc < 0 || int(pc) >= len(p.Insns) || held == 0 {
			return
		}
		in := &p.Insns[pc]
		next := pc + 1
		switch in.Kind {
		case KindLoad, KindStore, KindAtomic:
			if held>>in.Base&1 != 0 && in.Check == CheckRange && in.Cell >= 0 && !slices.Contains(f.Fills, pc) {
				if f.Fills = append(f.Fills, pc); len(f.Fills) == maxFills {
					return
				}
			}
		case KindOp:
			if class := rows[in.Op].class; class == classMov64 && held>>in.Src&1 != 0 {
				held |= 1 << in.Dst
				pc = next
				continue
			} else if class == classAdd || class == classSub {
				pc = next
				continue
			}
		case KindBranch:
			if in.Op == decode.OpJne64Imm && in.Imm == 0 && held>>in.Dst&1 != 0 {
				next = in.Target
			}
		case KindJump:
			next = in.Target
		case KindExit, KindInterpret, KindTailCall, KindCall:
			return
		}
		held &^= in.changes()
		if next <= pc { // backwards: the next turn has another element
			return
		}
		pc = next
	}
}

// know finds out whether the map of a lookup is known for certain: an instruction before it in its
// block sets r1, and code is not entered in between.
func (p *Program) know(pc int32, f *Inline) {
	start := max(p.blocks[p.leaders.index(pc)].start, pc-maxKnown)
	for at := pc - 1; at >= start; at-- {
		in := &p.Insns[at]
		if in.changes()>>1&1 == 0 {
			continue
		}
		if f.Known = in.Kind == KindImm64 && in.Dst == 1 && in.Imm == f.Map; f.Known {
			p.cover(at+1, pc)
		}
		return
	}
}
