package btf

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var orders = []binary.ByteOrder{binary.LittleEndian, binary.BigEndian}

// sample holds the ids of a small BTF with every kind.
type sample struct {
	char, int, uint, long, u64, u8, bool, wide ID
	color, big, point, flags, old, task        ID
	fn, sec                                    ID
}

// buildSample makes BTF with every kind in a byte order.
func buildSample(t testing.TB, bo binary.ByteOrder) (*Spec, sample) {
	t.Helper()
	b := NewBuilder(nil)
	var x sample
	x.char = b.Int("char", 1, IntSigned)
	x.int = b.Int("int", 4, IntSigned)
	x.uint = b.Int("unsigned int", 4, 0)
	x.long = b.Int("long unsigned int", 8, 0)
	x.u8 = b.Int("unsigned char", 1, 0)
	x.bool = b.Int("_Bool", 1, IntBool)
	x.wide = b.Int("__int128", 16, IntSigned)
	x.u64 = b.Mod(KindTypedef, "u64", x.long)
	x.color = b.Add(Type{Kind: KindEnum, Name: "color", Size: 4, Flag: true, Values: []Enumerator{{"RED", 0}, {"GREEN", 1}, {"NEG", ^uint64(0)}}})
	x.big = b.Add(Type{Kind: KindEnum64, Name: "big", Size: 8, Values: []Enumerator{{"HUGE", 1 << 40}}})
	comm := b.Array(x.char, x.uint, 16)
	mac := b.Array(x.u8, x.uint, 6)
	x.point = b.Struct("point", 8, Member{Name: "x", Type: x.int}, Member{Name: "y", Type: x.int, BitOffset: 32})
	points := b.Array(x.point, x.uint, 3)
	x.flags = b.Struct("bits", 8,
		Member{Name: "a", Type: x.uint, BitOffset: 0, BitfieldSize: 3},
		Member{Name: "b", Type: x.int, BitOffset: 3, BitfieldSize: 5},
		Member{Name: "c", Type: x.color, BitOffset: 8, BitfieldSize: 4},
		Member{Name: "d", Type: x.uint, BitOffset: 32})
	narrow := b.Add(Type{Kind: KindInt, Name: "unsigned int", Size: 4, Int: IntInfo{Bits: 5, Offset: 2}})
	x.old = b.Struct("old_bits", 4, Member{Name: "p", Type: narrow, BitOffset: 0}, Member{Name: "q", Type: narrow, BitOffset: 10})
	anon := b.Union("", 8, Member{Name: "ptr", Type: 0}, Member{Name: "raw", Type: x.u64})
	void := b.Ptr(0)
	b.Set(anon, Type{Kind: KindUnion, Size: 8, Members: []Member{{Name: "ptr", Type: void}, {Name: "raw", Type: x.u64}}})
	self := b.NextID() + 1
	task := b.Ptr(self)
	x.task = b.Struct("task", 88,
		Member{Name: "pid", Type: x.int},
		Member{Name: "state", Type: x.color, BitOffset: 32},
		Member{Name: "comm", Type: comm, BitOffset: 64},
		Member{Name: "parent", Type: task, BitOffset: 192},
		Member{Name: "", Type: anon, BitOffset: 256},
		Member{Name: "pts", Type: points, BitOffset: 320},
		Member{Name: "mac", Type: mac, BitOffset: 512},
		Member{Name: "on", Type: x.bool, BitOffset: 560},
		Member{Name: "c", Type: x.char, BitOffset: 568},
		Member{Name: "bits", Type: x.flags, BitOffset: 576},
		Member{Name: "flags", Type: x.u64, BitOffset: 640})
	b.Add(Type{Kind: KindFwd, Name: "inode"})
	b.Add(Type{Kind: KindFwd, Name: "u", Flag: true})
	b.Mod(KindVolatile, "", x.int)
	cst := b.Mod(KindConst, "", x.char)
	b.Mod(KindRestrict, "", void)
	b.Mod(KindTypeTag, "rcu", x.task)
	proto := b.Add(Type{Kind: KindFuncProto, Ref: x.int, Params: []Param{{"t", task}, {"fmt", b.Ptr(cst)}, {}}})
	x.fn = b.Add(Type{Kind: KindFunc, Name: "wake", Ref: proto, Linkage: LinkageGlobal})
	v := b.Add(Type{Kind: KindVar, Name: "counter", Ref: x.u64, Linkage: LinkageGlobal})
	x.sec = b.Add(Type{Kind: KindDatasec, Name: ".data", Size: 8, Vars: []VarSecinfo{{v, 0, 8}}})
	b.Add(Type{Kind: KindFloat, Name: "double", Size: 8})
	b.Add(Type{Kind: KindDeclTag, Name: "kfunc", Ref: x.fn, ComponentIdx: -1})
	s, err := b.Spec(bo)
	require.NoError(t, err)
	return s, x
}

