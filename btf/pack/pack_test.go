package pack

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/testing/ceiling"
)

// committed are files of types in the repository.
func committed(t testing.TB, patterns ...string) (files []string) {
	for _, p := range patterns {
		found, err := filepath.Glob("../../testdata/btf/" + p)
		require.NoError(t, err)
		require.NotEmpty(t, found)
		files = append(files, found...)
	}
	return files
}

// load reads raw BTF, compressed or not.
func load(path string) (*btf.Spec, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := io.Reader(f)
	if filepath.Ext(path) == ".xz" {
		if r, err = xz.NewReader(bufio.NewReader(f)); err != nil {
			return nil, err
		}
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return btf.Parse(raw, nil)
}

func written(t testing.TB, w *Writer) []byte {
	var out bytes.Buffer
	_, err := w.WriteTo(&out)
	require.NoError(t, err)
	return out.Bytes()
}

func opened(t testing.TB, data []byte) *Archive {
	a, err := Open(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	return a
}

// TestKernelsComeBackAsTheyWere and take less space than separate files do.
func TestKernelsComeBackAsTheyWere(t *testing.T) {
	for name, patterns := range map[string][]string{
		"whole kernels":  {"linux-*.btf.xz"},
		"minimised":      {"min/*.btf", "eb/*.btf"},
		"the same twice": {"min/linux-7*.btf", "min/linux-7*.btf"},
	} {
		t.Run(name, func(t *testing.T) {
			w := NewWriter()
			separate := 0
			var raws [][]byte
			for i, path := range committed(t, patterns...) {
				spec, err := load(path)
				require.NoError(t, err)
				require.NoError(t, w.Add(fmt.Sprint(i), fmt.Sprintf("6.%d", i), spec))
				if filepath.Ext(path) == ".xz" {
					info, err := os.Stat(path)
					require.NoError(t, err)
					separate += int(info.Size())
				} else {
					packed, err := compress(spec.Raw())
					require.NoError(t, err)
					separate += len(packed)
				}
				raws = append(raws, spec.Raw())
			}
			data := written(t, w)
			assert.Less(t, len(data), separate*9/10, "separate files have %d bytes", separate)
			t.Logf("%d kernels: %d bytes, separately compressed %d", len(raws), len(data), separate)
			a := opened(t, data)
			for i, k := range a.Kernels() {
				assert.Equal(t, Kernel{fmt.Sprint(i), fmt.Sprintf("6.%d", i)}, k)
				got, err := a.Raw(k.Name)
				require.NoError(t, err)
				assert.True(t, bytes.Equal(raws[i], got), k.Name)
			}
		})
	}
}

// sample has every kind of type, two types of one name, an anonymous type that refers to itself,
// and unused strings.
func sample(t testing.TB, order binary.ByteOrder) *btf.Spec {
	b := btf.NewBuilder(nil)
	num := b.Int("int", 4, 1)
	first := b.Struct("same", 4, btf.Member{Name: "a", Type: num})
	second := b.Struct("same", 4, btf.Member{Name: "b", Type: num})
	b.Ptr(second)
	b.Ptr(first)
	b.Array(second, num, 3)
	loop := b.NextID()
	b.Struct("", 8, btf.Member{Name: "next", Type: loop + 1})
	b.Ptr(loop)
	b.Union("u", 8, btf.Member{Name: "x", Type: num, BitfieldSize: 3}, btf.Member{Type: loop})
	for _, k := range []btf.Kind{btf.KindConst, btf.KindVolatile, btf.KindRestrict} {
		b.Mod(k, "", first)
	}
	b.Mod(btf.KindTypedef, "t", loop)
	tag := b.Mod(btf.KindTypeTag, "user", num)
	b.Add(btf.Type{Kind: btf.KindEnum, Name: "e", Size: 4, Values: []btf.Enumerator{{Name: "A", Value: 1}}})
	b.Add(btf.Type{Kind: btf.KindEnum64, Name: "e64", Size: 8, Values: []btf.Enumerator{{Name: "B", Value: 1 << 40}}})
	b.Add(btf.Type{Kind: btf.KindFwd, Name: "fwd"})
	proto := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: num, Params: []btf.Param{{Name: "p", Type: tag}, {}}})
	fn := b.Add(btf.Type{Kind: btf.KindFunc, Name: "f", Ref: proto, Linkage: 1})
	v := b.Add(btf.Type{Kind: btf.KindVar, Name: "v", Ref: num, Linkage: 1})
	b.Add(btf.Type{Kind: btf.KindDatasec, Name: ".data", Size: 4, Vars: []btf.VarSecinfo{{Type: v, Size: 4}}})
	b.Add(btf.Type{Kind: btf.KindFloat, Name: "float", Size: 4})
	b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "tag", Ref: fn, ComponentIdx: -1})
	raw, err := b.Marshal(order)
	require.NoError(t, err)
	spec, err := btf.Parse(raw, nil)
	require.NoError(t, err)
	return spec
}

