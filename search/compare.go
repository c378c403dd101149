package search

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/uapi"
)

// Comparison is a conditional jump that a run made, with an operand that came from an input.
type Comparison struct {
	Program *loader.LinkedProgram
	// PC is the jump, Other the side that the run did not take; Taken means that it jumped.
	PC, Other int
	Taken     bool
	// Sides are the operands.
	Sides [2]uint64
	// Wishes are changes with which the run takes the other side, as far as the operands' computation tells.
	Wishes []Wish
	// From are the inputs that the operands came from, also those for which there is no solution.
	From []Wish
}

// Wish is an input and the value that it should have.
type Wish struct {
	Kind Kind
	// Addr and Size are bytes of memory, Value what they should be and Was what they were, in the machine's byte order.
	Addr       uint64
	Size       int
	Value, Was uint64
	// Map and Key are an element that was looked up and not found.
	Map uint64
	Key []byte
	// Helper is a helper that should return Value; for a lookup that found something, Map is the map.
	Helper string
}

// Comparing follows a run and lists its comparisons. It is a [machine.Tracer]; create it with [NewComparing].
type Comparing struct {
	t    *trace
	pcs  []place // of the jumps, by branch
	took []bool
	// Copied, if not nil, says where a helper took the bytes from that it stored at an address: called for calls that this package does
	// not know. It returns 0 for what is not an input.
	Copied func(id uapi.FuncID, before, after *[11]uint64) (to, from, n uint64)
}

// NewComparing prepares to follow one run on a machine.
func NewComparing(m *machine.Machine) *Comparing { return &Comparing{t: newTrace(m, nil)} }

// Step implements [machine.Tracer].
func (c *Comparing) Step(p *loader.LinkedProgram, pc, depth int, before, after *[11]uint64) {
	t := c.t
	n := len(t.branches)
	t.Step(p, pc, depth, before, after)
	for range len(t.branches) - n {
		b := t.branches[len(t.branches)-1]
		c.pcs, c.took = append(c.pcs, place{p, pc}), append(c.took, !b.want)
	}
	if n > 8*maxBranches { // a loop that never ends is no reason to keep more
		t.branches, c.pcs, c.took = t.branches[:n], c.pcs[:n], c.took[:n]
	}
	if op := p.Insns[pc].Op(); op == decode.OpCallHelper && after[0] != 0 && uapi.FuncID(p.Insns[pc].Imm).String() == lookup {
		t.regs[0] = &value{from: &source{kind: Result, helper: lookup, mapAddr: before[1]}, was: after[0]}
	}
	if c.Copied == nil || p.Insns[pc].Op() != decode.OpCallHelper {
		return
	}
	if to, from, size := c.Copied(uapi.FuncID(p.Insns[pc].Imm), before, after); from != 0 {
		for i := range min(size, maxCopied) {
			t.memory[to+i] = cell{copy: from + i}
		}
	}
}

// Comparisons returns the comparisons of the run, each once for every input that decided it.
func (c *Comparing) Comparisons() []Comparison {
	var out []Comparison
	type key struct {
		at   place
		took bool
	}
	seen := map[key]int{}
	for i, b := range c.t.branches {
		const most = 3 // of one jump in one direction: loops compare bytes one by one
		k := key{c.pcs[i], c.took[i]}
		if seen[k]++; seen[k] > most {
			continue
		}
		cmp := Comparison{Program: b.other.p, PC: c.pcs[i].pc, Other: b.other.pc, Taken: c.took[i], Sides: b.sides}
		for side, v := range b.from {
			if v == nil {
				continue
			}
			other := b.sides[1-side]
			if is, ok := v.at(v.was); ok { // the word of a context that is loaded as an address: its upper half is the same in both
				other -= b.sides[side] - is
			}
			x, ok := v.solve(b.op, other, side == 1, b.want)
			if v.from.kind == Element {
				x, ok = 0, true
			}
			w := v.from.wish(v.was, x)
			cmp.From = append(cmp.From, w)
			if ok {
				cmp.Wishes = append(cmp.Wishes, w)
			}
		}
		out = append(out, cmp)
	}
	return out
}

func (s *source) wish(was, x uint64) Wish {
	return Wish{Kind: s.kind, Addr: s.addr, Size: s.size, Value: x, Was: was, Map: s.mapAddr, Key: []byte(s.key), Helper: s.helper}
}
