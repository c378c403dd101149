package btf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// oddStructs adds structs and unions whose members are of all kinds and anywhere: with holes,
// bitfields, overlaps and unnatural alignment, as packed structs and other languages have them.
func oddStructs(b *Builder, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 0))
	types := []ID{b.Int("char", 1, IntSigned), b.Int("short", 2, IntSigned), b.Int("int", 4, IntSigned), b.Int("unsigned int", 4, 0), b.Int("long", 8, IntSigned),
		b.Int("__int128", 16, 0), b.Int("_Bool", 1, IntBool)}
	types = append(types, b.Add(Type{Kind: KindFloat, Name: "double", Size: 8}), b.Add(Type{Kind: KindFloat, Name: "long double", Size: 12}))
	types = append(types, b.Add(Type{Kind: KindEnum, Name: "e", Size: 4, Values: []Enumerator{{"A", 0}, {"B", 5}}}), b.Add(Type{Kind: KindEnum64, Name: "e64", Size: 8, Values: []Enumerator{{"C", 1 << 40}}}))
	types = append(types, b.Ptr(0), b.Array(types[0], types[3], 5), b.Array(types[1], types[3], 3), b.Mod(KindConst, "", types[4]), b.Mod(KindTypedef, "word", types[3]))
	sizes := []uint32{1, 2, 4, 4, 8, 16, 1, 8, 12, 4, 8, 8, 5, 6, 8, 4}
	types = append(types, b.Ptr(b.Add(Type{Kind: KindFuncProto, Ref: types[2], Params: []Param{{"p", types[11]}, {}}})))
	sizes = append(sizes, 8)
	for n := range 150 {
		t := Type{Kind: KindStruct, Name: fmt.Sprint("s", n), Flag: rnd.IntN(2) == 0}
		if rnd.IntN(5) == 0 {
			t.Name = ""
		}
		if rnd.IntN(6) == 0 {
			t.Kind = KindUnion
		}
		at := uint32(0)
		for i := range 1 + rnd.IntN(5) {
			which := rnd.IntN(len(types))
			m := Member{Name: fmt.Sprint("m", i), Type: types[which]}
			width := 8 * sizes[which]
			if t.Flag && which < 7 && rnd.IntN(2) == 0 {
				m.BitfieldSize = 1 + rnd.Uint32N(width)
				width = m.BitfieldSize
			} else if natural := 8 * min(sizes[which], 8); rnd.IntN(8) != 0 {
				at = (at + natural - 1) / natural * natural
			} else {
				at = (at + 7) &^ 7
			}
			if m.BitOffset = at; t.Kind == KindUnion {
				m.BitOffset = 0
			}
			if sizes[which] > 8 && rnd.IntN(2) == 0 || rnd.IntN(12) == 0 {
				m.Name = ""
			}
			t.Members = append(t.Members, m)
			at += width + 8*[]uint32{0, 0, 0, 1, 3, 4, 8}[rnd.IntN(7)]
		}
		t.Size = (at+7)/8 + []uint32{0, 0, 4, 1}[rnd.IntN(4)]
		t.Size = (t.Size + 3) &^ (3 * rnd.Uint32N(2))
		id := b.Add(t)
		types, sizes = append(types, id), append(sizes, t.Size)
		if rnd.IntN(8) == 0 {
			types, sizes = append(types, b.Array(id, types[3], 2)), append(sizes, 2*t.Size)
		}
	}
	in := types[2]
	for range maxDepth + 2 {
		in = b.Struct("deep", 4, Member{Name: "in", Type: in})
	}
	b.Add(Type{Kind: KindFuncProto, Params: []Param{{"itself", b.NextID() + 1}}})
	b.Ptr(b.NextID() - 1)
}