// edited returns BTF that a change of the bytes makes of the sample.
func edited(t testing.TB, change func(raw []byte) []byte) *btf.Spec {
	spec, err := btf.Parse(change(bytes.Clone(sample(t, binary.LittleEndian).Raw())), nil)
	require.NoError(t, err)
	return spec
}

// longer makes the string table longer.
func longer(more string) func(raw []byte) []byte {
	return func(raw []byte) []byte {
		binary.LittleEndian.PutUint32(raw[20:], binary.LittleEndian.Uint32(raw[20:])+uint32(len(more)))
		return append(raw, more...)
	}
}

// TestEveryKindOfTypesIsExact: what the tables cannot describe is stored as it is.
func TestEveryKindOfTypesIsExact(t *testing.T) {
	layout, err := btf.WithLayout(sample(t, binary.LittleEndian).Raw())
	require.NoError(t, err)
	for _, c := range []struct {
		name   string
		spec   *btf.Spec
		stored byte
	}{
		{"little endian", sample(t, binary.LittleEndian), storedLittle},
		{"big endian", sample(t, binary.BigEndian), storedBig},
		{"a layout section", edited(t, func([]byte) []byte { return layout }), storedLittle},
		{"unused strings", edited(t, longer("zzz\x00yyy\x00")), storedLittle},
		{"bytes at the end", edited(t, func(raw []byte) []byte { return append(raw, 1, 2, 3) }), storedLittle},
		{"strings before types", edited(t, func(raw []byte) []byte {
			types, strs := raw[24:24+binary.LittleEndian.Uint32(raw[12:])], raw[24+binary.LittleEndian.Uint32(raw[12:]):]
			strs = append(bytes.Clone(strs), make([]byte, (4-len(strs)%4)%4)...)
			out := bytes.Clone(raw[:24])
			for i, v := range []int{len(strs), len(types), 0, len(strs)} {
				binary.LittleEndian.PutUint32(out[8+4*i:], uint32(v))
			}
			return append(append(out, strs...), types...)
		}), storedLittle},
		{"the same string twice", edited(t, longer("int\x00")), storedLittle},
		{"a name within a string", edited(t, func(raw []byte) []byte {
			binary.LittleEndian.PutUint32(raw[24:], binary.LittleEndian.Uint32(raw[24:])+1)
			return raw
		}), storedRaw},
		{"no types", edited(t, func([]byte) []byte {
			raw, err := btf.NewBuilder(nil).Marshal(binary.LittleEndian)
			require.NoError(t, err)
			return raw
		}), storedLittle},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := NewWriter()
			require.NoError(t, w.Add("first", "", sample(t, binary.BigEndian)))
			require.NoError(t, w.Add("k", "", c.spec))
			assert.Equal(t, c.stored, w.block[w.index.Kernels[1].At[0]])
			a := opened(t, written(t, w))
			assert.Equal(t, c.spec.ByteOrder(), a.ByteOrder("k"))
			assert.Nil(t, a.ByteOrder("none"))
			got, err := a.Raw("k")
			require.NoError(t, err)
			assert.Equal(t, c.spec.Raw(), got)
		})
	}
}