func TestParseSample(t *testing.T) {
	for _, bo := range orders {
		t.Run(bo.String(), func(t *testing.T) {
			s, x := buildSample(t, bo)
			assert.Equal(t, bo, s.ByteOrder())
			assert.Equal(t, 8, s.PointerSize())
			assert.EqualValues(t, 1, s.FirstID())
			task := s.MustType(x.task)
			assert.Equal(t, KindStruct, s.Kind(x.task))
			assert.Equal(t, "task", s.Name(x.task))
			assert.Equal(t, "comm", task.Members[2].Name)
			assert.Same(t, task, s.MustType(x.task))
			assert.EqualValues(t, uint64(1<<40), s.MustType(x.big).Values[0].Value)
			assert.Equal(t, ^uint64(0), s.MustType(x.color).Values[2].Value)
			bits := s.MustType(x.flags)
			assert.True(t, bits.Flag)
			assert.Equal(t, Member{Name: "b", Type: x.int, BitOffset: 3, BitfieldSize: 5}, bits.Members[1])
			tag, ok := s.Find(KindDeclTag, "kfunc")
			require.True(t, ok)
			assert.EqualValues(t, -1, tag.ComponentIdx)
			_, err := s.Type(ID(s.NumTypes()))
			assert.ErrorIs(t, err, ErrBadID)
			assert.Equal(t, KindVoid, s.Kind(9999))
			assert.Empty(t, s.Name(9999))
		})
	}
}

// edit changes bytes of valid BTF.
func edit(raw []byte, f func(b []byte) []byte) []byte { return f(append([]byte(nil), raw...)) }

