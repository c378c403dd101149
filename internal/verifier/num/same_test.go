package num

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// eachRule returns the rules of releases, and these with each of their rules turned around.
func eachRule() []Rules {
	out := append([]Rules{}, allRules...)
	for _, r := range allRules[2:] {
		for i := range reflect.TypeFor[Rules]().NumField() {
			with := r
			if f := reflect.ValueOf(&with).Elem().Field(i); f.Kind() == reflect.Bool {
				f.SetBool(!f.Bool())
			} else {
				f.SetUint((f.Uint() + 1) % 2)
			}
			out = append(out, with)
		}
	}
	return out
}

// TestResultsStayTheSame compares what each operation, comparison and deduction makes of ranges near
// borders, by each rule. Other tests check that results hold all numbers that occur; kernels know no
// more than these, and no less.
func TestResultsStayTheSame(t *testing.T) {
	type operation struct {
		name string
		do   func(a, b *Bounds, r Rules) any
	}
	var all []operation
	add := func(name string, do func(a, b *Bounds, r Rules)) {
		all = append(all, operation{name, func(a, b *Bounds, r Rules) any { do(a, b, r); return nil }})
	}
	for name, do := range map[string]func(*Bounds, *Bounds, Rules){
		"add": (*Bounds).Add, "add ranges": (*Bounds).AddRanges, "sub": (*Bounds).Sub, "mul": (*Bounds).Mul, "and": (*Bounds).And, "or": (*Bounds).Or, "xor": (*Bounds).Xor, "equate": Equate,
	} {
		add(name, do)
	}
	for name, do := range map[string]func(*Bounds, *Bounds, Rules){
		"lsh": (*Bounds).Lsh, "rsh": (*Bounds).Rsh, "arsh": (*Bounds).Arsh, "lsh32": (*Bounds).Lsh32, "rsh32": (*Bounds).Rsh32, "arsh32": (*Bounds).Arsh32,
	} {
		add(name, func(a, b *Bounds, r Rules) {
			limit := uint64(64)
			if name[len(name)-1] == '2' {
				limit = 32
			}
			n := Exactly(b.UMin % limit)
			if b.UMin%9 == 0 {
				n = Exactly(limit / 2)
			}
			do(a, &n, r)
		})
	}
	for _, w32 := range []bool{false, true} {
		for _, signed := range []bool{false, true} {
			add(fmt.Sprint("div ", w32, signed), func(a, b *Bounds, r Rules) { c := Exactly(b.UMin); a.Div(&c, w32, signed, r) })
			add(fmt.Sprint("mod ", w32, signed), func(a, b *Bounds, r Rules) { c := Exactly(b.UMin); a.Mod(&c, w32, signed, r) })
		}
		for _, op := range []Cond{Eq, Ne, Gt, Ge, Lt, Le, SGt, SGe, SLt, SLe, Set, NSet} {
			name := fmt.Sprint("compare ", op, w32)
			all = append(all, operation{name, func(a, b *Bounds, r Rules) any {
				if op == NSet { // only the other side of a branch
					return nil
				}
				return Taken(a, b, op, w32, r)
			}})
			add(name+" refines", func(a, b *Bounds, r Rules) {
				if r.Arcs || r.Deduce != DeduceSign {
					Refine(a, b, op, w32, r)
				}
			})
			if op == NSet {
				continue
			}
			all = append(all, operation{name + " with a constant", func(a, b *Bounds, r Rules) any {
				no := *a
				if !r.Arcs {
					RefineConst(a, &no, b.UMin, op, w32, r)
				}
				return no
			}})
		}
	}
	for size := 1; size <= 4; size *= 2 {
		add(fmt.Sprint("truncate ", size), func(a, _ *Bounds, r Rules) { a.Truncate(size, r) })
		add(fmt.Sprint("extend ", size), func(a, _ *Bounds, _ Rules) { a.SignExtend(size) })
	}
	add("negate", func(a, _ *Bounds, r Rules) { a.Negate(r) })
	add("zext", func(a, _ *Bounds, _ Rules) { a.Zext() })
	all = append(all, operation{"within", func(a, b *Bounds, _ Rules) any {
		return fmt.Sprint(a.Within(b), a.Broken(), a.Width(), a.Var.Overlaps(b.Var), a.Var.Contains(b.Var), a.Var.Intersect(b.Var), a.Var.Union(b.Var), a.Var.Aligned(8), a.Var.Aligned(0), a.Var.Text())
	}})
	var out rewrite.Outcomes
	for i, rules := range eachRule() {
		r := rand.New(rand.NewPCG(5, uint64(i)))
		for n := range 12 {
			x, y := interesting(r), interesting(r)
			if n%4 == 0 {
				y = x
			}
			a, b := holding(r, x, rules), holding(r, y, rules)
			if n%3 == 0 {
				a, b = near(r, x), near(r, y)
			}
			if !out.Asks(fmt.Sprint(i, n)) {
				continue
			}
			for _, o := range all {
				p, q := a, b
				says := o.do(&p, &q, rules)
				synced := p
				synced.Sync(rules)
				out.Add(fmt.Sprint(i, n), fmt.Sprintf("%s\t%v %v %v %v", o.name, says, p, q, synced))
			}
		}
	}
	out.Compare(t, filepath.Join("testdata", "results.txt"))
}

// near is a short range around a number, as loads and masks make them.
func near(r *rand.Rand, v uint64) Bounds {
	lo, hi := v-min(v, uint64(r.UintN(3))), v+min(^v, uint64(r.UintN(3)))
	b := Exactly(lo)
	if lo != hi {
		b = Unbounded
		b.Var, b.UMin, b.UMax = Range(lo, hi), lo, hi
		if int64(lo) <= int64(hi) {
			b.SMin, b.SMax = int64(lo), int64(hi)
		}
		if lo>>31 == 0 && hi>>31 == 0 {
			b.Low.UMin, b.Low.UMax, b.Low.SMin, b.Low.SMax = uint32(lo), uint32(hi), int32(lo), int32(hi)
		}
	}
	return b
}
