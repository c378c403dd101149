// Package configs verifies a program for all configurations at once: for every value of the
// constants that user space sets before it loads the program and of the kernel's configuration.
//
// The constants are unknown numbers. If the program is accepted so, it is for every value. If not,
// the values are split where the program compares them, along the path that was refused, until each
// part is accepted or refused for sure.
//
// It knows constants, ranges of their values and where programs compare them; what a verifier does
// is in package verifier.
//
// Start from [Constants] and [Explore].
package configs

import (
	"context"
	"math/bits"
	"slices"
	"sort"

	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/internal/verifier/num"
)

// Constant is a number that is decided before a program is loaded.
type Constant struct {
	Map  string // the map that contains it
	Name string // "conf.limit", "CONFIG_HZ"
	Off  uint32
	Size uint32
	// Max is the largest value that it can have: 1 for bool, 2 for libbpf_tristate.
	Max uint64
	// Initial is the value that the object or the target has.
	Initial uint64
	// Kconfig says that the kernel's configuration decides, and not user space.
	Kconfig bool
}

// Values are the values of a constant that a part has: a range, and bits.
type Values struct {
	Lo, Hi uint64
	Bits   num.Tnum
}

// single reports whether there is one value.
func (v Values) single() bool { return v.Lo == v.Hi || v.Bits.IsConst() }

// Holds reports whether a value is one of them.
func (v Values) Holds(x uint64) bool {
	return x >= v.Lo && x <= v.Hi && (x^v.Bits.Value)&^v.Bits.Mask == 0
}

// some returns a value, the preferred one if possible; false if there is none.
func (v Values) some(preferred uint64) (uint64, bool) {
	if v.Holds(preferred) {
		return preferred, true
	}
	return v.least()
}

// least returns the smallest value; false if no number in the range has the bits.
func (v Values) least() (uint64, bool) {
	x := v.Lo
	if wrong := (x ^ v.Bits.Value) &^ v.Bits.Mask; wrong != 0 {
		bit := uint64(1) << (bits.Len64(wrong) - 1) // the highest bit that Lo has otherwise
		if v.Bits.Value&bit == 0 {                  // to clear it, the number must be larger above it
			free := v.Bits.Mask &^ x &^ (bit | (bit - 1))
			if free == 0 {
				return 0, false
			}
			bit = free & -free
		}
		x = x&^(bit|(bit-1)) | bit | v.Bits.Value&(bit-1)
	}
	return x, x <= v.Hi
}

// Part is a set of configurations: values of some constants by their index, and any of the others.
type Part struct {
	Values  map[int]Values
	Verdict *verifier.Verdict
	// Seen is the configuration of a refused part that was verified by itself, of the constants
	// that the program reads.
	Seen map[int]uint64
}

// Result is the verdict on all configurations.
type Result struct {
	Constants []Constant
	// Read are the constants that the program reads, by index.
	Read []int
	// Decide are those whose value decides whether it is accepted.
	Decide  []int
	Parts   []Part
	Passes  int
	Reached []bool // instructions that some configuration reaches, if all are accepted
	// Left is how many parts were not decided within the limit of passes.
	Left int
}

// Outcome is the verdict on all configurations: refused if one is.
func (r *Result) Outcome() verifier.Outcome {
	out := verifier.Accepted
	for i := range r.Parts {
		switch r.Parts[i].Verdict.Outcome {
		case verifier.Refused:
			return verifier.Refused
		case verifier.Unknown:
			out = verifier.Unknown
		}
	}
	if r.Left > 0 {
		return verifier.Unknown
	}
	return out
}

// Limits on how often a program is verified, and on the instructions processed for that.
const (
	DefaultPasses = 1000
	maxWork       = 30000000
)

// explorer splits configurations.
type explorer struct {
	ctx       context.Context
	k         *verifier.Kernel
	p         *verifier.Program
	constants []Constant
	byPlace   map[place]int
	compares  map[int][]compare // by instruction
	loaded    map[int]bool      // of the last pass
	scanned   map[[2]int]bool
	work      int
	r         *Result
}

