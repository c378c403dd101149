package check

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

func build(t testing.TB, f func(b *btf.Builder)) []byte {
	t.Helper()
	b := btf.NewBuilder(nil)
	f(b)
	raw, err := b.Marshal(binary.LittleEndian)
	require.NoError(t, err)
	return raw
}

func at(name string, t btf.ID, off uint32) btf.Member {
	return btf.Member{Name: name, Type: t, BitOffset: 8 * off}
}

// owned builds the structs whose names make fields.
func owned(b *btf.Builder) (i, lock, head, node, root, rb, ref btf.ID) {
	i = b.Int("int", 4, 0)
	long := b.Int("long", 8, 0)
	field := func(name string, n uint32) btf.ID {
		return b.Struct(name, 8*n, at("x", b.Array(long, i, n), 0))
	}
	lock = b.Struct("bpf_spin_lock", 4, at("val", i, 0))
	head, node, root, rb = field("bpf_list_head", 2), field("bpf_list_node", 3), field("bpf_rb_root", 2), field("bpf_rb_node", 4)
	ref = b.Struct("bpf_refcount", 4, at("x", i, 0))
	return
}

func kptr(b *btf.Builder, tag string, to btf.ID) btf.ID {
	return b.Ptr(b.Mod(btf.KindTypeTag, tag, to))
}

var r = uapi.R

