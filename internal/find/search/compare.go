package search

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// Comparison is a conditional jump that a run made, with an operand that came from an input.
type Comparison struct {
	Program *loader.LinkedProgram
	// PC is the jump, Other the side that the run did not take; Taken means that it jumped.
	PC, Other int
	Taken     bool
	// Sides are the operands.
	Sides [2]uint64
	// Wishes are changes with which the run takes the other side, as far as the operands'
	// computation tells.
	Wishes []Wish
	// From are the inputs that the operands came from, also those for which there is no solution.
	From []Wish
	// Beside are further inputs that the operands were computed with.
	Beside []Wish
}

// Wish is an input and the value that it should have.
type Wish struct {
	Kind Kind
	// Addr and Size are bytes of memory, Value what they should be and Was what they were, in the
	// machine's byte order.
	Addr       uint64
	Size       int
	Value, Was uint64
	// Map and Key are an element that was looked up and not found.
	Map uint64
	Key []byte
	// Matches are changes with which Key is that of an element which the map has, each a list of
	// changes that belong together.
	Matches [][]Wish
	// Helper is a helper that should return Value; for a lookup that found something, Map is the
	// map.
	Helper string
}

// Comparing follows a run and lists its comparisons. It is a [machine.Tracer]; create it with
// [NewComparing].
type Comparing struct {
	t *Trace
	// Copied, if not nil, says where a helper took the bytes from that it stored at an address:
	// called for calls that this package does not know. It returns 0 for what is not an input.
	Copied func(id uapi.FuncID, before, after *[11]uint64) (to, from, n uint64)
	// Read, if not nil, says of a call of such a helper whether its result tells how long an input
	// is, and where it stored a number that it read from digits at from: to is 0 if it stored none.
	Read func(id uapi.FuncID, before, after *[11]uint64) (length bool, to, from uint64)
}

// NewComparing prepares to follow one run on a machine.
func NewComparing(m *machine.Machine) *Comparing {
	t := NewTrace(m, nil, nil)
	t.matching = true
	return &Comparing{t: t}
}

// Step implements [machine.Tracer].
func (c *Comparing) Step(p *loader.LinkedProgram, pc, depth int, before, after *[11]uint64) {
	t := c.t
	n := len(t.Branches)
	t.Step(p, pc, depth, before, after)
	if n > 8*maxBranches { // a loop that never ends is no reason to keep more
		t.Branches = t.Branches[:n]
	}
	if op := p.Insns[pc].Op(); op == decode.OpCallHelper && after[0] != 0 && uapi.FuncID(p.Insns[pc].Imm) == uapi.FuncMapLookupElem {
		t.regs[0] = &Value{From: &Source{Kind: Result, Helper: uapi.FuncMapLookupElem.String(), Map: before[1]}, Was: after[0]}
	}
	if p.Insns[pc].Op() != decode.OpCallHelper {
		return
	}
	if c.Read != nil {
		c.read(uapi.FuncID(p.Insns[pc].Imm), before, after)
	}
	if c.Copied == nil {
		return
	}
	if to, from, size := c.Copied(uapi.FuncID(p.Insns[pc].Imm), before, after); from != 0 {
		for i := range min(size, maxCopied) {
			t.memory[to+i] = cell{copy: from + i}
		}
	}
}

// read follows what a helper told of a text.
func (c *Comparing) read(id uapi.FuncID, before, after *[11]uint64) {
	t := c.t
	length, to, from := c.Read(id, before, after)
	if length {
		t.regs[0] = &Value{From: &Source{Kind: Result, Helper: id.String()}, Was: after[0]}
	}
	number := make([]byte, 8)
	if to == 0 || t.m.Memory().Read(to, number) != nil {
		return
	}
	if at, known := t.memory[from]; known { // it was copied to there
		from = at.copy
	}
	v := &Value{From: &Source{Kind: Result, Helper: id.String(), Addr: from}, Was: t.m.Memory().ByteOrder().Uint64(number)}
	for i := range number {
		t.memory[to+uint64(i)] = cell{v: v, i: i}
	}
}

// Comparisons returns the comparisons of the run, each once for every input that decided it. Those
// that no input decided have no wishes.
func (c *Comparing) Comparisons() []Comparison {
	var out []Comparison
	type key struct {
		at   Site
		took bool
	}
	seen := map[key]int{}
	for _, b := range c.t.Branches {
		const most = 3 // of one jump in one direction: loops compare bytes one by one
		k := key{b.At, b.Taken}
		if seen[k] >= most {
			continue
		}
		seen[k]++
		cmp := Comparison{Program: b.At.Program, PC: b.At.Insn, Other: b.Other.Insn, Taken: b.Taken, Sides: b.Sides}
		for side, v := range b.From {
			if v == nil {
				continue
			}
			other := b.Sides[1-side]
			if is, ok := v.At(v.Was); ok { // the word of a context that is loaded as an address: its upper half is the same in both
				other -= b.Sides[side] - is
			}
			x, ok := v.Solve(b.Op, other, side == 1, !b.Taken)
			if v.From.Kind == Element {
				x, ok = 0, true
			}
			for _, o := range v.Beside {
				cmp.Beside = append(cmp.Beside, o.From.wish(o.Was, 0))
			}
			w := v.From.wish(v.Was, x)
			cmp.From = append(cmp.From, w)
			if ok {
				cmp.Wishes = append(cmp.Wishes, w)
			}
		}
		out = append(out, cmp)
	}
	return out
}

func (s *Source) wish(was, x uint64) Wish {
	return Wish{Kind: s.Kind, Addr: s.Addr, Size: s.Size, Value: x, Was: was, Map: s.Map, Key: []byte(s.Key), Matches: s.matches, Helper: s.Helper}
}
