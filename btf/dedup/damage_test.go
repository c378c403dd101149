package dedup

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// twice adds types of all kinds, as one of two units has them. The first unit defines all enums and
// structs; the second only declares some of them.
func twice(b *btf.Builder, whole bool) {
	i := b.Int("int", 4, btf.IntSigned)
	array, pointers := b.Array(i, i, 4), b.Array(b.Ptr(i), i, 2)
	var e btf.ID
	part := func(name string, members ...btf.Member) btf.ID {
		if whole {
			return b.Struct(name, 24, members...)
		}
		return b.Add(btf.Type{Kind: btf.KindFwd, Name: name})
	}
	if whole {
		e = b.Add(btf.Type{Kind: btf.KindEnum, Name: "e", Size: 4, Values: []btf.Enumerator{{Name: "A"}, {Name: "B", Value: 7}}})
		b.Add(btf.Type{Kind: btf.KindEnum64, Name: "e64", Size: 8, Values: []btf.Enumerator{{Name: "C", Value: 1 << 40}}})
		b.Add(btf.Type{Kind: btf.KindUnion, Name: "u", Size: 8, Members: []btf.Member{{Name: "i", Type: i}, {Name: "e", Type: e}}})
	} else {
		e = b.Add(btf.Type{Kind: btf.KindEnum, Name: "e", Size: 4})
		b.Add(btf.Type{Kind: btf.KindEnum64, Name: "e64", Size: 8})
		b.Add(btf.Type{Kind: btf.KindFwd, Name: "u", Flag: true})
	}
	a := part("a", member("e", e, 0), member("array", array, 4))
	c := b.Mod(btf.KindConst, "", b.Mod(btf.KindVolatile, "", a))
	s := b.NextID() + 2
	b.Ptr(s)
	anon := b.Struct("", 16, member("pointers", pointers, 0))
	b.Struct("s", 56, member("a", b.NextID()-2, 0), member("anonymous", anon, 8), member("array", array, 24), member("next", b.NextID()+1, 40), member("c", b.NextID()+2, 48))
	b.Ptr(s)
	b.Ptr(c)
	proto := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: i, Params: []btf.Param{{Name: "s", Type: s + 1}, {Name: "e", Type: e}, {}}})
	f := b.Add(btf.Type{Kind: btf.KindFunc, Name: "f", Ref: proto, Linkage: 1})
	t := b.Mod(btf.KindTypedef, "t", b.Mod(btf.KindRestrict, "", b.Ptr(proto)))
	b.Add(btf.Type{Kind: btf.KindFloat, Name: "double", Size: 8})
	b.Mod(btf.KindTypeTag, "user", t)
	v := b.Add(btf.Type{Kind: btf.KindVar, Name: "v", Ref: s, Linkage: 1})
	b.Add(btf.Type{Kind: btf.KindDatasec, Name: ".data", Size: 56, Vars: []btf.VarSecinfo{{Type: v, Size: 56}}})
	b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "tag", Ref: s, ComponentIdx: 1})
	b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "tag", Ref: f, ComponentIdx: -1})
}

// TestChangedTypesAreMergedTheSame changes each word of two units, one after the other, and compares
// what is left of them.
func TestChangedTypesAreMergedTheSame(t *testing.T) {
	var all rewrite.Outcomes
	merged := func(raw []byte) string {
		spec, err := btf.Parse(raw, nil)
		if err != nil {
			return err.Error()
		}
		types, err := Of(spec)
		if err != nil {
			return err.Error()
		}
		if err := types.Dedup(nil); err != nil {
			return err.Error()
		}
		out, err := types.Marshal(binary.LittleEndian)
		return fmt.Sprintf("merged\t%v %x", err, out)
	}
	for _, order := range []string{"whole first", "declarations first", "twice whole"} {
		b := btf.NewBuilder(nil)
		twice(b, order != "declarations first")
		twice(b, order != "whole first")
		raw, err := b.Marshal(binary.LittleEndian)
		require.NoError(t, err)
		all.Add(order, merged(raw))
		names := 24 + int(binary.LittleEndian.Uint32(raw[16:]))
		for at := 24; at < names; at += 4 {
			w := binary.LittleEndian.Uint32(raw[at:])
			for i, v := range []uint32{w + 1, w - 1, 0, 1, w ^ 1<<31, w + 1<<24, w - 1<<24} {
				bad := bytes.Clone(raw)
				binary.LittleEndian.PutUint32(bad[at:], v)
				all.Add(fmt.Sprintf("%s: word %d, change %d", order, at/4, i), merged(bad))
			}
		}
	}
	all.Compare(t, filepath.Join("testdata", "damage.txt"))
}
