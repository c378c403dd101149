package btf

import (
	"encoding/binary"
	"encoding/json"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var taskValue = Object{
	{"pid", 4242}, {"state", "GREEN"}, {"comm", "bash"}, {"parent", uint64(0xffff888000001000)},
	{"raw", "0x10"}, {"pts", []any{Object{{"x", 1}, {"y", -2}}, map[string]int{"x": 3}}},
	{"mac", "0x0a0b0c0d0e0f"}, {"on", true}, {"c", "'A'"},
	{"bits", map[string]any{"a": 5, "b": -3, "c": "NEG", "d": "0xffffffff"}}, {"flags", "0x8000000000000000"},
}

const taskText = `{pid = 4242, state = GREEN, comm = "bash", parent = 0xffff888000001000, ptr = 0x10, raw = 16, ` +
	`pts = [{x = 1, y = -2}, {x = 3, y = 0}, {x = 0, y = 0}], mac = 0x0a0b0c0d0e0f, on = true, c = 65, ` +
	`bits = {a = 5, b = -3, c = NEG, d = 4294967295}, flags = 0x8000000000000000}`

func TestFormat(t *testing.T) {
	for _, bo := range orders {
		t.Run(bo.String(), func(t *testing.T) {
			s, x := buildSample(t, bo)
			data := make([]byte, 88)
			require.NoError(t, s.EncodeValue(x.task, taskValue, data))
			assert.EqualValues(t, 4242, bo.Uint32(data))
			assert.Equal(t, uint64(0xffff888000001000), bo.Uint64(data[24:]))
			assert.Equal(t, taskText, s.FormatString(x.task, data))
			want := byte(5 | (32-3)<<3) // a in bits 0 to 2, b in bits 3 to 7
			if bo == binary.BigEndian {
				want = 5<<5 | (32 - 3)
			}
			assert.Equal(t, want, data[72])

			again := make([]byte, 88)
			require.NoError(t, s.EncodeText(x.task, taskText, again))
			assert.Equal(t, data, again)

			v, err := s.DecodeValue(x.task, data, DecodeOptions{})
			require.NoError(t, err)
			clear(again)
			require.NoError(t, s.EncodeValue(x.task, v, again))
			assert.Equal(t, data, again)

			js, err := json.Marshal(s.FormatJSON(x.task, data))
			require.NoError(t, err)
			assert.Equal(t, `{"pid":4242,"state":"GREEN","comm":"bash","parent":"0xffff888000001000","ptr":"0x10","raw":"0x10",`+
				`"pts":[{"x":1,"y":-2},{"x":3,"y":0},{"x":0,"y":0}],"mac":"0a0b0c0d0e0f","on":true,"c":65,`+
				`"bits":{"a":5,"b":-3,"c":"NEG","d":4294967295},"flags":"0x8000000000000000"}`, string(js))
		})
	}
}

func TestFormatShort(t *testing.T) {
	s, x := buildSample(t, binary.LittleEndian)
	assert.Equal(t, `{x = 7, y = <missing>}`, s.FormatString(x.point, []byte{7, 0, 0, 0, 1}))
	assert.Equal(t, `<missing>`, s.FormatString(x.int, nil))
	js, err := json.Marshal(s.FormatJSON(x.point, []byte{7, 0, 0, 0}))
	require.NoError(t, err)
	assert.Equal(t, `{"x":7,"y":null}`, string(js))
	for n := range 88 {
		data := make([]byte, n)
		assert.NotEmpty(t, s.FormatString(x.task, data))
		_, err := json.Marshal(s.FormatJSON(x.task, data))
		assert.NoError(t, err)
	}
}

func TestFormatArrays(t *testing.T) {
	b := NewBuilder(nil)
	i := b.Int("int", 4, IntSigned)
	u8 := b.Int("unsigned char", 1, 0)
	c := b.Int("char", 1, IntSigned)
	ints, bytes, chars := b.Array(i, i, 200), b.Array(u8, i, 100), b.Array(c, i, 4)
	lines := b.Array(chars, i, 2)
	flex := b.Struct("flex", 4, Member{Name: "n", Type: i}, Member{Name: "v", Type: b.Array(i, i, 0), BitOffset: 32})
	f32 := b.Add(Type{Kind: KindFloat, Name: "float", Size: 4})
	wide := b.Int("__int128", 16, IntSigned)
	s, err := b.Spec(binary.BigEndian)
	require.NoError(t, err)
	data := make([]byte, 800)
	data[3], data[7] = 1, 2
	assert.Equal(t, "[1, 2, 0 <x 198>]", s.FormatString(ints, data))
	assert.Equal(t, "0x00 <x 100>", s.FormatString(bytes, make([]byte, 100)))
	for k := range 200 {
		binary.BigEndian.PutUint32(data[4*k:], uint32(k))
	}
	text := s.FormatString(ints, data)
	assert.Contains(t, text, "62, 63, ... 136 more]")
	assert.Equal(t, `"ab\xff\n"`, s.FormatString(chars, []byte("ab\xff\n")))
	assert.Equal(t, `["ab", "c"]`, s.FormatString(lines, []byte("ab\x00zc\x00\x00\x00")))
	assert.Equal(t, `{n = 1, v = [2, 3]}`, s.FormatString(flex, []byte{0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3}))
	assert.Equal(t, "1.5", s.FormatString(f32, []byte{0x3f, 0xc0, 0, 0}))
	buf := make([]byte, 16)
	n, _ := new(big.Int).SetString("-1234567890123456789012345", 10)
	require.NoError(t, s.EncodeValue(wide, n, buf))
	v, err := s.DecodeValue(wide, buf, DecodeOptions{})
	require.NoError(t, err)
	assert.Zero(t, n.Cmp(v.(*big.Int)))
}

func TestEncodeValue(t *testing.T) {
	s, x := buildSample(t, binary.LittleEndian)
	tests := []struct {
		name string
		id   ID
		in   any
		want any // uint64 of the bytes, or an error
	}{
		{"decimal", x.int, "42", uint64(42)},
		{"negative", x.int, "-1", uint64(0xffffffff)},
		{"hex", x.uint, "0xDEADBEEF", uint64(0xdeadbeef)},
		{"octal", x.uint, "0o17", uint64(15)},
		{"leading zero", x.uint, "010", uint64(10)},
		{"negative of unsigned", x.uint, -1, uint64(0xffffffff)},
		{"too large", x.uint, "4294967296", ErrValue},
		{"too small", x.int, int64(-1) << 32, ErrValue},
		{"enumerator in int", x.int, "GREEN", uint64(1)},
		{"enumerator", x.color, "NEG", uint64(0xffffffff)},
		{"unknown enumerator", x.color, "GREN", ErrNotFound},
		{"enum by number", x.color, 7, uint64(7)},
		{"enum64", x.big, "HUGE", uint64(1 << 40)},
		{"bool", x.bool, "true", uint64(1)},
		{"bool by number", x.bool, 2, ErrValue},
		{"char", x.char, "'x'", uint64('x')},
		{"typedef", x.u64, uint64(1) << 63, uint64(1) << 63},
		{"float of an int", x.int, 3.0, uint64(3)},
		{"half", x.int, 3.5, ErrValue},
		{"word", x.int, "abc", ErrValue},
		{"nil", x.int, nil, ErrValue},
		{"list", x.int, []int{1}, ErrValue},
		{"member", x.point, map[string]any{"z": 1}, ErrNotFound},
		{"bytes", x.point, []byte{1, 0, 0, 0, 2, 0, 0, 0}, uint64(2<<32 | 1)},
		{"few bytes", x.point, []byte{1}, ErrValue},
		{"number", x.point, 1, ErrValue},
		{"void", 0, 1, ErrValue},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var buf [8]byte
			err := s.EncodeValue(tt.id, tt.in, buf[:])
			if want, ok := tt.want.(error); ok {
				require.ErrorIs(t, err, want)
				assert.NotEmpty(t, err.Error())
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, binary.LittleEndian.Uint64(buf[:]))
		})
	}
	assert.ErrorIs(t, s.EncodeValue(x.int, 1, make([]byte, 3)), ErrValue)
	assert.ErrorIs(t, s.EncodeValue(x.task, Object{{"comm", "this is a name too long"}}, make([]byte, 88)), ErrValue)
	assert.ErrorIs(t, s.EncodeValue(x.task, Object{{"bits.a", 8}}, make([]byte, 88)), ErrValue)
	assert.ErrorIs(t, s.EncodeValue(x.task, Object{{"pts", []int{1, 2, 3, 4}}}, make([]byte, 88)), ErrValue)
	buf := make([]byte, 88)
	require.NoError(t, s.EncodeValue(x.task, Object{{"pts", map[int]any{2: Object{{"y", 9}}}}, {"comm[1]", 'b'}}, buf))
	assert.EqualValues(t, 9, buf[40+20])
	assert.EqualValues(t, 'b', buf[9])
	require.NoError(t, s.EncodeText(s.MustType(x.task).Members[2].Type, "tcp", buf))
	assert.Equal(t, "tcp\x00", string(buf[:4]))
}

func TestParseValue(t *testing.T) {
	for in, want := range map[string]any{
		"42": "42", ` -1 `: "-1", `"a b\n"`: "a b\n", "[]": List{}, "[1, 2,]": List{"1", "2"}, "[0 <x 3>, 1]": List{"0", "0", "0", "1"},
		"{}": Object{}, "{a = 1, b: [2], .c = {d = 'x'}}": Object{{"a", "1"}, {"b", List{"2"}}, {"c", Object{{"d", "'x'"}}}},
		`{"a": 1, "b": null}`: Object{{"a", "1"}, {"b", "null"}}, "{a.b[2].c = 1}": Object{{"a.b[2].c", "1"}},
	} {
		v, err := ParseValue(in)
		require.NoError(t, err, in)
		assert.Equal(t, want, v, in)
	}
	for _, in := range []string{"", "[", "{", "{a}", "{a=}", "[1 2]", `"abc`, "1 2", "]", "[0 <x 99999999>]", "[0 <x", "{a=1"} {
		_, err := ParseValue(in)
		assert.ErrorIs(t, err, ErrValue, in)
	}
}