type place struct {
	mapp string
	off  uint32
}

// Explore verifies a program for all values of constants, in at most so many passes (0:
// [DefaultPasses]). An error is that of [verifier.Verify].
func Explore(ctx context.Context, k *verifier.Kernel, p *verifier.Program, constants []Constant, passes int) (*Result, error) {
	if passes == 0 {
		passes = DefaultPasses
	}
	e := &explorer{ctx: ctx, k: k, p: p, constants: constants, byPlace: map[place]int{}, compares: map[int][]compare{}, scanned: map[[2]int]bool{}, r: &Result{Constants: constants}}
	for i, c := range constants {
		e.byPlace[place{c.Map, c.Off}] = i
	}
	read := map[int]bool{}
	todo := []map[int]Values{{}}
	for len(todo) > 0 {
		part := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if empty(part) {
			continue
		}
		if e.r.Passes >= passes || e.work >= maxWork {
			e.r.Left++
			continue
		}
		v, err := e.verify(part, nil)
		if err != nil {
			return nil, err
		}
		for i := range e.loaded {
			read[i] = true
		}
		if v.Outcome != verifier.Refused {
			e.done(part, v, nil)
			continue
		}
		loaded := e.loaded
		if at, halves, ok := e.splitPath(part, v); ok {
			todo = e.push(todo, part, at, halves)
			continue
		}
		// Nothing on the path depends on how a constant compares: look at one configuration.
		seen := e.example(part, loaded)
		one, err := e.verify(part, seen)
		if err != nil {
			return nil, err
		}
		if one.Outcome == verifier.Refused {
			e.done(part, one, seen)
			continue
		}
		if at, halves, ok := e.halve(part, loaded); ok {
			todo = e.push(todo, part, at, halves)
			continue
		}
		e.done(part, one, seen) // all that it reads has one value
	}
	for i := range read {
		e.r.Read = append(e.r.Read, i)
	}
	slices.Sort(e.r.Read)
	if err := e.reach(passes); err != nil {
		return nil, err
	}
	e.r.merge()
	e.r.decide()
	return e.r, nil
}

// empty reports whether no configuration is in a part: ranges and bits are split apart from each
// other.
func empty(part map[int]Values) bool {
	for _, v := range part {
		if _, ok := v.least(); !ok {
			return true
		}
	}
	return false
}

// reach narrows the instructions that some configuration reaches: for one constant after the other
// its values are separated wherever it is compared, so that what it decides in two places is
// decided alike.
func (e *explorer) reach(passes int) error {
	if e.r.Outcome() != verifier.Accepted {
		e.r.Reached = nil
		return nil
	}
	for _, i := range e.r.Read {
		values := []Values{e.values(nil, i)}
		compares := slices.DeleteFunc(e.allCompares(), func(c compare) bool { return c.constant != i })
		for n := 0; n < len(values) && len(values) < passes; {
			var parts []Values
			for _, c := range compares {
				if parts = c.split(values[n]); len(parts) > 1 {
					break
				}
			}
			if len(parts) < 2 {
				n++
				continue
			}
			values = append(slices.Delete(values, n, n+1), parts...)
		}
		if len(values) == 1 || e.r.Passes+len(values) > passes || e.work >= maxWork {
			continue
		}
		reached := make([]bool, len(e.r.Reached))
		for _, v := range values {
			if _, ok := v.least(); !ok {
				continue
			}
			verdict, err := e.verify(map[int]Values{i: v}, nil)
			if err != nil {
				return err
			}
			if verdict.Outcome != verifier.Accepted { // what other constants decide is open here, so nothing follows
				reached = nil
				break
			}
			for at, is := range verdict.Reached {
				reached[at] = reached[at] || is
			}
		}
		for at, is := range reached {
			e.r.Reached[at] = e.r.Reached[at] && is
		}
	}
	return nil
}