func TestParseErrors(t *testing.T) {
	s, _ := buildSample(t, binary.LittleEndian)
	raw := s.Raw()
	le := binary.LittleEndian
	one := func(t Type, names ...string) []byte {
		b := NewBuilder(nil)
		b.Add(t)
		out, err := b.Marshal(le)
		if err != nil {
			panic(err)
		}
		return out
	}
	typedef := one(Type{Kind: KindTypedef, Name: "t"})
	tests := []struct {
		name string
		raw  []byte
		want error
	}{
		{"empty", nil, ErrTruncated},
		{"one byte", []byte{0x9f}, ErrTruncated},
		{"text", []byte("hello, this is no BTF at all"), ErrNotBTF},
		{"magic only", []byte{0x9f, 0xeb}, ErrTruncated},
		{"version", edit(raw, func(b []byte) []byte { b[2] = 2; return b }), ErrVersion},
		{"short header", edit(raw, func(b []byte) []byte { b[4] = 23; return b }), ErrHeader},
		{"header beyond the end", edit(raw, func(b []byte) []byte { le.PutUint32(b[4:], 1<<31); return b }), ErrTruncated},
		{"unaligned types", edit(raw, func(b []byte) []byte { b[8]++; return b }), ErrHeader},
		{"types beyond the end", edit(raw, func(b []byte) []byte { le.PutUint32(b[12:], 1<<30); return b }), ErrTruncated},
		{"sections overlap", edit(raw, func(b []byte) []byte { le.PutUint32(b[16:], le.Uint32(b[16:])-4); return b }), ErrHeader},
		{"cut", raw[:len(raw)-1], ErrTruncated},
		{"no terminator", edit(raw, func(b []byte) []byte { b[len(b)-1] = 'x'; return b }), ErrStringTable},
		{"no empty string", edit(typedef, func(b []byte) []byte { b[headerSize+12] = 'x'; return b }), ErrStringTable},
		{"no strings", edit(typedef, func(b []byte) []byte { le.PutUint32(b[20:], 0); return b }), ErrStringTable},
		{"kind 0", edit(typedef, func(b []byte) []byte { b[headerSize+7] = 0; return b }), ErrUnknownKind},
		{"kind 20", edit(typedef, func(b []byte) []byte { b[headerSize+7] = 20; return b }), ErrUnknownKind},
		{"name", edit(typedef, func(b []byte) []byte { b[headerSize] = 99; return b }), ErrBadString},
		{"reference", edit(typedef, func(b []byte) []byte { b[headerSize+8] = 2; return b }), ErrBadID},
		{"itself", edit(typedef, func(b []byte) []byte { b[headerSize+8] = 1; return b }), ErrCycle},
		{"array of itself", edit(one(Type{Kind: KindArray}), func(b []byte) []byte { b[headerSize+12] = 1; return b }), ErrCycle},
		{"members beyond the end", edit(typedef, func(b []byte) []byte { b[headerSize+7] = byte(KindStruct); b[headerSize+4] = 9; return b }), ErrTruncated},
		{"half a type", edit(typedef, func(b []byte) []byte { b[12] -= 4; return b }), ErrTruncated},
		{"member type", edit(one(Type{Kind: KindStruct, Members: []Member{{Name: "m"}}}), func(b []byte) []byte { b[headerSize+16] = 9; return b }), ErrBadID},
		{"member name", edit(one(Type{Kind: KindStruct, Members: []Member{{Name: "m"}}}), func(b []byte) []byte { b[headerSize+12] = 99; return b }), ErrBadString},
		{"enumerator name", edit(one(Type{Kind: KindEnum64, Values: []Enumerator{{Name: "m"}}}), func(b []byte) []byte { b[headerSize+12] = 99; return b }), ErrBadString},
		{"parameter type", edit(one(Type{Kind: KindFuncProto, Params: []Param{{Name: "m"}}}), func(b []byte) []byte { b[headerSize+16] = 99; return b }), ErrBadID},
		{"variable", edit(one(Type{Kind: KindDatasec, Vars: []VarSecinfo{{}}}), func(b []byte) []byte { b[headerSize+12] = 99; return b }), ErrBadID},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(tt.raw, nil)
			require.ErrorIs(t, err, tt.want)
			var e *Error
			require.ErrorAs(t, err, &e)
			assert.NotEmpty(t, e.Error())
		})
	}
	t.Run("names the type", func(t *testing.T) {
		bad := edit(typedef, func(b []byte) []byte { b[headerSize+7] = 20; return b })
		_, err := Parse(bad, nil)
		var e *Error
		require.ErrorAs(t, err, &e)
		assert.EqualValues(t, 1, e.ID)
		assert.EqualValues(t, headerSize, e.Offset)
		assert.Contains(t, e.Error(), "kind 20")
	})
}

func TestParseLongHeader(t *testing.T) {
	s, x := buildSample(t, binary.LittleEndian)
	raw := append([]byte(nil), s.Raw()[:headerSize]...)
	raw[4] = headerSize + 8
	raw = append(raw, make([]byte, 8)...)
	raw = append(raw, s.Raw()[headerSize:]...)
	long, err := Parse(raw, nil)
	require.NoError(t, err)
	assert.Equal(t, "task", long.Name(x.task))
}

