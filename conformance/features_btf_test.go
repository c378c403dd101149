package conformance_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/loader"
)

// built makes BTF in both byte orders and calls check for each.
func built(t *testing.T, build func(b *btf.Builder), check func(t *testing.T, s *btf.Spec)) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		b := btf.NewBuilder(nil)
		build(b)
		s, err := b.Spec(order)
		require.NoError(t, err)
		check(t, s)
	}
}

func rawText(t *testing.T, s *btf.Spec) string {
	var out bytes.Buffer
	require.NoError(t, btf.DumpRaw(&out, s))
	return out.String()
}

func testHeaders(t *testing.T) {
	built(t, func(b *btf.Builder) { b.Int("int", 4, btf.IntSigned) }, func(t *testing.T, s *btf.Spec) {
		raw := s.Raw()
		assert.EqualValues(t, 0xeb9f, s.ByteOrder().Uint16(raw))
		again, err := btf.Parse(raw, nil)
		require.NoError(t, err)
		assert.Equal(t, s.ByteOrder(), again.ByteOrder())
		// A longer header of the future is skipped, another version refused.
		long := append(append(bytes.Clone(raw[:24]), 0, 0, 0, 0), raw[24:]...)
		s.ByteOrder().PutUint32(long[4:], 28)
		again, err = btf.Parse(long, nil)
		require.NoError(t, err)
		assert.Equal(t, rawText(t, s), rawText(t, again))
		bad := bytes.Clone(raw)
		bad[2] = 2
		_, err = btf.Parse(bad, nil)
		assert.ErrorIs(t, err, btf.ErrVersion)
	})
}

func testKinds(t *testing.T) {
	built(t, func(b *btf.Builder) {
		i := b.Int("int", 4, btf.IntSigned)
		p := b.Ptr(i)
		b.Array(i, i, 3)
		b.Struct("s", 4, btf.Member{Name: "f", Type: i, BitfieldSize: 3})
		b.Union("u", 4, btf.Member{Name: "m", Type: i})
		b.Add(btf.Type{Kind: btf.KindEnum, Name: "e", Size: 4, Flag: true, Values: []btf.Enumerator{{Name: "NEG", Value: ^uint64(0)}}})
		b.Add(btf.Type{Kind: btf.KindFwd, Name: "fw", Flag: true})
		for _, k := range []btf.Kind{btf.KindTypedef, btf.KindVolatile, btf.KindConst, btf.KindRestrict} {
			name := ""
			if k == btf.KindTypedef {
				name = "td"
			}
			b.Mod(k, name, p)
		}
		proto := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: i})
		b.Add(btf.Type{Kind: btf.KindFunc, Name: "fn", Ref: proto, Linkage: btf.LinkageGlobal})
		v := b.Add(btf.Type{Kind: btf.KindVar, Name: "v", Ref: i})
		b.Add(btf.Type{Kind: btf.KindDatasec, Name: ".bss", Size: 4, Vars: []btf.VarSecinfo{{Type: v, Size: 4}}})
		b.Add(btf.Type{Kind: btf.KindFloat, Name: "double", Size: 8})
		b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "tag", Ref: v, ComponentIdx: -1})
		b.Mod(btf.KindTypeTag, "user", i)
		b.Add(btf.Type{Kind: btf.KindEnum64, Name: "e64", Size: 8, Values: []btf.Enumerator{{Name: "BIG", Value: 1 << 40}}})
	}, func(t *testing.T, s *btf.Spec) {
		kinds := map[btf.Kind]bool{}
		for id := btf.ID(1); int(id) < s.NumTypes(); id++ {
			kinds[s.Kind(id)] = true
		}
		assert.Len(t, kinds, 19)
		text := rawText(t, s)
		for _, want := range []string{
			"'f' type_id=1 bits_offset=0 bitfield_size=3", "ENUM 'e' encoding=SIGNED size=4 vlen=1\n\t'NEG' val=-1",
			"FWD 'fw' fwd_kind=union", "FUNC 'fn' type_id=12 linkage=global", "DECL_TAG 'tag' type_id=14 component_idx=-1",
			"ENUM64 'e64' encoding=UNSIGNED size=8 vlen=1\n\t'BIG' val=1099511627776",
		} {
			assert.Contains(t, text, want)
		}
	})
}

