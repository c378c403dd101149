package search

import (
	"fmt"
	"iter"
	"math/bits"
	"path"

	"github.com/bpfrun/bpfrun/loader"
)

// Site is an instruction of a program.
type Site struct {
	Program *loader.LinkedProgram
	Insn    int
}

// String names the instruction by function, source line and number: "filter at f.bpf.c:88 (insn
// 41)".
func (s Site) String() string {
	name := s.Program.Name
	if f, ok := s.Program.FuncAt(s.Insn); ok {
		name = f.Name
	}
	if l, ok := s.Program.LineAt(s.Insn); ok && l.Line > 0 {
		return fmt.Sprintf("%s at %s:%d (insn %d)", name, path.Base(l.File), l.Line, s.Insn)
	}
	return fmt.Sprintf("%s insn %d", name, s.Insn)
}

// Sites is a set of instructions. The zero value is empty.
type Sites struct {
	sets map[*loader.LinkedProgram][]uint64
	p    *loader.LinkedProgram // of the last question
	set  []uint64
}

// of returns the set of a program.
func (s *Sites) of(p *loader.LinkedProgram) []uint64 {
	if s.p != p {
		if s.sets == nil {
			s.sets = map[*loader.LinkedProgram][]uint64{}
		}
		set := s.sets[p]
		if set == nil {
			set = make([]uint64, len(p.Insns)/64+1)
			s.sets[p] = set
		}
		s.p, s.set = p, set
	}
	return s.set
}

// Add adds an instruction.
func (s *Sites) Add(at Site) { s.of(at.Program)[at.Insn/64] |= 1 << (at.Insn % 64) }

// Has reports whether an instruction of a program is in the set.
func (s *Sites) Has(at Site) bool { return at.Program != nil && bit(s.of(at.Program), at.Insn) }

// Len counts the instructions of a program.
func (s *Sites) Len(p *loader.LinkedProgram) int {
	n := 0
	for _, w := range s.of(p) {
		n += bits.OnesCount64(w)
	}
	return n
}

// Merge adds a set, and reports whether that added anything.
func (s *Sites) Merge(t *Sites) bool {
	more := false
	for p, set := range t.sets {
		mine := s.of(p)
		for i, w := range set {
			more = more || w&^mine[i] != 0
			mine[i] |= w
		}
	}
	return more
}

// All are the instructions, in no order of programs.
func (s *Sites) All() iter.Seq[Site] {
	return func(yield func(Site) bool) {
		for p, set := range s.sets {
			for i, w := range set {
				for ; w != 0; w &= w - 1 {
					if !yield(Site{p, 64*i + bits.TrailingZeros64(w)}) {
						return
					}
				}
			}
		}
	}
}

func bit(set []uint64, i int) bool { return i >= 0 && i/64 < len(set) && set[i/64]>>(i%64)&1 != 0 }