func TestSplit(t *testing.T) {
	for _, bo := range orders {
		base, x := buildSample(t, bo)
		b := NewBuilder(base)
		mod := b.Struct("module_thing", 16, Member{Name: "t", Type: b.Ptr(x.task)}, Member{Name: "pid", Type: x.int, BitOffset: 64})
		dup := b.Struct("point___mod", 4, Member{Name: "z", Type: x.int})
		s, err := b.Spec(bo)
		require.NoError(t, err)
		assert.EqualValues(t, base.NumTypes(), s.FirstID())
		assert.Same(t, base, s.Base())
		assert.Equal(t, "module_thing", s.Name(mod))
		assert.Equal(t, "task", s.Name(x.task))
		assert.Same(t, base.MustType(x.task), s.MustType(x.task))
		assert.Equal(t, []ID{x.point, dup}, s.Named("point"))
		assert.Equal(t, []ID{x.point, dup}, s.Candidates(KindStruct, "point"))
		assert.Empty(t, s.Candidates(KindFunc, "point"))
		assert.Equal(t, []ID{dup}, s.IDs(KindStruct, "point___mod"))
		assert.Equal(t, "task *", s.TypeString(s.MustType(mod).Members[0].Type)[len("struct "):])
		_, err = Parse(s.Raw(), nil)
		assert.Error(t, err, "split BTF without its base")
	}
	le, _ := buildSample(t, binary.LittleEndian)
	be, _ := buildSample(t, binary.BigEndian)
	_, err := Parse(be.Raw(), le)
	assert.ErrorIs(t, err, ErrHeader)
}

func TestEssentialName(t *testing.T) {
	for in, want := range map[string]string{
		"task_struct": "task_struct", "task_struct___v5": "task_struct", "a___b": "a", "a___b___c": "a___b",
		"foo____x": "foo____x", "___x": "___x", "x___": "x___", "a__b": "a__b", "": "", "foo___": "foo___", "_a___b_": "_a",
	} {
		assert.Equal(t, want, EssentialName(in), in)
	}
}

func TestCandidates(t *testing.T) {
	b := NewBuilder(nil)
	i := b.Int("int", 4, IntSigned)
	one := b.Struct("x___one", 4)
	b.Struct("y", 4)
	two := b.Union("x", 4)
	three := b.Mod(KindTypedef, "x___two___three", i)
	four := b.Mod(KindTypedef, "x___two", i)
	s, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	assert.Equal(t, []ID{one, two, four}, s.Named("x"))
	assert.Equal(t, []ID{three}, s.Named("x___two"))
	assert.Equal(t, []ID{four}, s.IDs(KindTypedef, "x___two"))
	assert.Empty(t, s.IDs(KindStruct, "x"))
	assert.Empty(t, s.Named(""))
	assert.Empty(t, s.Named("nothing"))
}

func TestPointerSize(t *testing.T) {
	for _, tt := range []struct {
		name string
		size uint32
		want int
	}{{"long int", 4, 4}, {"unsigned int long", 4, 4}, {"long unsigned int", 8, 8}, {"int", 4, 8}, {"long long int", 8, 8}} {
		b := NewBuilder(nil)
		b.Int(tt.name, tt.size, 0)
		p := b.Ptr(0)
		s, err := b.Spec(binary.LittleEndian)
		require.NoError(t, err)
		n, err := s.Sizeof(p)
		require.NoError(t, err)
		assert.EqualValues(t, tt.want, n, tt.name)
	}
}

func TestBuilderErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		t    Type
		want error
	}{
		"kind":      {Type{Kind: 20}, ErrUnknownKind},
		"reference": {Type{Kind: KindPtr, Ref: 2}, ErrBadID},
		"name":      {Type{Kind: KindFwd, Name: "a\x00b"}, ErrBadString},
		"bitfield":  {Type{Kind: KindStruct, Members: []Member{{BitfieldSize: 3}}}, ErrInvalid},
		"offset":    {Type{Kind: KindStruct, Flag: true, Members: []Member{{BitOffset: 1 << 24}}}, ErrInvalid},
		"enum":      {Type{Kind: KindEnum, Size: 4, Values: []Enumerator{{"x", 1 << 32}}}, ErrInvalid},
		"vlen":      {Type{Kind: KindFunc, Linkage: MaxVlen + 1}, ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBuilder(nil)
			b.Add(tt.t)
			_, err := b.Marshal(binary.LittleEndian)
			assert.ErrorIs(t, err, tt.want)
		})
	}
}
