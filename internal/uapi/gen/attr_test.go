package main

import (
	"encoding/binary"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
)

// kernels are those whose types are in the repository, oldest first.
func kernels(t *testing.T) map[uapi.Release]*btf.Spec {
	out := map[uapi.Release]*btf.Spec{}
	for release, name := range map[uapi.Release]string{uapi.R(5, 10): oldest, uapi.R(6, 1): "linux-6.1.176-arm64-cloud.btf.xz", uapi.R(7, 2): newest} {
		spec, err := testbtf.Load(filepath.Join("../../../testdata/btf", name))
		require.NoError(t, err)
		out[release] = spec
	}
	spec, err := embedded.Spec()
	require.NoError(t, err)
	out[uapi.R(6, 12)] = spec
	return out
}

// TestFieldsCameWithTheirReleases: a kernel's BTF has exactly the fields that the column says its
// release has, and its union is as long as follows from them.
func TestFieldsCameWithTheirReleases(t *testing.T) {
	all := fieldsOf(t, kernels(t)[uapi.R(7, 2)])
	for release, spec := range kernels(t) {
		var want []attrField
		for _, f := range all {
			if major, minor := f.since(); release.Has(uapi.R(major, minor)) {
				want = append(want, f)
			}
		}
		assert.ElementsMatch(t, want, fieldsOf(t, spec), "Linux %s", release)
		_, size, err := attrParts(spec)
		require.NoError(t, err)
		assert.EqualValues(t, size, bpfattr.Size(release), "Linux %s", release)
	}
}

// TestInfoOnlyGrows: what older kernels return is where newer ones have it.
func TestInfoOnlyGrows(t *testing.T) {
	for _, info := range infos {
		all, err := infoFields(kernels(t)[uapi.R(7, 2)], info.kernel)
		require.NoError(t, err)
		require.NotEmpty(t, all)
		for release, spec := range kernels(t) {
			if info.kernel == "bpf_token_info" && release < uapi.R(7, 2) {
				_, err := infoFields(spec, info.kernel)
				require.ErrorContains(t, err, "no struct bpf_token_info", release.String())
				continue
			}
			fields, err := infoFields(spec, info.kernel)
			require.NoError(t, err)
			assert.Subset(t, all, fields, "%s of Linux %s", info.kernel, release)
		}
	}
}

func fieldsOf(t *testing.T, spec *btf.Spec) []attrField {
	parts, _, err := attrParts(spec)
	require.NoError(t, err)
	var out []attrField
	for _, p := range parts {
		out = append(out, p.all()...)
	}
	return out
}

// union returns BTF with a union bpf_attr of these structs.
func union(t *testing.T, add func(b *btf.Builder, u32 btf.ID) []btf.Member) *btf.Spec {
	b := btf.NewBuilder(nil)
	u32 := b.Add(btf.Type{Kind: btf.KindInt, Name: "__u32", Size: 4, Int: btf.IntInfo{Bits: 32}})
	members := add(b, u32)
	b.Add(btf.Type{Kind: btf.KindUnion, Name: "bpf_attr", Size: 16, Members: members})
	s, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	return s
}