func TestGroupsAndBlocksEnd(t *testing.T) {
	w := NewWriter()
	for i := range 3 {
		require.NoError(t, w.Add(fmt.Sprint(i), "", sample(t, binary.LittleEndian)))
		require.NoError(t, w.endBlock())
		if i == 1 {
			require.NoError(t, w.endGroup())
		}
	}
	require.Len(t, w.index.Groups, 2)
	a := opened(t, written(t, w))
	for _, name := range []string{"2", "0", "1", "2"} {
		got, err := a.Raw(name)
		require.NoError(t, err)
		assert.Equal(t, sample(t, binary.LittleEndian).Raw(), got)
	}
}

func TestNamesAreRefused(t *testing.T) {
	w := NewWriter()
	require.NoError(t, w.Add("a", "", sample(t, binary.LittleEndian)))
	for _, name := range []string{"a", "", ".", "..", "a/b", `a\b`, "a\x00", string(make([]byte, 300))} {
		assert.ErrorIs(t, w.Add(name, "", sample(t, binary.LittleEndian)), ErrName, name)
	}
	_, err := opened(t, written(t, w)).Raw("b")
	assert.ErrorIs(t, err, ErrName)
}

// archive makes an archive of one group from its parts.
func archive(t testing.TB, text string, parts ...[]byte) []byte {
	var data []byte
	var spans []any
	for _, p := range parts {
		packed, err := compress(p)
		require.NoError(t, err)
		spans = append(spans, len(data), len(packed))
		data = append(data, packed...)
	}
	packed, err := compress([]byte(fmt.Sprintf(text, spans...)))
	require.NoError(t, err)
	out := binary.LittleEndian.AppendUint32([]byte(Magic), uint32(len(packed)))
	return append(append(out, packed...), data...)
}

// columnsOf is what tables.marshal returns, from its parts.
func columnsOf(cols ...[]byte) (out []byte) {
	for i := range columns {
		var c []byte
		if i < len(cols) {
			c = cols[i]
		}
		out = appendBytes(out, c)
	}
	return out
}

// storedOf is what builder.encode returns, from its parts.
func storedOf(parts ...[]byte) (out []byte) {
	out = []byte{storedLittle, typesFirst}
	for i := range 7 {
		var c []byte
		if i < len(parts) {
			c = parts[i]
		}
		out = appendBytes(out, c)
	}
	return out
}

// Tables with one INT without a name, and the info word of a struct with 65535 members.
var (
	info    = binary.AppendUvarint(nil, uint64(btf.MakeInfo(btf.KindInt, 0, false)))
	struc   = binary.AppendUvarint(nil, uint64(btf.MakeInfo(btf.KindStruct, 65535, false)))
	anInt   = columnsOf([]byte{0}, info, []byte{2}, []byte{0}, nil, []byte{4, 32})
	ptr     = binary.AppendUvarint(nil, uint64(btf.MakeInfo(btf.KindPtr, 0, false)))
	oneOf   = `{"groups":[{"tables":[%d,%d],"blocks":[[%d,%d]]}],"kernels":[{"name":"k","group":0,"block":0,"at":[0,`
	nothing = []byte{}
)