func testInts(t *testing.T) {
	built(t, func(b *btf.Builder) {
		b.Int("char", 1, btf.IntSigned|btf.IntChar)
		b.Int("_Bool", 1, btf.IntBool)
		b.Int("__int128", 16, btf.IntSigned)
		b.Add(btf.Type{Kind: btf.KindInt, Name: "old", Size: 4, Int: btf.IntInfo{Offset: 3, Bits: 5}})
	}, func(t *testing.T, s *btf.Spec) {
		assert.EqualValues(t, 128, s.MustType(3).Int.Bits)
		assert.EqualValues(t, 3, s.MustType(4).Int.Offset)
		assert.Contains(t, rawText(t, s), "[4] INT 'old' size=4 bits_offset=3 nr_bits=5 encoding=(none)")
	})
}

func testArrays(t *testing.T) {
	built(t, func(b *btf.Builder) {
		i := b.Int("int", 4, btf.IntSigned)
		b.Array(b.Array(i, i, 6), i, 5) // chained
		b.Array(i, i, 30)               // collapsed
	}, func(t *testing.T, s *btf.Spec) {
		for _, id := range []btf.ID{3, 4} {
			n, err := s.Sizeof(id)
			require.NoError(t, err)
			assert.EqualValues(t, 120, n)
		}
		f, err := s.ResolvePath(3, "[4][5]")
		require.NoError(t, err)
		assert.EqualValues(t, 116, f.Offset())
	})
}

// testBitfieldForms: the width in the member, and in the INT as compilers wrote it before 2018.
func testBitfieldForms(t *testing.T) {
	built(t, func(b *btf.Builder) {
		i := b.Int("unsigned int", 4, 0)
		three := b.Add(btf.Type{Kind: btf.KindInt, Name: "unsigned int", Size: 4, Int: btf.IntInfo{Bits: 3}})
		b.Struct("now", 4, btf.Member{Name: "a", Type: i, BitfieldSize: 5}, btf.Member{Name: "b", Type: i, BitOffset: 5, BitfieldSize: 3})
		b.Struct("then", 4, btf.Member{Name: "a", Type: i}, btf.Member{Name: "b", Type: three, BitOffset: 5})
	}, func(t *testing.T, s *btf.Spec) {
		for _, name := range []string{"now", "then"} {
			typ, ok := s.Find(btf.KindStruct, name)
			require.True(t, ok)
			off, width := s.MemberBits(typ, typ.Member("b"))
			assert.EqualValues(t, [2]uint32{5, 3}, [2]uint32{off, width}, name)
		}
	})
}

func testEnums(t *testing.T) {
	built(t, func(b *btf.Builder) {
		for _, size := range []uint32{1, 2, 4} {
			b.Add(btf.Type{Kind: btf.KindEnum, Name: "e", Size: size, Flag: true, Values: []btf.Enumerator{{Name: "NEG", Value: ^uint64(0)}, {Name: "TWO", Value: 2}}})
		}
		b.Add(btf.Type{Kind: btf.KindEnum64, Name: "e", Size: 8, Values: []btf.Enumerator{{Name: "TOP", Value: 0x8000000100000002}}})
	}, func(t *testing.T, s *btf.Spec) {
		for id := btf.ID(1); id <= 3; id++ {
			data := bytes.Repeat([]byte{0xff}, int(s.MustType(id).Size))
			assert.Equal(t, "NEG", s.FormatString(id, data))
		}
		v, ok := s.EnumValue("e", "TOP")
		assert.True(t, ok)
		assert.EqualValues(t, uint64(0x8000000100000002), v)
	})
}