// Every rule changes a verdict between the release before it and its own, which the case names.
var boundaries = map[since.Rule]struct {
	from  Release
	newer bool // what the release with the rule does: accept
	build func(b *btf.Builder)
}{
	since.EmptySections: {r(5, 12), true, func(b *btf.Builder) { b.Add(btf.Type{Kind: btf.KindDatasec, Name: ".rodata", Size: 4}) }},
	since.KindFloat:     {r(5, 13), true, func(b *btf.Builder) { b.Add(btf.Type{Kind: btf.KindFloat, Name: "float", Size: 4}) }},
	since.KindDeclTag: {r(5, 16), true, func(b *btf.Builder) {
		b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "a", Ref: b.Mod(btf.KindTypedef, "t", b.Int("int", 4, 0)), ComponentIdx: -1})
	}},
	since.KindTypeTag: {r(5, 17), true, func(b *btf.Builder) { b.Mod(btf.KindTypeTag, "user", b.Int("int", 4, 0)) }},
	since.KindEnum64: {r(6, 0), true, func(b *btf.Builder) {
		b.Add(btf.Type{Kind: btf.KindEnum64, Name: "e", Size: 8, Values: []btf.Enumerator{{Name: "A"}}})
	}},
	since.SignedEnums: {r(6, 0), true, func(b *btf.Builder) {
		b.Add(btf.Type{Kind: btf.KindEnum, Flag: true, Size: 4, Values: []btf.Enumerator{{Name: "A"}}})
	}},
	since.FuncsResolve: {r(5, 18), true, func(b *btf.Builder) { // a modifier of a function stands for its prototype
		f := b.Add(btf.Type{Kind: btf.KindFunc, Name: "f", Ref: b.Add(btf.Type{Kind: btf.KindFuncProto})})
		b.Mod(btf.KindConst, "", f)
	}},
	since.TagsFirst: {r(5, 19), false, func(b *btf.Builder) {
		b.Mod(btf.KindConst, "", b.Mod(btf.KindTypeTag, "user", b.Int("int", 4, 0)))
	}},
	since.ShortChains: {r(7, 2), true, func(b *btf.Builder) {
		b.Mod(btf.KindConst, "", b.Mod(btf.KindTypeTag, "user", b.Int("int", 4, 0)))
	}},
	since.LongNames: {r(6, 1), true, func(b *btf.Builder) { b.Mod(btf.KindTypedef, strings.Repeat("n", 512), b.Int("int", 4, 0)) }},
	since.ReturnsTypes: {r(6, 1), false, func(b *btf.Builder) {
		v := b.Add(btf.Type{Kind: btf.KindVar, Name: "v", Ref: b.Int("int", 4, 0)})
		b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: v})
	}},
	since.PrintableSections: {r(6, 9), true, func(b *btf.Builder) { b.Add(btf.Type{Kind: btf.KindDatasec, Name: "?a b", Size: 4}) }},
	since.AttributeTags: {r(6, 15), true, func(b *btf.Builder) {
		b.Add(btf.Type{Kind: btf.KindTypeTag, Name: "address_space(1)", Flag: true, Ref: b.Int("int", 4, 0)})
	}},
	since.OwnedFields: {r(6, 2), false, func(b *btf.Builder) {
		_, _, head, _, _, _, _ := owned(b)
		b.Struct("s", 16, at("h", head, 0))
	}},
	since.OwnedTrees: {r(6, 3), false, func(b *btf.Builder) {
		_, _, _, _, root, _, _ := owned(b)
		b.Struct("s", 16, at("r", root, 0))
	}},
	since.OwnedRefcounts: {r(6, 4), true, func(b *btf.Builder) { // which makes two kinds of nodes in one struct legal
		_, _, _, node, _, rb, ref := owned(b)
		b.Struct("s", 64, at("n", node, 0), at("rb", rb, 24), at("c", ref, 56))
	}},
	since.OwnedKptrs: {r(6, 12), false, func(b *btf.Builder) {
		to := b.Struct("own", 4, at("a", b.Int("int", 4, 0), 0))
		p := kptr(b, "kptr", to)
		b.Struct("s", 8, at("p", p, 0), at("q", p, 0)) // two at one place
	}},
	since.NestedFields: {r(6, 11), false, func(b *btf.Builder) {
		i, lock, _, _, _, _, _ := owned(b)
		b.Add(btf.Type{Kind: btf.KindStruct, Name: "s", Size: 8, Flag: true, Members: []btf.Member{
			{Name: "l", Type: lock}, {Name: "b", Type: i, BitOffset: 33, BitfieldSize: 3},
		}})
	}},
	since.ElevenFields: {r(6, 10), true, func(b *btf.Builder) {
		_, lock, head, node, _, _, _ := owned(b)
		b.Struct("item", 24, at("n", node, 0))
		members := []btf.Member{at("l", lock, 0)}
		id := b.NextID()
		for n := range uint32(10) {
			members = append(members, at("h", head, 8+16*n))
		}
		b.Struct("s", 168, members...)
		for n := range int32(10) {
			b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "contains:item:n", Ref: id, ComponentIdx: n + 1})
		}
	}},
	since.UniqueRefcounts: {r(7, 2), false, func(b *btf.Builder) {
		_, _, _, _, _, _, ref := owned(b)
		b.Struct("s", 8, at("a", ref, 0), at("b", ref, 4))
	}},
	since.UniqueNested: {r(7, 2), false, func(b *btf.Builder) {
		_, lock, _, _, _, _, _ := owned(b)
		in := b.Struct("in", 4, at("l", lock, 0))
		b.Struct("s", 8, at("a", lock, 0), at("b", in, 4))
	}},
	since.UniqueTags: {r(6, 7), false, func(b *btf.Builder) {
		_, lock, head, node, _, _, _ := owned(b)
		b.Struct("item", 24, at("n", node, 0))
		id := b.Struct("s", 24, at("l", lock, 0), at("h", head, 8))
		for range 2 {
			b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "contains:item:n", Ref: id, ComponentIdx: 1})
		}
	}},
	since.WideInfo:    {r(7, 2), true, entries(0x10000)},
	since.PercpuKptrs: {r(6, 7), true, nil}, // kptrs are judged from a later release on
	since.UserPtrs: {r(6, 13), true, func(b *btf.Builder) {
		to := b.Struct("own", 4, at("a", b.Int("int", 4, 0), 0))
		b.Struct("s", 16, at("p", kptr(b, "uptr", to), 0), at("q", kptr(b, "kptr", to), 8))
	}},
	since.LooseKptrTags: {r(7, 2), true, func(b *btf.Builder) {
		to := b.Struct("own", 4, at("a", b.Int("int", 4, 0), 0))
		other := b.Ptr(b.Mod(btf.KindTypeTag, "rcu", to))
		b.Struct("s", 16, at("p", kptr(b, "kptr", to), 0), at("q", other, 8))
	}},
	since.ResilientLocks: {r(6, 15), true, func(b *btf.Builder) {
		i, _, head, node, _, _, _ := owned(b)
		res := b.Struct("bpf_res_spin_lock", 4, at("val", i, 0))
		b.Struct("item", 24, at("n", node, 0))
		id := b.Struct("s", 24, at("l", res, 0), at("h", head, 8))
		b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "contains:item:n", Ref: id, ComponentIdx: 1})
	}},
	since.OwnershipDepth: {r(7, 2), true, func(b *btf.Builder) { // an owned owner of an owner, which is not deep
		_, lock, head, node, _, _, _ := owned(b)
		names := []string{"c", "b", "a"}
		for n, name := range names {
			id := b.Struct(name, 48, at("n", node, 0), at("l", lock, 24), at("h", head, 32))
			if n > 0 {
				b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "contains:" + names[n-1] + ":n", Ref: id, ComponentIdx: 2})
				continue
			}
			b.Struct("leaf", 24, at("n", node, 0))
			b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "contains:leaf:n", Ref: id, ComponentIdx: 2})
		}
	}},
}

