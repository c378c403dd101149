package btf

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// distillBase is a kernel with one type of each sort that a module can refer to, in the order of
// names.
func distillBase(t *testing.T, bo binary.ByteOrder, names ...string) (*Spec, map[string]ID) {
	b := NewBuilder(nil)
	ids := map[string]ID{}
	integer := b.Int("int", 4, IntSigned)
	ids["int"] = integer
	make := map[string]func() ID{
		"float": func() ID { return b.Add(Type{Kind: KindFloat, Name: "double", Size: 8}) },
		"fwd":   func() ID { return b.Add(Type{Kind: KindFwd, Name: "opaque"}) },
		"struct": func() ID {
			return b.Struct("device", 8, Member{Name: "a", Type: integer}, Member{Name: "b", Type: integer, BitOffset: 32})
		},
		"union": func() ID { return b.Union("number", 4, Member{Name: "i", Type: integer}) },
		"enum": func() ID {
			return b.Add(Type{Kind: KindEnum, Name: "state", Size: 4, Values: []Enumerator{{Name: "ON", Value: 1}}})
		},
		"enum64": func() ID {
			return b.Add(Type{Kind: KindEnum64, Name: "wide", Size: 8, Values: []Enumerator{{Name: "BIG", Value: 1 << 40}}})
		},
		"unused":  func() ID { return b.Struct("unused", 4, Member{Name: "a", Type: integer}) },
		"anon":    func() ID { return b.Struct("", 8, Member{Name: "d", Type: ids["struct"]}) },
		"typedef": func() ID { return b.Mod(KindTypedef, "device_t", ids["struct"]) },
		"array":   func() ID { return b.Array(ids["union"], integer, 3) },
		"proto": func() ID {
			return b.Add(Type{Kind: KindFuncProto, Ref: integer, Params: []Param{{Name: "d", Type: b.Ptr(ids["struct"])}}})
		},
		"func": func() ID {
			return b.Add(Type{Kind: KindFunc, Name: "probe", Ref: ids["proto"], Linkage: LinkageGlobal})
		},
	}
	for _, n := range names {
		ids[n] = make[n]()
	}
	s, err := b.Spec(bo)
	require.NoError(t, err)
	return s, ids
}

// moduleOn makes a module's BTF that uses the base's types.
func moduleOn(t *testing.T, base *Spec, ids map[string]ID) *Spec {
	b := NewBuilder(base)
	for _, n := range []string{"struct", "fwd", "enum", "float", "proto"} {
		b.Ptr(ids[n])
	}
	b.Struct("driver", 24, Member{Name: "n", Type: ids["union"]}, Member{Name: "w", Type: ids["enum64"], BitOffset: 64},
		Member{Name: "x", Type: ids["anon"], BitOffset: 128})
	b.Mod(KindConst, "", ids["typedef"])
	b.Mod(KindTypedef, "numbers", ids["array"])
	b.Add(Type{Kind: KindFunc, Name: "init", Ref: ids["proto"]})
	s, err := b.Spec(base.ByteOrder())
	require.NoError(t, err)
	return s
}

func rawOf(t *testing.T, s *Spec) string {
	var out strings.Builder
	require.NoError(t, DumpRaw(&out, s))
	return out.String()
}

func TestDistill(t *testing.T) {
	for _, bo := range orders {
		base, ids := distillBase(t, bo, "unused", "float", "fwd", "struct", "union", "enum", "enum64", "anon", "typedef", "array", "proto")
		split := moduleOn(t, base, ids)
		small, distilled, err := Distill(split)
		require.NoError(t, err)
		assert.Equal(t, bo, distilled.ByteOrder())
		assert.Same(t, small, distilled.DistilledBase())
		assert.Equal(t, `[1] INT 'int' size=4 bits_offset=0 nr_bits=32 encoding=SIGNED
[2] FLOAT 'double' size=8
[3] FWD 'opaque' fwd_kind=struct
[4] STRUCT 'device' size=8 vlen=0
[5] UNION 'number' size=4 vlen=0
[6] ENUM 'state' encoding=UNSIGNED size=4 vlen=0
[7] ENUM 'wide' encoding=UNSIGNED size=8 vlen=0
`, rawOf(t, small), "no members, no values, nothing unused")
		assert.Equal(t, `[8] PTR '(anon)' type_id=4
[9] PTR '(anon)' type_id=3
[10] PTR '(anon)' type_id=6
[11] PTR '(anon)' type_id=2
[12] PTR '(anon)' type_id=21
[13] STRUCT 'driver' size=24 vlen=3
	'n' type_id=5 bits_offset=0
	'w' type_id=7 bits_offset=64
	'x' type_id=17 bits_offset=128
[14] CONST '(anon)' type_id=18
[15] TYPEDEF 'numbers' type_id=19
[16] FUNC 'init' type_id=21 linkage=static
[17] STRUCT '(anon)' size=8 vlen=1
	'd' type_id=4 bits_offset=0
[18] TYPEDEF 'device_t' type_id=4
[19] ARRAY '(anon)' type_id=5 index_type_id=1 nr_elems=3
[20] PTR '(anon)' type_id=4
[21] FUNC_PROTO '(anon)' ret_type_id=1 vlen=1
	'd' type_id=20
`, rawOf(t, distilled), "what has no name of its own is copied")

		// On another kernel, with other ids, the module's types mean the same.
		other, _ := distillBase(t, bo, "enum64", "enum", "union", "struct", "unused", "fwd", "float")
		moved, err := Relocate(distilled, other)
		require.NoError(t, err)
		driver, ok := moved.FindID(KindStruct, "driver")
		require.True(t, ok)
		for path, want := range map[string]string{"n.i": "int", "w": "enum wide", "x.d.b": "int"} {
			f, err := moved.ResolvePath(driver, path)
			require.NoError(t, err, path)
			assert.Equal(t, want, moved.TypeString(f.Type), path)
		}
		assert.Equal(t, "int (struct device *)", moved.TypeString(moved.MustType(moved.FirstID()+8).Ref))
	}
}