func testFunctionsAndVariables(t *testing.T) {
	o := object(t, fixtures+"objects/clang-22/globals.o")
	linkages := map[uint32]bool{}
	for id := btf.ID(1); int(id) < o.BTF.NumTypes(); id++ {
		if typ := o.BTF.MustType(id); typ.Kind == btf.KindFunc || typ.Kind == btf.KindVar {
			linkages[typ.Linkage] = true
		}
	}
	assert.True(t, linkages[btf.LinkageStatic] && linkages[btf.LinkageGlobal], "%v", linkages)
	l := load(t, o, nil)
	for _, m := range l.Maps { // the compiler leaves the size of sections open, the loader fills it in
		if m.DataKind != loader.DataNone && m.Datasec != 0 {
			assert.Positive(t, m.ValueSize, m.Name)
			for _, v := range m.Vars {
				assert.LessOrEqual(t, v.Off+v.Size, m.ValueSize, v.Name)
			}
		}
	}
	built(t, func(b *btf.Builder) {
		i := b.Int("int", 4, btf.IntSigned)
		b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: i, Params: []btf.Param{{Name: "fmt", Type: i}, {}}})
	}, func(t *testing.T, s *btf.Spec) {
		assert.True(t, s.MustType(2).Variadic())
		assert.Equal(t, "int (int, ...)", s.TypeString(2))
	})
}

func testTags(t *testing.T) {
	o := object(t, fixtures+"objects/clang-22/tags.o")
	tags := map[btf.Kind]int{}
	for id := btf.ID(1); int(id) < o.BTF.NumTypes(); id++ {
		if k := o.BTF.Kind(id); k == btf.KindDeclTag || k == btf.KindTypeTag {
			tags[k]++
		}
	}
	assert.Positive(t, tags[btf.KindDeclTag], "%v", tags)
	built(t, func(b *btf.Builder) {
		i := b.Int("int", 4, btf.IntSigned)
		b.Ptr(b.Mod(btf.KindTypeTag, "user", b.Mod(btf.KindTypeTag, "rcu", i)))
		b.Add(btf.Type{Kind: btf.KindTypeTag, Name: "address_space(1)", Ref: i, Flag: true})
	}, func(t *testing.T, s *btf.Spec) {
		assert.Equal(t, btf.ID(1), s.SkipID(s.MustType(4).Ref), "a chain of tags leads to its type")
		assert.True(t, s.MustType(5).Flag)
	})
}

func testBTFMaps(t *testing.T) {
	o := object(t, fixtures+"objects/clang-14/maps_all.o")
	typed := 0
	for _, m := range o.Maps {
		if m.Section == ".maps" && m.KeyType != 0 {
			typed++
			n, err := o.BTF.Sizeof(m.KeyType)
			require.NoError(t, err)
			assert.EqualValues(t, m.KeySize, n, m.Name)
			n, err = o.BTF.Sizeof(m.ValueType)
			require.NoError(t, err)
			assert.EqualValues(t, m.ValueSize, n, m.Name)
		}
	}
	assert.Positive(t, typed)
}

func testLineInfo(t *testing.T) {
	o := object(t, "../examples/unlink/unlink.bpf.o")
	for _, sec := range o.Ext.Funcs {
		require.NotEmpty(t, sec.Records)
		assert.Zero(t, sec.Records[0].InsnOff, "the first function starts its section")
		for i := 1; i < len(sec.Records); i++ {
			assert.Greater(t, sec.Records[i].InsnOff, sec.Records[i-1].InsnOff)
		}
	}
	for _, sec := range o.Ext.Lines {
		for _, r := range sec.All() {
			assert.Zero(t, r.InsnOff%8, "offsets are in bytes")
			assert.Less(t, r.Col, uint32(1<<10))
			assert.NotEmpty(t, r.File)
		}
	}
	line, ok := o.Programs[0].Function.LineAt(0)
	require.True(t, ok)
	assert.Positive(t, line.Line)
}

func testExt(t *testing.T) {
	with := object(t, "../examples/exec/exec.bpf.o")
	assert.NotEmpty(t, with.Ext.CORE)
	without := object(t, fixtures+"objects/clang-14/isa.o")
	assert.Empty(t, without.Ext.CORE)
	several := object(t, fixtures+"objects/clang-22/subprog.o")
	assert.Greater(t, len(several.Ext.Funcs), 1, "a part for each section")
	// The header of the time before CO-RE ends after the line records.
	raw := make([]byte, 24)
	binary.LittleEndian.PutUint16(raw, 0xeb9f)
	raw[2] = 1
	binary.LittleEndian.PutUint32(raw[4:], 24)
	ext, err := btf.ParseExt(raw, with.BTF)
	require.NoError(t, err)
	assert.Empty(t, ext.CORE)
}