// read are the releases whose kernel/bpf/btf.c (include/linux/kallsyms.h for LongNames) was read:
// for each rule the newest without and the oldest with it. The release in its row lies between.
var read = map[since.Rule]struct{ without, with Release }{
	since.EmptySections: {r(5, 10), r(5, 15)}, since.KindFloat: {r(5, 10), r(5, 15)}, since.KindDeclTag: {r(5, 15), r(6, 1)}, since.KindTypeTag: {r(5, 15), r(6, 1)},
	since.KindEnum64: {r(5, 15), r(6, 1)}, since.SignedEnums: {r(5, 15), r(6, 1)}, since.FuncsResolve: {r(5, 15), r(6, 1)}, since.TagsFirst: {r(5, 15), r(6, 1)},
	since.ShortChains: {r(6, 18), r(7, 2)}, since.LongNames: {r(5, 15), r(6, 1)}, since.ReturnsTypes: {r(5, 15), r(6, 1)}, since.PrintableSections: {r(6, 6), r(6, 12)},
	since.AttributeTags: {r(6, 12), r(6, 18)}, since.OwnedFields: {r(6, 1), r(6, 6)}, since.OwnedTrees: {r(6, 1), r(6, 6)}, since.OwnedRefcounts: {r(6, 1), r(6, 6)},
	since.OwnedKptrs: {r(6, 6), r(6, 12)}, since.NestedFields: {r(6, 6), r(6, 12)}, since.ElevenFields: {r(6, 6), r(6, 12)}, since.UniqueRefcounts: {r(6, 18), r(7, 2)},
	since.UniqueNested: {r(6, 18), r(7, 2)}, since.UniqueTags: {r(6, 6), r(6, 12)}, since.PercpuKptrs: {r(6, 6), r(6, 12)}, since.UserPtrs: {r(6, 12), r(6, 18)},
	since.LooseKptrTags: {r(6, 18), r(7, 2)}, since.ResilientLocks: {r(6, 12), r(6, 18)}, since.OwnershipDepth: {r(6, 18), r(7, 2)}, since.LayoutSection: {r(6, 18), r(7, 2)},
	since.WideInfo: {r(6, 18), r(7, 2)},
}

func TestRulesBeginBetweenTheReleasesRead(t *testing.T) {
	for f, x := range read {
		row := f.Row()
		assert.Less(t, x.without, row.From, f)
		assert.LessOrEqual(t, row.From, x.with, f)
		assert.Equal(t, since.Source, row.Evidence, f)
		assert.True(t, setOf(x.with).Has(f), f)
		assert.False(t, setOf(x.without).Has(f), f)
		for _, a := range row.Stable {
			fits := a.Release < x.without || a.Release == row.From
			assert.True(t, fits, "%s: a stable update of an older line, or the one of the release that brought it", f)
		}
	}
}