// TestWhatIsSaidOfEveryType compares headers, fields at all offsets, texts of values and parts of
// the types of a sample, of structs of all shapes, and of a kernel.
func TestWhatIsSaidOfEveryType(t *testing.T) {
	small, err := os.ReadFile("../testdata/btf/min/linux-6.1.176-armhf-armmp.min.btf")
	require.NoError(t, err)
	kernel, err := Parse(small, nil)
	require.NoError(t, err)
	whole, _ := buildSample(t, binary.BigEndian)
	specs := map[string]*Spec{"kernel": kernel, "sample": whole}
	for seed := range uint64(2) {
		b := NewBuilder(nil)
		oddStructs(b, seed)
		specs[fmt.Sprint("odd ", seed)], err = b.Spec(binary.LittleEndian)
		require.NoError(t, err)
	}
	texts := []string{"0", "-0", "+7", "007", "08", "0x1f", "0X1F", "0b11", "0o17", "1_000", "10_000", "--5", "+", "-", "", "'a'", "'ab'", "'", "''", `'\n'`, `'\xff'`, "'ä'", "1e3", "1.5", "-1", "255", "256", "65535", "65536",
		"4294967295", "4294967296", "-2147483648", "-2147483649", "18446744073709551615", "18446744073709551616", "A", "B", "RED", "NEG", "true", "false", "null", "{}", "{x: 1}", "{x: 1, y: 2}", "{m0: 1}", "{nosuch: 1}", "[]", "[1]", "[1, 2, 3, 4, 5, 6, 7]", `"text"`, `"longer than most"`, "NaN", "inf"}
	data := make([]byte, 256)
	for i := range data {
		data[i] = byte(i*37 + 1)
	}
	var all rewrite.Outcomes
	for name, s := range specs {
		for id := range ID(s.NumTypes()) {
			if !all.Asks(fmt.Sprint(name, id)) {
				continue
			}
			say := func(what string, args ...any) { all.Add(fmt.Sprint(name, id), what+"\t"+fmt.Sprintln(args...)) }
			var out bytes.Buffer
			say("header", DumpC(&out, s, []ID{id}), out.String())
			for off := range uint32(min(s.size(id), 64) + 2) {
				for _, size := range []int{1, 2, 3, 4, 8, 16} {
					path, f, exact := s.FieldAt(id, off, size)
					say("field", off, size, path, f.Type, f.BitOffset, f.BitSize, exact)
					for _, f := range s.BitfieldsAt(id, off, size) {
						say("bitfield", off, size, f.Path, f.BitOffset, f.BitSize)
					}
				}
			}
			for _, text := range texts {
				to := make([]byte, 64)
				say("text", text, s.EncodeText(id, text, to), to)
			}
			for _, n := range []int{1, 4, 30, 256} {
				v, err := s.DecodeValue(id, data[:n], DecodeOptions{MaxElems: n % 4})
				say("value", v, err)
				if o, ok := v.(Object); ok {
					say("member", o.Get("m1"), o.Get("nosuch"))
				}
				say("format", s.FormatString(id, data[:n]))
			}
			for _, o := range []LayoutOptions{{}, {Expand: true}, {CacheLine: 16}} {
				var out bytes.Buffer
				l, err := WriteLayout(&out, s, id, o)
				say("layout", l, err, out.String())
			}
			for _, keep := range []func(x *Subset){func(x *Subset) { x.Keep(id, false) }, func(x *Subset) { x.Keep(id, true) }, func(x *Subset) { x.KeepWhole(id) }, func(x *Subset) { x.KeepMember(id, 1); x.Keep(id+1, true) }} {
				x, err := NewSubset(s)
				require.NoError(t, err)
				keep(x)
				part, _, err := x.Spec()
				require.NoError(t, err)
				say("part", x.Len(), part.Raw())
			}
		}
	}
	for _, d := range Diff(specs["odd 0"], specs["odd 1"]) {
		all.Add("difference", fmt.Sprintf("difference\t%+v", d))
	}
	all.Compare(t, filepath.Join("testdata", "types.txt"))
}