// push adds parts in which a constant has other values.
func (e *explorer) push(todo []map[int]Values, part map[int]Values, at int, values []Values) []map[int]Values {
	for i := len(values) - 1; i >= 0; i-- {
		next := map[int]Values{at: values[i]}
		for k, v := range part {
			if k != at {
				next[k] = v
			}
		}
		todo = append(todo, next)
	}
	return todo
}

func (e *explorer) done(part map[int]Values, v *verifier.Verdict, seen map[int]uint64) {
	e.r.Parts = append(e.r.Parts, Part{Values: part, Verdict: v, Seen: seen})
	if v.Outcome != verifier.Accepted {
		return
	}
	if e.r.Reached == nil {
		e.r.Reached = make([]bool, len(v.Reached))
	}
	for i, r := range v.Reached {
		e.r.Reached[i] = e.r.Reached[i] || r
	}
}

// values returns the values of a constant in a part.
func (e *explorer) values(part map[int]Values, i int) Values {
	if v, ok := part[i]; ok {
		return v
	}
	return Values{Lo: 0, Hi: e.constants[i].Max, Bits: num.Unknown}
}

// verify verifies a part; with exactly, constants have these values.
func (e *explorer) verify(part map[int]Values, exactly map[int]uint64) (*verifier.Verdict, error) {
	open := map[string][]verifier.Open{}
	for i, c := range e.constants {
		v := e.values(part, i)
		if x, ok := exactly[i]; ok {
			v = Values{x, x, num.Const(x)}
		} else if v.Bits.IsConst() {
			v.Lo, v.Hi = v.Bits.Value, v.Bits.Value
		}
		open[c.Map] = append(open[c.Map], verifier.Open{Off: c.Off, Size: c.Size, Lo: v.Lo, Hi: v.Hi, Bits: v.Bits})
	}
	p := *e.p
	p.Refs = make(map[int]verifier.Ref, len(e.p.Refs))
	maps := map[*verifier.Map]*verifier.Map{}
	for at, ref := range e.p.Refs {
		if m := ref.Map; m != nil && m.Frozen != nil && open[m.Name] != nil {
			if maps[m] == nil {
				own := *m
				own.Open = open[m.Name]
				sort.Slice(own.Open, func(i, j int) bool { return own.Open[i].Off < own.Open[j].Off })
				maps[m] = &own
			}
			ref.Map = maps[m]
		}
		p.Refs[at] = ref
	}
	e.loaded = map[int]bool{}
	e.r.Passes++
	v, err := verifier.Verify(e.ctx, e.k, &p, verifier.Options{Opened: func(insn int, m *verifier.Map, o *verifier.Open) {
		i, ok := e.byPlace[place{m.Name, o.Off}]
		if !ok {
			return
		}
		e.loaded[i] = true
		if key := [2]int{insn, i}; !e.scanned[key] {
			e.scanned[key] = true
			e.scan(insn, i)
		}
	}})
	if err == nil {
		e.work += v.ProcessedInsns
	}
	return v, err
}

// splitPath splits the values of a constant at the last comparison on the path to a refusal that
// does not have one result.
func (e *explorer) splitPath(part map[int]Values, v *verifier.Verdict) (int, []Values, bool) {
	for i := len(v.Path) - 1; i >= 0; i-- {
		for _, c := range e.compares[v.Path[i].Insn] {
			if halves := c.split(e.values(part, c.constant)); len(halves) > 1 {
				return c.constant, halves, true
			}
		}
	}
	return 0, nil, false
}

// halve splits a constant that the program reads: where it is compared, else in the middle of its
// range.
func (e *explorer) halve(part map[int]Values, loaded map[int]bool) (int, []Values, bool) {
	var read []int
	for i := range loaded {
		read = append(read, i)
	}
	slices.Sort(read)
	for _, c := range e.allCompares() {
		if !loaded[c.constant] {
			continue
		}
		if halves := c.split(e.values(part, c.constant)); len(halves) > 1 {
			return c.constant, halves, true
		}
	}
	best := -1
	for _, i := range read { // the widest: the others may not matter
		if x := e.values(part, i); !x.single() && (best < 0 || x.Hi-x.Lo > e.values(part, best).Hi-e.values(part, best).Lo) {
			best = i
		}
	}
	if best < 0 {
		return 0, nil, false
	}
	x := e.values(part, best)
	mid := uint64(1)<<(bits.Len64(x.Hi)-1) - 1 // a power of two: what matters is more often small
	if mid < x.Lo || mid >= x.Hi {
		mid = x.Lo + (x.Hi-x.Lo)/2
	}
	return best, []Values{{x.Lo, mid, x.Bits}, {mid + 1, x.Hi, x.Bits}}, true
}