// entries is an ENUM with that many enumerators.
func entries(n int) func(b *btf.Builder) {
	return func(b *btf.Builder) {
		values := make([]btf.Enumerator, n)
		for i := range values {
			values[i].Name = "A"
		}
		b.Add(btf.Type{Kind: btf.KindEnum, Name: "e", Size: 4, Values: values})
	}
}

// vlen has 16 bits before Linux 7.2 and 24 from then on, kind 5 and 7.
func TestWideInfo(t *testing.T) {
	old, wide := r(7, 1), r(7, 2)
	full := build(t, entries(0xffff))
	assert.NoError(t, BTF(full, Options{Release: old}))
	assert.NoError(t, BTF(full, Options{Release: wide}))

	// As many as fit into the kernel's 16 MiB.
	most := build(t, entries((maxSize-24-12-5)/8))
	assert.NoError(t, BTF(most, Options{Release: wide}))
	most = build(t, entries((maxSize-24-12-5)/8+1))
	var p *Problem
	require.ErrorAs(t, BTF(most, Options{Release: wide}), &p)
	assert.Equal(t, RuleLimit, p.Rule)

	one := build(t, entries(1))
	info := one[24+4:]
	for _, c := range []struct {
		info     btf.Info
		old, new Rule
	}{
		{btf.MakeInfo(btf.KindEnum, 0x10000, false), RuleInfo, RuleTruncated},
		{btf.MakeInfo(btf.KindEnum, btf.MaxVlen, false), RuleInfo, RuleTruncated},
		{btf.MakeInfo(btf.KindFunc, btf.MaxVlen, false), RuleInfo, RuleLinkage},
		{btf.MakeInfo(btf.KindEnum|0x20, 1, false), RuleInfo, RuleKind},
		{btf.MakeInfo(0x7f, 1, false), RuleInfo, RuleKind},
		{btf.MakeInfo(0x14, 1, false), RuleKind, RuleKind},
	} {
		binary.LittleEndian.PutUint32(info, uint32(c.info))
		require.ErrorAs(t, BTF(one, Options{Release: old}), &p)
		assert.Equal(t, c.old, p.Rule, "%#x: %v", c.info, p)
		require.ErrorAs(t, BTF(one, Options{Release: wide}), &p)
		assert.Equal(t, c.new, p.Rule, "%#x: %v", c.info, p)
	}

	// libbpf replaces nothing that would make a type shorter.
	big := build(t, entries(0x10000))
	out, changes, err := Sanitise(big, old)
	require.NoError(t, err)
	assert.Empty(t, changes)
	require.ErrorAs(t, BTF(out, Options{Release: old}), &p)
	assert.Contains(t, p.Detail, "vlen is 65536")
}

func TestEveryRuleHasABoundary(t *testing.T) {
	for _, f := range since.All() {
		_, ok := boundaries[f]
		if f.Area() == "BTF" && f != since.LayoutSection {
			assert.True(t, ok, "no case shows the boundary of %s", f)
		}
	}
	for f, c := range boundaries {
		t.Run(f.String(), func(t *testing.T) {
			if c.build == nil {
				return
			}
			raw := build(t, c.build)
			before, now := BTF(raw, Options{Release: since.Previous(c.from)}), BTF(raw, Options{Release: c.from})
			assert.Equal(t, c.newer, now == nil, "%s: %v", c.from, now)
			assert.Equal(t, !c.newer, before == nil, "before %s: %v", c.from, before)
		})
	}
}

func TestPercpuKptrs(t *testing.T) {
	raw := build(t, func(b *btf.Builder) {
		to := b.Struct("own", 4, at("a", b.Int("int", 4, 0), 0))
		b.Struct("s", 16, at("p", kptr(b, "percpu_kptr", to), 0), at("q", kptr(b, "kptr", to), 8))
	})
	assert.NoError(t, BTF(raw, Options{Release: r(6, 12)}))
}

