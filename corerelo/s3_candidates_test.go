package corerelo

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
)

func TestCandidates(t *testing.T) {
	s := func(name string, names ...string) *ty {
		var m []mem
		for _, n := range names {
			m = append(m, member(n, tInt))
		}
		return structure(name, m...)
	}
	foo := s("foo", "a", "b")
	flavored := s("foo___v1", "a", "b")
	other := typedef("foo", s("", "a", "b"))
	both := s("foo", "x", "y")

	runRules(t, []rule{
		{name: "S3.1 local flavor", target: []*ty{s("foo", "pad", "a", "b")}, steps: []step{field(flavored, "0:1", is(8))}},
		{name: "S3.1 target flavor", target: []*ty{s("foo___old", "pad", "a", "b")}, steps: []step{field(foo, "0:1", is(8))}},
		{name: "S3.1 last separator counts", target: []*ty{s("a___b___d", "x")}, steps: []step{field(s("a___b___c", "x"), "0:0", is(0))}},
		{name: "S3.1 not the first separator", target: []*ty{s("a", "x")}, steps: []step{field(s("a___b___c", "x"), "0:0", poisoned)}},
		{name: "S3.1 four underscores are no separator", target: []*ty{s("foo", "x")}, steps: []step{field(s("foo____x", "x"), "0:0", poisoned)}},
		{name: "S3.1 leading underscores are no separator", target: []*ty{s("___x", "x")}, steps: []step{field(s("___x", "x"), "0:0", is(0))}},
		{name: "S3.1 trailing underscores are no separator", target: []*ty{s("x", "x")}, steps: []step{field(s("x___", "x"), "0:0", poisoned)}},
		{name: "S3.2 struct is no candidate for union", target: []*ty{union("foo", member("a", tInt))}, steps: []step{
			field(foo, "0:0", poisoned), exists(foo, "0:0", is(0)),
		}},
		{name: "S3.2 typedef is no candidate for struct", target: []*ty{other}, steps: []step{exists(foo, "0:0", is(0))}},
		{name: "S3.2 typedef for typedef", target: []*ty{typedef("foo", s("", "pad", "a"))}, steps: []step{field(other, "0:0", is(4))}},
		{name: "S3.2 enum and enum64 are one kind", target: []*ty{enum64("e", false, val{"A", 1 << 40})}, steps: []step{
			enumval(enum("e", 4, false, val{"A", 1}), "0", is(1<<40)),
		}},
		{name: "S3.2 no candidate", target: []*ty{s("bar", "a")}, steps: []step{
			field(foo, "0:0", poisoned), exists(foo, "0:0", is(0)), typ(foo, TypeSize, is(0)),
		}},
		{name: "S3.5 a match prunes for later records", target: []*ty{s("foo___a", "x"), s("foo___b", "pad", "y")}, steps: []step{
			field(both, "0:0", is(0)), field(both, "0:1", poisoned), exists(both, "0:1", is(0)),
		}},
		{name: "S3.5 record order decides", target: []*ty{s("foo___a", "x"), s("foo___b", "pad", "y")}, steps: []step{
			field(both, "0:1", is(4)), field(both, "0:0", poisoned),
		}},
		{name: "S3.5 no match leaves the list", target: []*ty{s("foo___a", "x"), s("foo___b", "pad", "y")}, steps: []step{
			exists(both, "0:2", fails(ErrInvalidRecord)), field(both, "0:1", is(4)),
		}},
		{name: "S3.5 pruning is per local type id", target: []*ty{s("foo___a", "x"), s("foo___b", "pad", "y")}, steps: []step{
			field(both, "0:0", is(0)), field(s("foo___local", "x", "y"), "0:1", is(4)),
		}},
		{name: "S3.5 a repeated record sees the pruned list", target: []*ty{s("foo___a", "x"), s("foo___b", "y")}, steps: []step{
			exists(both, "0:1", is(1)), exists(both, "0:0", is(0)), exists(both, "0:1", is(1)), exists(both, "0:0", is(0)),
		}},
	})
}

func TestCandidateCounts(t *testing.T) {
	both := structure("foo", member("x", tInt), member("y", tInt))
	f := rule{
		target: []*ty{structure("foo___a", member("x", tInt)), structure("foo___b", member("y", tInt))},
		steps:  []step{field(both, "0:0", is(0))},
	}.build(t)
	r := NewResolver(f.local, Target{BTF: f.target})
	rel, err := r.Resolve(f.records[0])
	require.NoError(t, err)
	assert.Equal(t, 2, rel.Candidates)
	assert.Len(t, rel.Found, 2)
	require.Len(t, rel.Rejected, 1)
	assert.Equal(t, NoMember, rel.Rejected[0].Reason)
	assert.Equal(t, 1, rel.Rejected[0].Num)
	for range 2 { // once computed, once from the cache
		rel, err = r.Resolve(f.records[0])
		require.NoError(t, err)
		assert.Equal(t, 1, rel.Candidates)
		assert.Empty(t, rel.Found)
		assert.Empty(t, rel.Rejected)
	}
}

func TestModules(t *testing.T) {
	foo := structure("foo", member("a", tInt))
	inModule := structure("foo", member("pad", tInt), member("a", tInt))
	base, g := testTypes(t, byteOrder, tInt, structure("bar", member("a", tInt)))
	mod := newGraph(g.next, inModule)
	strs := newStrings()
	strs.base = byteOrder.Uint32(base.Raw()[20:])
	split, err := btf.Parse(mod.encodeWith(byteOrder, strs), base)
	require.NoError(t, err)
	local, lg := testTypes(t, byteOrder, foo)
	r := NewResolver(local, Target{BTF: base, Modules: []*btf.Spec{nil, split}, ModuleNames: []string{"", "m"}})
	rel, err := r.Resolve(Record{TypeID: lg.id(foo), Access: "0:0"})
	require.NoError(t, err)
	require.Len(t, rel.Found, 1)
	assert.Equal(t, "m", rel.Found[0].Source)
	assert.Equal(t, uint64(4), rel.Result.New)

	// a type the kernel has is not looked for in modules
	bar := structure("bar", member("z", tInt))
	local, lg = testTypes(t, byteOrder, bar)
	r = NewResolver(local, Target{BTF: base, Modules: []*btf.Spec{split}})
	rel, err = r.Resolve(Record{TypeID: lg.id(bar), Access: "0:0", Kind: FieldExists})
	require.NoError(t, err)
	assert.Equal(t, 1, rel.Candidates)
	assert.Nil(t, rel.Target)

	// what modules have instead is told too
	for _, c := range []struct {
		root *ty
		text string
	}{
		{structure("fooo", member("a", tInt)), "struct fooo does not exist in the kernel\nthe nearest name in module m is struct foo"},
		{union("foo", member("a", tInt)), "union foo does not exist in the kernel\nmodule m has struct foo, which is not a candidate for a union"},
	} {
		local, lg = testTypes(t, byteOrder, c.root)
		r = NewResolver(local, Target{BTF: base, Modules: []*btf.Spec{nil, split}, ModuleNames: []string{"", "m"}})
		rel, err = r.Resolve(Record{TypeID: lg.id(c.root), Access: "0:0"})
		require.NoError(t, err)
		assert.Equal(t, c.text, r.Explain(rel))
	}
}
