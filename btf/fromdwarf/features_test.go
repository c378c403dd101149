package fromdwarf

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
)

func TestParseFeatures(t *testing.T) {
	got, err := ParseFeatures("var,decl_tag_kfuncs,reproducible_build")
	require.NoError(t, err)
	assert.Equal(t, Var|KfuncTags, got)
	for _, bad := range []string{"", "vars", "var,", "consistent"} {
		_, err := ParseFeatures(bad)
		assert.ErrorIs(t, err, ErrFeature, bad)
	}
	got, err = ParseFeatures("consistent_func,optimized_func,true_signature")
	require.NoError(t, err)
	assert.Equal(t, functionFeatures, got)
}

// What is not asked for is not there; what cannot be said otherwise becomes what readers knew
// before.
func TestFeatures(t *testing.T) {
	kinds := func(features Features) map[btf.Kind]int {
		got, _ := made(t, file(t, "clang-5.o"), Options{Features: features})
		out := map[btf.Kind]int{}
		for id := got.FirstID(); int(id) < got.NumTypes(); id++ {
			out[got.Kind(id)]++
		}
		return out
	}
	all := kinds(DefaultFeatures)
	for _, tt := range []struct {
		feature Features
		kind    btf.Kind
		instead btf.Kind
	}{{Var, btf.KindVar, 0}, {Float, btf.KindFloat, btf.KindInt}, {DeclTag, btf.KindDeclTag, 0}, {TypeTag, btf.KindTypeTag, 0}, {Enum64, btf.KindEnum64, btf.KindEnum}} {
		less := kinds(DefaultFeatures &^ tt.feature)
		assert.NotZero(t, all[tt.kind], tt.kind)
		assert.Zero(t, less[tt.kind], tt.kind)
		if tt.instead != 0 {
			assert.Equal(t, all[tt.instead]+all[tt.kind], less[tt.instead], tt.kind)
		}
	}
	assert.Greater(t, kinds(DefaultFeatures | GlobalVar)[btf.KindVar], all[btf.KindVar])
}

func TestKfuncTags(t *testing.T) {
	opt := Options{Features: DefaultFeatures | KfuncTags, Kfuncs: map[string]uint32{"visible": 0, "other": kfuncFastcall, "absent": 0}}
	got, res := made(t, file(t, "gcc-5.o"), opt)
	assert.Equal(t, 2, res.Kfuncs)
	var tags []string
	for id := got.FirstID(); int(id) < got.NumTypes(); id++ {
		if x := got.MustType(id); x.Kind == btf.KindDeclTag {
			assert.EqualValues(t, -1, x.ComponentIdx)
			tags = append(tags, x.Name+" "+got.Name(x.Ref))
		}
	}
	assert.ElementsMatch(t, []string{"bpf_kfunc visible", "bpf_kfunc other", "bpf_fastcall other"}, tags)
}

// Arena pointers of kfuncs have an attribute, which other uses of the same pointer do not.
func TestArenaAttributes(t *testing.T) {
	opt := Options{Features: DefaultFeatures | Attributes, Kfuncs: map[string]uint32{"other": kfuncArenaArg2 | kfuncArenaRet}}
	got, _ := made(t, file(t, "gcc-5.o"), opt)
	id, ok := got.FindID(btf.KindFunc, "other")
	require.True(t, ok)
	proto := got.MustType(got.MustType(id).Ref)
	assert.Equal(t, btf.KindStruct, got.Kind(got.MustType(proto.Params[0].Type).Ref))
	tag := got.MustType(got.MustType(proto.Params[1].Type).Ref)
	assert.Equal(t, "TYPE_TAG address_space(1) true", tag.Kind.String()+" "+tag.Name+" "+map[bool]string{true: "true", false: "false"}[tag.Flag])
	assert.Equal(t, btf.KindUnion, got.Kind(tag.Ref))
	assert.Equal(t, btf.KindInt, got.Kind(proto.Ref), "a result that is no pointer stays")
	node, ok := got.FindID(btf.KindStruct, "node")
	require.True(t, ok)
	assert.Equal(t, btf.KindUnion, got.Kind(got.MustType(got.MustType(node).Members[2].Type).Ref))
}