// A declaration's tag is about the whole of it, -1, or a part from 0 on (btf_decl_tag_check_meta).
func TestComponentsOfTags(t *testing.T) {
	for component, ok := range map[int32]bool{-2: false, -1: true, 0: true, 1: false} {
		raw := build(t, func(b *btf.Builder) {
			s := b.Struct("s", 4, at("a", b.Int("int", 4, 0), 0))
			b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "tag", Ref: s, ComponentIdx: component})
		})
		err := BTF(raw, Options{Release: r(6, 18)})
		if ok {
			assert.NoError(t, err, component)
			continue
		}
		var p *Problem
		require.ErrorAs(t, err, &p, component)
		assert.Equal(t, RuleComponent, p.Rule)
	}
	for component, rule := range map[int32]Rule{-2: RuleComponent, -1: RuleReference} { // the tag itself is checked before what it refers to
		raw := build(t, func(b *btf.Builder) {
			b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "tag", Ref: b.Int("int", 4, 0), ComponentIdx: component})
		})
		var p *Problem
		require.ErrorAs(t, BTF(raw, Options{Release: r(6, 18)}), &p, component)
		assert.Equal(t, rule, p.Rule, component)
	}
}

// The fields of a struct with a resilient lock alone are not looked at, here two locks and a field
// of bits (alloc_obj_fields in btf_parse_struct_metas has no bpf_res_spin_lock).
func TestResilientLocksAlone(t *testing.T) {
	for name, ok := range map[string]bool{"bpf_res_spin_lock": true, "bpf_spin_lock": false} {
		for _, two := range []bool{false, true} {
			raw := build(t, func(b *btf.Builder) {
				i := b.Int("int", 4, 0)
				lock := b.Struct(name, 4, at("val", i, 0))
				if two {
					b.Struct("s", 8, at("a", lock, 0), at("b", lock, 4))
					return
				}
				b.Add(btf.Type{Kind: btf.KindStruct, Name: "s", Size: 8, Flag: true, Members: []btf.Member{
					{Name: "l", Type: lock}, {Name: "b", Type: i, BitOffset: 33, BitfieldSize: 3},
				}})
			})
			assert.Equal(t, ok, BTF(raw, Options{Release: r(6, 15)}) == nil, "%s, two %v", name, two)
		}
	}
}

// A struct has ten special fields, from 6.10 on eleven (BTF_FIELDS_MAX).
func TestMostFields(t *testing.T) {
	for heads, first := range map[uint32]Release{9: since.NodeOwners.From(), 10: since.ElevenFields.From(), 11: 0} {
		raw := build(t, func(b *btf.Builder) {
			_, lock, head, node, _, _, _ := owned(b)
			b.Struct("item", 24, at("n", node, 0))
			members, id := []btf.Member{at("l", lock, 0)}, b.NextID()
			for n := range heads {
				members = append(members, at("h", head, 8+16*n))
			}
			b.Struct("s", 8+16*heads, members...)
			for n := range heads {
				b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "contains:item:n", Ref: id, ComponentIdx: int32(n) + 1})
			}
		})
		for _, release := range []Release{since.NodeOwners.From(), since.ElevenFields.Before(), since.ElevenFields.From(), r(7, 2)} {
			assert.Equal(t, first != 0 && release >= first, BTF(raw, Options{Release: release}) == nil, "%d lists on %s", heads, release)
		}
	}
}

func TestKptrsNeedDestructors(t *testing.T) {
	raw := build(t, func(b *btf.Builder) {
		i := b.Int("int", 4, 0)
		for _, name := range []string{"task_struct", "own", "file"} {
			to := b.Struct(name, 4, at("a", i, 0))
			b.Struct("", 8, at("p", kptr(b, "kptr", to), 0))
		}
	})
	inKernel := func(_ btf.Kind, name string) bool { return name != "own" }
	assert.NoError(t, BTF(raw, Options{Release: r(6, 12)}))
	var p *Problem
	require.ErrorAs(t, BTF(raw, Options{Release: r(6, 12), InKernel: inKernel}), &p)
	assert.Equal(t, RuleField, p.Rule)
	assert.Contains(t, p.Detail, "struct file")
	assert.Equal(t, uapi.ENOENT, p.Errno)
}