func TestDistillRefuses(t *testing.T) {
	base, ids := distillBase(t, binary.LittleEndian, "struct", "proto", "func")
	_, _, err := Distill(base)
	assert.ErrorIs(t, err, ErrInvalid, "no split BTF")
	b := NewBuilder(base)
	b.Add(Type{Kind: KindDeclTag, Name: "kfunc", Ref: ids["func"], ComponentIdx: -1})
	split, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	_, _, err = Distill(split)
	assert.ErrorIs(t, err, ErrInvalid, "a tag on a function of the base")
}

// TestDistillModules distills real modules and puts them back on their own kernel: types and
// layouts stay.
func TestDistillModules(t *testing.T) {
	for _, path := range corpus(t, "btf/modules/*.btf.xz") {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			kernel := name[:strings.LastIndex(strings.TrimSuffix(name, ".btf.xz"), ".")]
			base, err := Parse(kernelBTF(t, kernel+".btf"), nil)
			require.NoError(t, err)
			split := loadXZ(t, path, base)
			small, distilled, err := Distill(split)
			require.NoError(t, err)
			asLibbpf(t, name, small, distilled)
			moved, err := Relocate(distilled, base)
			if err != nil {
				// Two types of one name and size in the kernel: libbpf refuses this module as well.
				require.ErrorIs(t, err, ErrRelocate)
				t.Skip(err)
			}
			t.Logf("%d of the kernel's %d types", small.NumTypes()-1, base.NumTypes()-1)
			same := 0
			for id := split.FirstID(); int(id) < split.NumTypes(); id++ {
				want, got := split.MustType(id), moved.MustType(id)
				require.Equal(t, want.Kind, got.Kind)
				require.Equal(t, want.Name, got.Name)
				if want.Kind.IsComposite() {
					for i := range want.Members {
						require.Equal(t, split.TypeString(want.Members[i].Type), moved.TypeString(got.Members[i].Type))
						wantSize, err := split.Sizeof(want.Members[i].Type)
						require.NoError(t, err)
						gotSize, err := moved.Sizeof(got.Members[i].Type)
						require.NoError(t, err)
						require.Equal(t, wantSize, gotSize)
						same++
					}
				}
			}
			assert.Positive(t, same)
		})
	}
}

// asLibbpf compares with what testdata/tools/btf-distill.c had libbpf make of the same module, in
// the directory that BPFRUN_DISTILLED names: the distilled base, the split types on it, and these
// on another kernel (7.2 for modules of amd64, the same for s390x).
func asLibbpf(t *testing.T, name string, small, distilled *Spec) {
	dir := os.Getenv("BPFRUN_DISTILLED")
	if dir == "" {
		return
	}
	out := filepath.Join(dir, strings.TrimSuffix(name, ".btf.xz"))
	base, err := Load(out+".base", nil)
	require.NoError(t, err)
	require.Equal(t, rawOf(t, base), rawOf(t, small))
	split, err := Load(out+".split", base)
	require.NoError(t, err)
	require.Equal(t, rawOf(t, split), rawOf(t, distilled))
	next := "linux-7.2.13-amd64"
	if strings.Contains(name, "s390x") {
		next = "linux-6.12.107-s390x"
	}
	newBase, err := Parse(kernelBTF(t, next+".btf"), nil)
	require.NoError(t, err)
	moved, err := Relocate(distilled, newBase)
	if _, missing := os.Stat(out + ".moved"); missing != nil {
		require.ErrorIs(t, err, ErrRelocate, "libbpf refuses it")
		t.Logf("refused on %s, as by libbpf: %v", next, err)
		return
	}
	require.NoError(t, err)
	theirs, err := Load(out+".moved", newBase)
	require.NoError(t, err)
	require.Equal(t, rawOf(t, theirs), rawOf(t, moved))
	t.Logf("%d types on %s", moved.NumTypes()-int(moved.FirstID()), next)
}