// example returns a configuration of a part: the values that the object has, if possible.
func (e *explorer) example(part map[int]Values, loaded map[int]bool) map[int]uint64 {
	out := map[int]uint64{}
	for i := range loaded {
		if x, ok := e.values(part, i).some(e.constants[i].Initial); ok {
			out[i] = x
		}
	}
	return out
}

// merge joins parts with the same verdict whose values of one constant are neighbours.
func (r *Result) merge() {
	for again := true; again; {
		again = false
		for i := 0; i < len(r.Parts); i++ {
			for j := i + 1; j < len(r.Parts); j++ {
				if r.Parts[i].join(&r.Parts[j], r.Constants) {
					r.Parts = slices.Delete(r.Parts, j, j+1)
					j--
					again = true
				}
			}
		}
	}
}

func (p *Part) join(q *Part, constants []Constant) bool {
	a, b := p.Verdict, q.Verdict
	if a.Outcome != b.Outcome || a.Message != b.Message || a.Insn != b.Insn || a.Missing != b.Missing {
		return false
	}
	whole := func(i int) Values { return Values{0, constants[i].Max, num.Unknown} }
	differs, at := 0, 0
	keys := map[int]bool{}
	for i := range p.Values {
		keys[i] = true
	}
	for i := range q.Values {
		keys[i] = true
	}
	get := func(x *Part, i int) Values {
		if v, ok := x.Values[i]; ok {
			return v
		}
		return whole(i)
	}
	for i := range keys {
		if get(p, i) != get(q, i) {
			differs, at = differs+1, i
		}
	}
	if differs == 0 {
		return true
	}
	if differs > 1 {
		return false
	}
	x, y := get(p, at), get(q, at)
	if y.Lo < x.Lo {
		x, y = y, x
	}
	var sum Values
	switch {
	case x.Bits == y.Bits && x.Hi != ^uint64(0) && x.Hi+1 == y.Lo:
		sum = Values{x.Lo, y.Hi, x.Bits}
	case x.Lo == y.Lo && x.Hi == y.Hi && x.Bits.Mask == y.Bits.Mask && bits.OnesCount64(x.Bits.Value^y.Bits.Value) == 1:
		sum = Values{x.Lo, x.Hi, num.Tnum{Value: x.Bits.Value & y.Bits.Value, Mask: x.Bits.Mask | x.Bits.Value ^ y.Bits.Value}}
	default:
		return false
	}
	values := map[int]Values{}
	for i, v := range p.Values {
		values[i] = v
	}
	if sum == whole(at) {
		delete(values, at)
	} else {
		values[at] = sum
	}
	p.Values = values
	return true
}

// decide finds the constants that parts with different verdicts are about.
func (r *Result) decide() {
	in := map[int]bool{}
	for _, p := range r.Parts {
		for i := range p.Values {
			in[i] = true
		}
	}
	one := true
	for _, p := range r.Parts {
		one = one && p.Verdict.Outcome == r.Parts[0].Verdict.Outcome
	}
	if one && r.Left == 0 && r.Outcome() == verifier.Accepted {
		return
	}
	for i := range in {
		r.Decide = append(r.Decide, i)
	}
	slices.Sort(r.Decide)
}

// Of returns the part that contains a configuration.
func (r *Result) Of(value func(c *Constant) uint64) *Part {
	for i := range r.Parts {
		p, in := &r.Parts[i], true
		for n, v := range p.Values {
			in = in && v.Holds(value(&r.Constants[n]))
		}
		if in {
			return p
		}
	}
	return nil
}