// The layout section of newer headers, and the info word without unused bits.
func TestLayoutSection(t *testing.T) {
	raw := build(t, func(b *btf.Builder) { b.Int("int", 4, 0) })
	long := append([]byte(nil), raw[:24]...)
	long = append(long, make([]byte, 8)...)
	binary.LittleEndian.PutUint32(long[4:], 32)
	binary.LittleEndian.PutUint32(long[24:], uint32(len(raw)-24))
	binary.LittleEndian.PutUint32(long[28:], 4)
	long = append(append(long, raw[24:]...), 4, 0, 0, 0)
	assert.Error(t, BTF(long, Options{Release: r(6, 18)}))
	// Strings of 5 bytes leave the layout section at an odd place.
	var p *Problem
	require.ErrorAs(t, BTF(long, Options{Release: r(7, 2)}), &p)
	assert.Equal(t, RuleLayout, p.Rule)
	out, changes, err := Sanitise(long, r(6, 18))
	require.NoError(t, err)
	require.Len(t, changes, 1)
	assert.NoError(t, BTF(out, Options{Release: r(6, 18)}))
}

// Structs in structs, two in each, do not take twice as long for each level; deeper than the kernel
// walks is refused.
func TestNestedStructsAreWalkedOnce(t *testing.T) {
	for levels, ok := range map[int]bool{20: true, 31: true, 32: false, 60: false} {
		raw := build(t, func(b *btf.Builder) {
			in := b.Int("int", 4, 0)
			to := b.Struct("own", 4, at("a", in, 0))
			for range levels {
				in = b.Struct("", 4, at("x", in, 0), at("y", in, 0))
			}
			b.Struct("top", 16, at("p", kptr(b, "kptr", to), 0), at("in", in, 8))
		})
		var p *Problem
		err := BTF(raw, Options{Release: r(6, 18)})
		if ok {
			assert.NoError(t, err, levels)
			continue
		}
		require.ErrorAs(t, err, &p, levels)
		assert.Equal(t, uapi.E2BIG, p.Errno)
	}
}

// The kernel takes 16 MiB of types (BTF_MAX_SIZE in btf_parse).
func TestMostBytes(t *testing.T) {
	for n, rule := range map[int]Rule{maxSize: RuleHeader, maxSize + 1: RuleLimit} {
		var p *Problem
		require.ErrorAs(t, BTF(make([]byte, n), Options{Release: r(6, 18)}), &p)
		assert.Equal(t, rule, p.Rule, n)
	}
}

func TestRulesHaveNamesAndAdvice(t *testing.T) {
	names := map[string]bool{}
	for r := Rule(1); r < numRules; r++ {
		assert.NotEmpty(t, r.String(), int(r))
		assert.NotEmpty(t, r.Advice(), r.String())
		assert.False(t, names[r.String()], r.String())
		names[r.String()] = true
	}
}

func TestProblemsNameTypeAndRule(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(b *btf.Builder)
		rule  Rule
		id    btf.ID
		errno uapi.Errno
	}{
		{"loop of pointers", func(b *btf.Builder) { b.Ptr(2); b.Ptr(1) }, RuleLoop, 1, uapi.EEXIST},
		{"loop of pointers behind a modifier of a member", func(b *btf.Builder) { b.Struct("s", 8, at("m", 2, 0)); b.Mod(btf.KindConst, "", 4); b.Ptr(2); b.Ptr(3) }, RuleLoop, 3, uapi.EEXIST},
		{"struct that has itself", func(b *btf.Builder) { b.Struct("s", 4, at("s", 2, 0)); b.Mod(btf.KindConst, "", 1) }, RuleLoop, 1, uapi.EEXIST},
		{"typedef without name", func(b *btf.Builder) { b.Mod(btf.KindTypedef, "", 0) }, RuleName, 1, uapi.EINVAL},
		{"member after the end", func(b *btf.Builder) { b.Struct("s", 4, at("a", b.Int("long", 8, 0), 0)) }, RuleMember, 2, uapi.EINVAL},
		{"extern function", func(b *btf.Builder) {
			b.Add(btf.Type{Kind: btf.KindFunc, Name: "f", Ref: b.Add(btf.Type{Kind: btf.KindFuncProto}), Linkage: 2})
		}, RuleLinkage, 2, uapi.EINVAL},
		{"deep structs", func(b *btf.Builder) {
			for range 40 {
				b.Struct("", 4, at("a", b.NextID()+1, 0))
			}
			b.Int("int", 4, 0)
		}, RuleDepth, 33, uapi.E2BIG},
		{"parameter without name", func(b *btf.Builder) {
			i := b.Int("int", 4, 0)
			b.Add(btf.Type{Kind: btf.KindFunc, Name: "f", Ref: b.Add(btf.Type{Kind: btf.KindFuncProto, Params: []btf.Param{{Type: i}}})})
		}, RuleParameter, 3, uapi.EINVAL},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p *Problem
			require.ErrorAs(t, BTF(build(t, c.build), Options{}), &p)
			assert.Equal(t, c.rule, p.Rule, p.Error())
			assert.Equal(t, c.id, p.ID, p.Error())
			assert.Equal(t, c.errno, p.Errno, p.Error())
			assert.Contains(t, p.Error(), c.rule.String())
		})
	}
}