// testSplit is the document's example: a base of int and struct foo, split BTF with a pointer to
// foo, moved onto a base in which foo has another id.
func testSplit(t *testing.T) {
	base := func(extra bool) *btf.Spec {
		b := btf.NewBuilder(nil)
		i := b.Int("int", 4, btf.IntSigned)
		if extra {
			b.Int("long", 8, btf.IntSigned)
		}
		b.Struct("foo", 4, btf.Member{Name: "a", Type: i})
		s, err := b.Spec(binary.LittleEndian)
		require.NoError(t, err)
		return s
	}
	old, now := base(false), base(true)
	b := btf.NewBuilder(old)
	assert.EqualValues(t, 3, b.NextID(), "ids go on after those of the base")
	b.Ptr(2)
	split, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	moved, err := btf.Relocate(split, now)
	require.NoError(t, err)
	assert.Equal(t, "[4] PTR '(anon)' type_id=3\n", rawText(t, moved))
	assert.Equal(t, "struct foo *", moved.TypeString(4))
}

// testMapJSON is the document's struct tmp_t with its values.
func testMapJSON(t *testing.T) {
	b := btf.NewBuilder(nil)
	char := b.Int("char", 1, btf.IntSigned)
	i := b.Int("int", 4, btf.IntSigned)
	u := b.Int("unsigned int", 4, 0)
	a := b.Add(btf.Type{Kind: btf.KindEnum, Name: "A", Size: 4, Values: []btf.Enumerator{{Name: "A1", Value: 0}}})
	td := b.Mod(btf.KindTypedef, "___A", a)
	tmp := b.Struct("tmp_t", 12,
		btf.Member{Name: "a1", Type: char, BitfieldSize: 4}, btf.Member{Name: "a2", Type: i, BitOffset: 4, BitfieldSize: 4},
		btf.Member{Name: "a3", Type: u, BitOffset: 12, BitfieldSize: 4}, btf.Member{Name: "b", Type: i, BitOffset: 32},
		btf.Member{Name: "b1", Type: td, BitOffset: 64, BitfieldSize: 4}, btf.Member{Name: "b2", Type: a, BitOffset: 68, BitfieldSize: 4})
	s, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	value := []byte{0x42, 0x60, 0, 0, 7, 0, 0, 0, 0xa8, 0, 0, 0}
	assert.JSONEq(t, `{"a1":2,"a2":4,"a3":6,"b":7,"b1":8,"b2":10}`, jsonOf(t, s.FormatJSON(tmp, value)))
}

func testRawText(t *testing.T) {
	o := object(t, "../examples/exec/exec.bpf.o")
	fromELF, err := btffile.Load("../examples/exec/exec.bpf.o", nil)
	require.NoError(t, err)
	assert.Equal(t, rawText(t, o.BTF), rawText(t, fromELF))
	raw, err := btffile.Load(fixtures+"core/btf/letters.kernel.btf", nil)
	require.NoError(t, err)
	assert.Contains(t, rawText(t, raw), "STRUCT 'alpha' size=")
}

func testFollow(t *testing.T) {
	spec := kernel510(t)
	ids, _, err := spec.Lookup("typedef u32")
	require.NoError(t, err)
	end := spec.SkipMods(ids[0])
	assert.Equal(t, "unsigned int", end.Name)
	assert.Equal(t, "__u32", spec.Name(spec.MustType(ids[0]).Ref))
}

func testHub(t *testing.T) {
	files := []string{"ubuntu/20.04/x86_64/5.4.0-91-generic.btf.tar.xz", "ubuntu/20.04/x86_64/5.4.0-92-generic.btf.tar.xz"}
	assert.Equal(t, files[1:], loader.PickRelease(files, "5.4.0-92-generic"))
}
