package corerelo

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
)

// FuzzResolve gives any record, on random types, on types made cyclic, and on
// any bytes that parse as BTF, to the resolver: it must answer or refuse, soon.
func FuzzResolve(f *testing.F) {
	f.Add(uint64(1), uint32(1), "0:1:2", uint32(0), uint8(0), []byte{0x61, 0x12, 4, 0, 0, 0, 0, 0}, []byte(nil))
	f.Add(uint64(2), uint32(3), "0", uint32(12), uint8(1), []byte{0x18, 1, 0, 0, 1, 0, 0, 0}, []byte(nil))
	f.Add(uint64(3), uint32(2), "2147483647:0", uint32(4), uint8(9), []byte{0xb7, 1, 0, 0, 1, 0, 0, 0}, []byte(nil))
	g := newGraph(1, structure("s", member("a", tInt)), enum64("e", true, val{"A", -1}))
	f.Add(uint64(4), uint32(1), "0:0", uint32(0), uint8(0), []byte{0xb7, 1, 0, 0, 0, 0, 0, 0}, g.encode(byteOrder))
	f.Fuzz(func(t *testing.T, seed uint64, id uint32, access string, kind uint32, twist uint8, code, raw []byte) {
		r := randomRule(rand.New(rand.NewPCG(seed, 2)))
		fx := r.build(t)
		if twist > 0 {
			fx.local = twisted(t, fx.graph, seed, twist)
			fx.target = twisted(t, fx.targetGraph, seed+1, twist)
		}
		if spec, err := btf.Parse(raw, nil); err == nil && spec.NumTypes() > 1 {
			fx.local, fx.target = spec, spec
		}
		insns := decodeInsns(code)
		resolver := NewResolver(fx.local, Target{BTF: fx.target, Modules: []*btf.Spec{nil}})
		start := time.Now()
		for _, root := range []uint32{id, 1, 2, 3} {
			rec := Record{TypeID: btf.ID(root), Access: access, Kind: Kind(kind)}
			rel, err := resolver.Resolve(rec)
			_, _ = resolver.Resolve(rec)
			p, perr := rel.Apply(append([]decode.Insn{}, insns...), 0)
			_ = rel.Log("p", 0, &p, perr)
			_ = resolver.Explain(rel)
			if err == nil && rel.Target != nil && rel.Target.Access() == "" {
				t.Fatal("a match without a path")
			}
		}
		if d := time.Since(start); d > 5*time.Second {
			t.Fatalf("took %v", d)
		}
	})
}

// twisted rewires references of a graph at random, so that types contain and
// alias themselves, as no compiler writes.
func twisted(t testing.TB, g *graph, seed uint64, n uint8) *btf.Spec {
	rng := rand.New(rand.NewPCG(seed, 3))
	out := &graph{ids: map[*ty]btf.ID{}, next: 1}
	twin := map[*ty]*ty{}
	for _, old := range g.list {
		c := *old
		c.members = append([]mem{}, old.members...)
		c.params = append([]*ty{}, old.params...)
		twin[old] = &c
		out.list = append(out.list, &c)
		out.ids[&c] = out.next
		out.next++
	}
	for _, c := range out.list {
		if c.ref != nil && c.ref.kind != btf.KindVoid {
			c.ref = twin[c.ref]
		}
		for i := range c.members {
			c.members[i].typ = twin[c.members[i].typ]
		}
		for i := range c.params {
			c.params[i] = twin[c.params[i]]
		}
	}
	for range n {
		c, to := out.list[rng.IntN(len(out.list))], out.list[rng.IntN(len(out.list))]
		switch {
		case len(c.members) > 0:
			m := &c.members[rng.IntN(len(c.members))]
			m.typ, m.name = to, ""
		case len(c.params) > 0:
			c.params[rng.IntN(len(c.params))] = to
		case c.ref != nil && c.ref.kind != btf.KindVoid:
			c.ref = to
		}
	}
	spec, err := btf.Parse(out.encode(byteOrder), nil)
	if err != nil {
		t.Skip(err)
	}
	return spec
}

func TestHostileTypes(t *testing.T) {
	// Each level doubles the ways through: 2^60 without a bound.
	in := structure("", member("x", tInt))
	for range 60 {
		in = structure("", member("", in), memberAt("", in, 0))
		in.size = 8
	}
	wide := structure("s", member("", in))
	local := structure("s", member("gone", tInt))
	p := proto(tInt, ptr(tInt))
	p.params[0].ref = p
	p.params = append(p.params, ptr(p), ptr(p))
	self := typedef("p", p)
	loop := structure("l", member("", tInt))
	loop.members[0].typ = loop
	f := rule{
		target: []*ty{wide, self, loop},
		steps: []step{
			field(local, "0:0", fails(ErrTooComplex)),
			typ(self, TypeExists, fails(ErrTooDeep)),
			typ(self, TypeMatches, fails(ErrTooDeep)),
			field(structure("l", member("a", tInt)), "0:0", fails(ErrTooDeep)),
		},
	}
	for i, s := range f.steps {
		fx := f.build(t)
		start := time.Now()
		_, err := NewResolver(fx.local, Target{BTF: fx.target}).Resolve(fx.records[i])
		if err == nil {
			t.Errorf("step %d: no error", i)
		}
		if d := time.Since(start); d > 5*time.Second { // far less, but for the race detector
			t.Errorf("step %d (%s) took %v", i, s.kind, d)
		}
	}
}