// What libbpf replaces for an old kernel is accepted there, with the ids unchanged.
func TestSanitise(t *testing.T) {
	raw := build(t, func(b *btf.Builder) {
		f := b.Add(btf.Type{Kind: btf.KindFloat, Name: "double", Size: 8})
		tag := b.Mod(btf.KindTypeTag, "user", b.Int("int", 4, btf.IntSigned))
		e64 := b.Add(btf.Type{Kind: btf.KindEnum64, Name: "big", Size: 8, Values: []btf.Enumerator{{Name: "A", Value: 1 << 40}, {Name: "B"}}})
		b.Add(btf.Type{Kind: btf.KindEnum, Name: "sign", Size: 4, Flag: true, Values: []btf.Enumerator{{Name: "M", Value: 1<<64 - 1}}})
		s := b.Struct("s", 24, at("f", f, 0), at("t", b.Ptr(tag), 8), at("e", e64, 16))
		v := b.Add(btf.Type{Kind: btf.KindVar, Name: "v", Ref: s, Linkage: btf.LinkageGlobal})
		b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "mark", Ref: s, ComponentIdx: -1})
		b.Add(btf.Type{Kind: btf.KindDatasec, Name: "?data", Size: 24, Vars: []btf.VarSecinfo{{Type: v, Size: 24}}})
	})
	kept := bytes.Clone(raw)
	require.NoError(t, BTF(raw, Options{Release: r(6, 12)}))
	require.Error(t, BTF(raw, Options{Release: r(5, 10)}))
	out, changes, err := Sanitise(raw, r(5, 10))
	require.NoError(t, err)
	assert.Equal(t, kept, raw)
	var said []string
	for _, c := range changes {
		said = append(said, c.String())
	}
	assert.Equal(t, []string{
		"1 FLOAT became a STRUCT without members", "1 TYPE_TAG became a CONST", "1 ENUM64 became a UNION", "1 ENUM lost its kind_flag",
		"1 DECL_TAG became an INT of one byte", "1 DATASEC has _ instead of ? in its name",
	}, said)
	err = BTF(out, Options{Release: r(5, 10)})
	require.NoError(t, err)
	spec, err := btf.Parse(out, nil)
	require.NoError(t, err)
	assert.Equal(t, btf.KindUnion, spec.Kind(4))
	same, changes, err := Sanitise(raw, r(6, 12))
	require.NoError(t, err)
	assert.Empty(t, changes)
	assert.Equal(t, raw, same)
}

func FuzzCheck(f *testing.F) {
	for _, c := range boundaries {
		if c.build != nil {
			f.Add(build(f, c.build), uint16(0))
		}
	}
	f.Add([]byte{0x9f, 0xeb}, uint16(r(5, 10)))
	f.Fuzz(func(t *testing.T, raw []byte, release uint16) {
		for _, rel := range []Release{0, r(5, 10), Release(release)} {
			err := BTF(raw, Options{Release: rel})
			var p *Problem
			if err != nil {
				require.True(t, errors.As(err, &p))
				require.NotEmpty(t, p.Error())
			}
			out, _, err := Sanitise(raw, rel)
			if err == nil {
				BTF(out, Options{Release: rel})
			}
		}
	})
}