func TestHostileArchivesAreRefused(t *testing.T) {
	ceiling.Limit(t, 1<<30)
	whole := func(tables, stored []byte) []byte {
		return archive(t, oneOf+fmt.Sprint(len(stored))+`],"crc32":0}]}`, tables, stored)
	}
	good := whole(anInt, storedOf(nil, nil, nil, []byte{0}, nil, nil, []byte{0}))
	_, err := opened(t, good).Raw("k")
	require.ErrorIs(t, err, ErrDamaged, "the other parts are right")
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"empty", nil},
		{"only a magic", []byte(Magic)},
		{"a long index", append([]byte(Magic), 0xff, 0xff, 0xff, 0xff, 0)},
		{"an index that is not compressed", append([]byte(Magic), 2, 0, 0, 0, '{', '}')},
		{"an index that is not JSON", archive(t, "]")},
		{"an unknown key", archive(t, `{"what":1}`)},
		{"an index that is a bomb", archive(t, string(make([]byte, maxIndex+1)))},
		{"tables out of the file", archive(t, `{"groups":[{"tables":[0,9]}]}`)},
		{"tables before the file", archive(t, `{"groups":[{"tables":[-1,1]}]}`)},
		{"a length that overflows", archive(t, `{"groups":[{"tables":[9223372036854775807,9223372036854775807]}]}`)},
		{"blocks out of the file", archive(t, `{"groups":[{"tables":[0,0],"blocks":[[0,1]]}]}`)},
		{"a kernel of no group", archive(t, `{"kernels":[{"name":"k"}]}`)},
		{"a kernel of no block", archive(t, `{"groups":[{"tables":[0,0]}],"kernels":[{"name":"k"}]}`)},
		{"a name that leaves the archive", archive(t, `{"groups":[{"tables":[0,0],"blocks":[[0,0]]}],"kernels":[{"name":"../k","at":[0,0]}]}`)},
		{"two kernels of a name", archive(t, `{"groups":[{"tables":[0,0],"blocks":[[0,0]]}],"kernels":[{"name":"k","at":[0,0]},{"name":"k","at":[0,0]}]}`)},
		{"empty tables", archive(t, `{"groups":[{"tables":[0,0],"blocks":[[0,0]]}],"kernels":[{"name":"k","at":[0,0]}]}`)},
		{"tables that are a bomb", whole(make([]byte, maxTables+1), nothing)},
		{"tables that end early", whole(anInt[:len(anInt)-1], nothing)},
		{"tables that go on", whole(append(bytes.Clone(anInt), 0), nothing)},
		{"a string without end", whole(columnsOf([]byte{'a'}), nothing)},
		{"an unknown kind", whole(columnsOf([]byte{0}, binary.AppendUvarint(nil, 0x7f<<24)), nothing)},
		{"a number without end", whole(columnsOf([]byte{0}, []byte{0xff}), nothing)},
		{"a struct without its members", whole(columnsOf([]byte{0}, struc, []byte{2}, []byte{0}), nothing)},
		{"a string that does not exist", whole(columnsOf([]byte{0}, info, []byte{2}, []byte{1}, nil, []byte{4, 32}), nothing)},
		{"a label that is too large", whole(columnsOf([]byte{0}, info, []byte{200, 1}, []byte{0}, nil, []byte{4, 32}), nothing)},
		{"more numbers than words", whole(columnsOf([]byte{0}, info, []byte{2}, []byte{0}, nil, []byte{4, 32, 1}), nothing)},
		{"a kernel without content", whole(anInt, nothing)},
		{"a kernel out of its block", archive(t, oneOf+`100],"crc32":0}]}`, anInt, []byte{storedRaw})},
		{"an unknown way to store", whole(anInt, []byte{9, 0})},
		{"an unknown order of sections", whole(anInt, []byte{storedLittle, 9})},
		{"a gap that is too long", whole(anInt, []byte{storedLittle, 0, 0xff, 0xff, 0xff, 0xff, 0x0f})},
		{"a kernel that goes on", whole(anInt, append(storedOf(), 0))},
		{"a node that does not exist", whole(anInt, storedOf(nil, nil, nil, []byte{2}))},
		{"a node before the first", whole(anInt, storedOf(nil, nil, nil, []byte{1}))},
		{"a choice where none is", whole(anInt, storedOf(nil, nil, nil, []byte{0}, []byte{0}, nil, []byte{0}))},
		{"a name that is not in the table", whole(anInt, storedOf(nil, nil, nil, []byte{0}))},
		{"a string twice in the table", whole(anInt, storedOf(nil, nil, nil, []byte{0}, nil, nil, []byte{0, 1}))},
		{"an unused string that does not exist", whole(anInt, storedOf(nil, nil, nil, nil, nil, []byte{2}))},
		{"a label that no type has", whole(columnsOf([]byte{0}, append(bytes.Clone(ptr), info...), []byte{2, 0}, []byte{0, 0}, []byte{2}, []byte{4, 32}), storedOf(nil, nil, nil, []byte{0}))},
		{"a checksum that is wrong", good},
	} {
		t.Run(c.name, func(t *testing.T) {
			ceiling.Check(t, 700<<20, func() {
				a, err := Open(bytes.NewReader(c.data), int64(len(c.data)))
				if err == nil {
					_, err = a.Raw("k")
				}
				require.Error(t, err)
				assert.True(t, isOurs(err), "%v", err)
			})
		})
	}
}

func isOurs(err error) bool {
	return errors.Is(err, ErrFormat) || errors.Is(err, ErrDamaged) || errors.Is(err, ErrName)
}