func TestStructsOfTheUnion(t *testing.T) {
	old := union(t, func(b *btf.Builder, u32 btf.ID) []btf.Member {
		s := b.Add(btf.Type{Kind: btf.KindStruct, Size: 4, Members: []btf.Member{{Name: "pathname", Type: u32}}})
		return []btf.Member{{Type: s}}
	})
	for _, c := range []struct {
		name string
		add  func(b *btf.Builder, u32 btf.ID) []btf.Member
		want string
	}{
		{"a struct that nobody named", func(b *btf.Builder, u32 btf.ID) []btf.Member {
			return []btf.Member{{Type: b.Add(btf.Type{Kind: btf.KindStruct, Size: 4, Members: []btf.Member{{Name: "what", Type: u32}}})}}
		}, "begins with what has no name"},
		{"a field of no release", func(b *btf.Builder, u32 btf.ID) []btf.Member {
			s := b.Add(btf.Type{Kind: btf.KindStruct, Size: 8, Members: []btf.Member{{Name: "pathname", Type: u32}, {Name: "more", Type: u32, BitOffset: 32}}})
			return []btf.Member{{Type: s}}
		}, "more is not in linux-5.10"},
		{"releases of fields that are gone", func(b *btf.Builder, u32 btf.ID) []btf.Member {
			return []btf.Member{{Type: b.Add(btf.Type{Kind: btf.KindStruct, Size: 4, Members: []btf.Member{{Name: "pathname", Type: u32}}})}}
		}, "union bpf_attr has no field"},
		{"a field that is no number", func(b *btf.Builder, u32 btf.ID) []btf.Member {
			ptr := b.Add(btf.Type{Kind: btf.KindPtr, Ref: u32})
			return []btf.Member{{Name: "x", Type: b.Add(btf.Type{Kind: btf.KindStruct, Size: 8, Members: []btf.Member{{Name: "p", Type: ptr}}})}}
		}, "x.p is a"},
		{"an array of numbers", func(b *btf.Builder, u32 btf.ID) []btf.Member {
			a := b.Add(btf.Type{Kind: btf.KindArray, Ref: u32, Array: btf.ArrayInfo{Index: u32, Nelems: 2}})
			return []btf.Member{{Name: "x", Type: b.Add(btf.Type{Kind: btf.KindStruct, Size: 8, Members: []btf.Member{{Name: "a", Type: a}}})}}
		}, "x.a is an array"},
		{"a number beside the structs", func(_ *btf.Builder, u32 btf.ID) []btf.Member {
			return []btf.Member{{Name: "n", Type: u32}}
		}, "n is no struct"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := attrSource(union(t, c.add), old)
			assert.ErrorContains(t, err, c.want)
		})
	}
	_, _, err := attrParts(mustSpec(t, btf.NewBuilder(nil)))
	assert.ErrorContains(t, err, "no union bpf_attr")
}

func mustSpec(t *testing.T, b *btf.Builder) *btf.Spec {
	s, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	return s
}

// TestNestedStructs: fields of structs without a name belong to what is around them, at their
// offset in it.
func TestNestedStructs(t *testing.T) {
	s := union(t, func(b *btf.Builder, u32 btf.ID) []btf.Member {
		pair := b.Add(btf.Type{Kind: btf.KindStruct, Size: 8, Members: []btf.Member{{Name: "a_fd", Type: u32}, {Name: "attach_type", Type: u32, BitOffset: 32}}})
		either := b.Add(btf.Type{Kind: btf.KindUnion, Size: 8, Members: []btf.Member{{Type: pair}, {Name: "inner", Type: pair}}})
		outer := b.Add(btf.Type{Kind: btf.KindStruct, Size: 16, Members: []btf.Member{{Name: "n", Type: u32}, {Type: either, BitOffset: 64}}})
		return []btf.Member{{Name: "some_cmd", Type: outer}}
	})
	parts, size, err := attrParts(s)
	require.NoError(t, err)
	assert.EqualValues(t, 16, size)
	require.Len(t, parts, 1)
	assert.Equal(t, "SomeCmd", parts[0].name)
	var got []string
	for _, f := range parts[0].all() {
		got = append(got, f.name+" "+f.goType())
		assert.EqualValues(t, 4, f.size)
	}
	assert.Equal(t, []string{
		"some_cmd.n uint32", "some_cmd.a_fd int32", "some_cmd.attach_type uapi.AttachType", "some_cmd.inner.a_fd int32", "some_cmd.inner.attach_type uapi.AttachType",
	}, got)
	at := slices.IndexFunc(parts[0].all(), func(f attrField) bool { return f.name == "some_cmd.inner.attach_type" })
	assert.EqualValues(t, 12, parts[0].all()[at].at)
	assert.Equal(t, "SomeCmdInner", parts[0].inner[0].name)
}
