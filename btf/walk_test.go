package btf

import (
	"encoding/binary"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTypeString(t *testing.T) {
	b := NewBuilder(nil)
	i := b.Int("int", 4, IntSigned)
	c := b.Int("char", 1, IntSigned)
	st := b.Struct("file", 0)
	ps := b.Ptr(st)
	cc := b.Mod(KindConst, "", c)
	str := b.Ptr(cc)
	cstr := b.Mod(KindConst, "", str)
	arr := b.Array(c, i, 16)
	arr2 := b.Array(arr, i, 3)
	parr := b.Ptr(arr2)
	td := b.Mod(KindTypedef, "u32", i)
	proto := b.Add(Type{Kind: KindFuncProto, Ref: i, Params: []Param{{"f", ps}, {"n", td}, {}}})
	pf := b.Ptr(proto)
	apf := b.Array(pf, i, 4)
	none := b.Add(Type{Kind: KindFuncProto})
	ret := b.Add(Type{Kind: KindFuncProto, Ref: b.Ptr(none), Params: []Param{{"", pf}}})
	tag := b.Ptr(b.Mod(KindTypeTag, "rcu", b.Mod(KindConst, "", st)))
	fn := b.Add(Type{Kind: KindFunc, Name: "run", Ref: proto})
	v := b.Add(Type{Kind: KindVar, Name: "tbl", Ref: apf})
	s, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	for id, want := range map[ID]string{
		0: "void", i: "int", ps: "struct file *", str: "const char *", cstr: "const char *const", arr: "char[16]", arr2: "char[3][16]",
		parr: "char (*)[3][16]", td: "u32", pf: "int (*)(struct file *, u32, ...)", apf: "int (*[4])(struct file *, u32, ...)",
		none: "void (void)", ret: "void (*(int (*)(struct file *, u32, ...)))(void)", tag: "const struct file *",
		fn: "int run(struct file *, u32, ...)", v: "int (*tbl[4])(struct file *, u32, ...)",
	} {
		assert.Equal(t, want, s.TypeString(id), "[%d]", id)
	}
	assert.Equal(t, "int run(struct file *f, u32 n, ...)", s.Signature(fn))
	assert.Equal(t, "const char *const p", s.Declare(cstr, "p"))
	assert.Equal(t, "char comm[16]", s.Declare(arr, "comm"))
}

func TestSizeof(t *testing.T) {
	s, x := buildSample(t, binary.LittleEndian)
	n, err := s.Sizeof(x.task)
	require.NoError(t, err)
	assert.EqualValues(t, 88, n)
	for _, id := range []ID{0, x.fn, s.MustType(x.fn).Ref} {
		_, err = s.Sizeof(id)
		assert.ErrorIs(t, err, ErrUnsized)
	}
	fwd, _ := s.FindID(KindFwd, "inode")
	_, err = s.Sizeof(fwd)
	assert.ErrorIs(t, err, ErrUnsized)
	n, err = s.Sizeof(x.sec)
	require.NoError(t, err)
	assert.EqualValues(t, 8, n)
}

// TestCycles: types that lead back to themselves over several steps end every
// walk.
func TestCycles(t *testing.T) {
	b := NewBuilder(nil)
	i := b.Int("int", 4, IntSigned)
	b.Mod(KindTypedef, "a", 3) // 2
	b.Mod(KindConst, "", 4)    // 3
	b.Mod(KindTypedef, "b", 2) // 4
	arr := b.Array(6, i, 2)    // 5
	b.Array(arr, i, 2)         // 6
	p := b.Ptr(8)              // 7
	b.Ptr(p)                   // 8
	st := b.NextID()           // 9: contains itself twice without a name
	b.Struct("r", 8, Member{Type: st}, Member{Type: st}, Member{Name: "m", Type: st})
	f := b.Add(Type{Kind: KindFuncProto, Ref: 0}) // 10
	b.Set(f, Type{Kind: KindFuncProto, Ref: f, Params: []Param{{"", f}, {"", f}, {"", f}}})
	s, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	assert.Error(t, DumpC(io.Discard, s, nil))
	assert.Equal(t, KindVoid, s.SkipMods(2).Kind)
	_, err = s.Sizeof(2)
	assert.ErrorIs(t, err, ErrCycle)
	_, err = s.Sizeof(arr)
	assert.Error(t, err)
	for id := range ID(s.NumTypes()) {
		assert.NotEmpty(t, s.TypeString(id))
		s.FormatString(id, make([]byte, 64))
		s.FormatJSON(id, make([]byte, 64))
		s.FieldAt(id, 0, 4)
		s.FindMember(id, "nothing")
		_, err := s.ResolvePath(id, "nothing.at.all")
		assert.Error(t, err)
		_ = s.EncodeValue(id, Object{{"m", Object{{"m", 1}}}}, make([]byte, 64))
	}
}

func TestHugeArray(t *testing.T) {
	b := NewBuilder(nil)
	i := b.Int("int", 4, IntSigned)
	a := i
	for range 4 {
		a = b.Array(a, i, 1<<31)
	}
	s, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	_, err = s.Sizeof(a)
	assert.ErrorIs(t, err, ErrTooLarge)
	s.FormatString(a, make([]byte, 100))
	s.FieldAt(a, 0, 4)
}

func TestFuncProtoAndEnums(t *testing.T) {
	s, x := buildSample(t, binary.BigEndian)
	proto, fn, ok := s.FuncProto("wake")
	require.True(t, ok)
	assert.Equal(t, x.fn, fn.ID)
	assert.Len(t, proto.Params, 3)
	assert.True(t, proto.Variadic())
	_, _, ok = s.FuncProto("sleep")
	assert.False(t, ok)
	v, ok := s.EnumValue("", "HUGE")
	assert.True(t, ok)
	assert.EqualValues(t, uint64(1<<40), v)
	v, ok = s.EnumValue("color", "NEG")
	assert.True(t, ok)
	assert.EqualValues(t, ^uint64(0), v)
	_, ok = s.EnumValue("color", "HUGE")
	assert.False(t, ok)
	_, ok = s.EnumValue("", "NOPE")
	assert.False(t, ok)
}

func TestResolvePath(t *testing.T) {
	s, x := buildSample(t, binary.LittleEndian)
	for _, tt := range []struct {
		path      string
		off, bits uint32
		typ       string
	}{
		{"", 0, 0, "struct task"}, {"pid", 0, 0, "int"}, {"comm", 64, 0, "char[16]"}, {"comm[3]", 88, 0, "char"},
		{"raw", 256, 0, "u64"}, {"ptr", 256, 0, "void *"}, {"pts[2].y", 320 + 128 + 32, 0, "int"},
		{"bits.b", 579, 5, "int"}, {"bits.c", 584, 4, "enum color"}, {"bits.d", 608, 0, "unsigned int"}, {"comm[0x10]", 0, 0, "error"},
		{"pidd", 0, 0, "error"}, {"parent.pid", 0, 0, "error"}, {"pid.x", 0, 0, "error"}, {"comm[", 0, 0, "error"}, {"comm[x]", 0, 0, "error"},
		{"pid[0]", 0, 0, "error"}, {"bits.", 0, 0, "error"}, {".pid", 0, 0, "error"}, {"bits.a.x", 0, 0, "error"},
	} {
		f, err := s.ResolvePath(x.task, tt.path)
		if tt.typ == "error" {
			var pe *PathError
			require.ErrorAs(t, err, &pe, tt.path)
			continue
		}
		require.NoError(t, err, tt.path)
		assert.Equal(t, tt.off, f.BitOffset, tt.path)
		assert.Equal(t, tt.bits, f.BitSize, tt.path)
		assert.Equal(t, tt.typ, s.TypeString(f.Type), tt.path)
		assert.Equal(t, tt.path, f.Path)
	}
	_, err := s.ResolvePath(x.task, "comn")
	var pe *PathError
	require.ErrorAs(t, err, &pe)
	assert.Equal(t, "comm", pe.Nearest[0])
	old, err := s.ResolvePath(x.old, "q")
	require.NoError(t, err)
	assert.EqualValues(t, 12, old.BitOffset)
	assert.EqualValues(t, 5, old.BitSize)
	v, err := s.ResolvePath(x.sec, "counter")
	require.NoError(t, err)
	assert.Equal(t, "u64", s.TypeString(v.Type))
}

func TestFieldAt(t *testing.T) {
	s, x := buildSample(t, binary.LittleEndian)
	for _, tt := range []struct {
		off   uint32
		size  int
		path  string
		exact bool
	}{
		{0, 4, "pid", true}, {0, 2, "pid", false}, {0, 8, "", false}, {8, 16, "comm", true}, {11, 1, "comm[3]", true}, {8, 8, "comm", false},
		{32, 8, "ptr", true}, {32, 4, "ptr", false}, {40, 8, "pts[0]", true}, {52, 4, "pts[1].y", true}, {64, 6, "mac", true}, {72, 1, "bits.a", false},
		{73, 1, "bits.c", false}, {72, 4, "bits.a", false}, {72, 8, "bits", true}, {76, 4, "bits.d", true}, {0, 88, "", true}, {88, 1, "", false}, {200, 8, "", false},
	} {
		path, _, exact := s.FieldAt(x.task, tt.off, tt.size)
		assert.Equal(t, tt.path, path, "%d+%d", tt.off, tt.size)
		assert.Equal(t, tt.exact, exact, "%d+%d", tt.off, tt.size)
	}
	path, _, exact := s.FieldAt(x.sec, 0, 8)
	assert.Equal(t, "counter", path)
	assert.True(t, exact)
}