// TestManyTypesOfAFewBytesAreBounded: a kernel may name a large node again and again.
func TestManyTypesOfAFewBytesAreBounded(t *testing.T) {
	cols := [columns][]byte{{0}, struc, {2}}
	for range 65536 {
		cols[colName] = append(cols[colName], 0)
	}
	cols[colID], cols[colNumber] = make([]byte, 65535), make([]byte, 65536)
	tab, err := unmarshal(columnsOf(cols[:]...))
	require.NoError(t, err)
	again := bytes.Repeat([]byte{1}, 1<<20) // the node before the one that is expected
	again[0] = 0
	_, err = tab.rebuild(storedOf(nil, nil, nil, again))
	assert.ErrorIs(t, err, ErrFormat)
	assert.ErrorContains(t, err, "more than")
}

// TestDamagedArchivesAreRefused: whatever byte changes, a kernel that is read is the right one.
func TestDamagedArchivesAreRefused(t *testing.T) {
	w := NewWriter()
	require.NoError(t, w.Add("k", "", sample(t, binary.LittleEndian)))
	want := sample(t, binary.LittleEndian).Raw()
	data := written(t, w)
	try := func(data []byte) bool {
		a, err := Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return false
		}
		raw, err := a.Raw("k")
		if err == nil {
			assert.Equal(t, want, raw)
		}
		return err == nil
	}
	require.True(t, try(data))
	for i := range data {
		assert.False(t, try(data[:i]), "the first %d bytes", i)
		for _, bit := range []byte{1, 0x80} {
			bad := bytes.Clone(data)
			bad[i] ^= bit
			try(bad)
		}
	}
}

func TestFilesAreReadWhenNeeded(t *testing.T) {
	w := NewWriter()
	require.NoError(t, w.Add("k", "6.1.0", sample(t, binary.LittleEndian)))
	path := filepath.Join(t.TempDir(), "a.btfpack")
	require.NoError(t, os.WriteFile(path, written(t, w), 0o644))
	a, err := OpenFile(path)
	require.NoError(t, err)
	raw, err := a.Raw("k")
	require.NoError(t, err)
	assert.Equal(t, sample(t, binary.LittleEndian).Raw(), raw)
	_, err = OpenFile(path + "x")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestIndexIsJSON(t *testing.T) {
	w := NewWriter()
	require.NoError(t, w.Add("k", "6.1.0-13-amd64", sample(t, binary.LittleEndian)))
	data := written(t, w)
	n := binary.LittleEndian.Uint32(data[len(Magic):])
	text, err := decompress(data[headerSize:headerSize+int(n)], maxIndex)
	require.NoError(t, err)
	var doc struct {
		Kernels []struct{ Name, Release string }
	}
	require.NoError(t, json.Unmarshal(text, &doc))
	assert.Equal(t, "6.1.0-13-amd64", doc.Kernels[0].Release)
}

func FuzzArchive(f *testing.F) {
	w := NewWriter()
	require.NoError(f, w.Add("k", "", sample(f, binary.LittleEndian)))
	require.NoError(f, w.Add("l", "", sample(f, binary.BigEndian)))
	tables, block := w.group.marshal(), bytes.Clone(w.block)
	f.Add(written(f, w), tables, block)
	f.Add([]byte(Magic), anInt, storedOf(nil, nil, nil, []byte{0}, nil, nil, []byte{0}))
	f.Add([]byte{}, columnsOf([]byte{0}, struc), []byte{storedRaw, 1})
	f.Fuzz(func(t *testing.T, whole, tables, stored []byte) {
		if a, err := Open(bytes.NewReader(whole), int64(len(whole))); err == nil {
			for _, k := range a.Kernels() {
				_, _ = a.Raw(k.Name)
			}
		}
		tab, err := unmarshal(tables) // without compression, mutations get further
		if err != nil {
			return
		}
		again, err := unmarshal(tab.marshal())
		require.NoError(t, err)
		assert.Equal(t, tab, again)
		ceiling.Check(t, 64<<20+uint64(len(tables)+len(stored))*(1<<14), func() { _, _ = tab.rebuild(stored) })
	})
}
