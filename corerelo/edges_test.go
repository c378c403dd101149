package corerelo

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
)

func TestNamesOfStagesAndReasons(t *testing.T) {
	names := map[string]bool{}
	for s := range Stage(len(stageNames)) {
		names[s.String()] = true
	}
	for r := NoMember; int(r) < len(reasonNames); r++ {
		names[r.String()] = true
	}
	assert.Len(t, names, len(stageNames)+len(reasonNames)-1, "each has its own name")
	assert.Equal(t, "patch", StagePatch.String())
	assert.Equal(t, "incompatible-root", IncompatibleRoot.String())
	assert.Equal(t, "unknown", Stage(len(stageNames)).String())
	assert.Equal(t, "unknown", Reason(len(reasonNames)).String())
}

func TestErrorsSayWhatWasFound(t *testing.T) {
	e := Error{Err: ErrInsn}
	assert.NotContains(t, strings.TrimPrefix(e.Error(), "CO-RE"), ErrInsn.Error()+":")
	e.Detail = "opcode 0x95"
	assert.Contains(t, e.Error(), ErrInsn.Error()+": opcode 0x95")
}

// TestScanInt is sscanf("%d") up to the largest int.
func TestScanInt(t *testing.T) {
	for text, want := range map[string]struct {
		n, next int
		ok      bool
	}{
		"7": {7, 1, true}, "-7": {-7, 2, true}, "+7": {7, 2, true}, " \t7:": {7, 3, true}, "\r7": {7, 2, true}, "\x0e7": {0, 0, false},
		"": {0, 0, false}, "-": {0, 1, false}, ":": {0, 0, false}, "/": {0, 0, false}, "09": {9, 2, true},
		"2147483647": {math.MaxInt32, 10, true}, "-2147483647": {-math.MaxInt32, 11, true}, "2147483648": {0, 9, false},
	} {
		n, next, ok := scanInt(text, 0)
		assert.Equal(t, want.ok, ok, "%q", text)
		if ok {
			assert.Equal(t, []int{want.n, want.next}, []int{n, next}, "%q", text)
		}
	}
}

func TestWhatCountsAsChange(t *testing.T) {
	for _, c := range []struct {
		p    Patch
		want bool
	}{
		{Patch{}, false},
		{Patch{Old: 1, New: 1, OldSize: 4, NewSize: 4}, false},
		{Patch{Old: 1, New: 2}, true},
		{Patch{OldSize: 4, NewSize: 8}, true},
		{Patch{Poisoned: true}, true},
	} {
		assert.Equal(t, c.want, c.p.Changed(), "%+v", c.p)
	}
	assert.True(t, plainSecond(decode.Insn{Imm: 1}))
	for _, in := range []decode.Insn{{Code: 1}, {Dst: 1}, {Src: 1}, {Off: 1}} {
		assert.False(t, plainSecond(in), "%+v", in)
	}
}

func TestHintsAreFewAndDistinct(t *testing.T) {
	hints := []Hint{{Path: "a"}, {Path: "a"}, {Path: "b"}}
	assert.Len(t, distinct(hints), 2)
	hints = nil
	for i := range maxHints + 2 {
		hints = append(hints, Hint{Path: strconv.Itoa(i)})
	}
	assert.Equal(t, hints[:maxHints], distinct(hints))
}

func TestWhichNamesAreAlike(t *testing.T) {
	long := strings.Repeat("n", maxNameLen)
	for _, c := range []struct {
		want, name string
		score      int
		ok         bool
	}{
		{"", "", 0, true}, {"", "a", 0, false}, {"state", "state", 0, true}, {"state", "__state", 0, true}, {"state_", "state", 0, true},
		{"ctime", "i_ctime", 2, true}, {"ctime", "ctime_sec", 3, true}, {"i_ctime", "ctime", 2, true}, {"ctime_sec", "ctime", 3, true},
		{"ab", "ab_c", 2, true}, {"ab", "ab_cd", 0, false}, {"ab", "xx_ab_", 0, false}, // at most twice as long
		{"abc", "abd", 2, true}, {"abc", "acb", 2, true}, {"abc", "adf", 0, false}, {"ab", "ac", 0, false},
		{"abcdef", "abcd", 3, true}, {"abcdefg", "abcd", 0, false}, {"abcdef", "badcef", 3, true}, {"abcdef", "badcfe", 0, false},
		{long, long, 0, true}, {long + "n", long + "n", 0, true}, {long, long + "n", 0, false}, {long + "n", long, 0, false},
	} {
		score, ok := likeness(c.want, c.name)
		assert.Equal(t, c.ok, ok, "%q %q", c.want, c.name)
		if ok {
			assert.Equal(t, c.score, score, "%q %q", c.want, c.name)
		}
	}
}

// TestDistance compares with the whole table of optimal string alignment.
func TestDistance(t *testing.T) {
	whole := func(a, b string) int {
		d := make([][]int, len(a)+1)
		for i := range d {
			d[i] = make([]int, len(b)+1)
			d[i][0] = i
		}
		for j := range d[0] {
			d[0][j] = j
		}
		for i := 1; i <= len(a); i++ {
			for j := 1; j <= len(b); j++ {
				cost := 1
				if a[i-1] == b[j-1] {
					cost = 0
				}
				d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					d[i][j] = min(d[i][j], d[i-2][j-2]+1)
				}
			}
		}
		return d[len(a)][len(b)]
	}
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		b := make([]byte, r.IntN(9))
		for i := range b {
			b[i] = byte('a' + r.IntN(3))
		}
		return string(b)
	}
	for range 5000 {
		a, b := word(), word()
		want := whole(a, b)
		assert.Equal(t, want, distance(a, b, want), "%q %q", a, b)
		if want > 0 {
			assert.Greater(t, distance(a, b, want-1), want-1, "%q %q", a, b)
		}
	}
}

// TestWhyCandidatesDisagree: by their offsets, by one that fails, or by their values.
func TestWhyCandidatesDisagree(t *testing.T) {
	b := btf.NewBuilder(nil)
	n := b.Int("int", 4, btf.IntSigned)
	id := b.Struct("s", 4, btf.Member{Name: "a", Type: n})
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	at := func(off uint32) *Spec { return &Spec{BTF: spec, Root: id, BitOffset: off} }
	for _, tt := range []struct {
		a, b *Spec
		x, y Result
		want string
	}{
		{at(0), at(0), Result{New: 1}, Result{New: 1}, ""},
		{at(8), at(0), Result{New: 1}, Result{New: 1}, "field offset ambiguity: 8 != 0"},
		{at(0), at(0), Result{New: 1}, Result{New: 2}, "relocation decision ambiguity: success 1 != success 2"},
		{at(0), at(0), Result{Poison: true}, Result{New: 2}, "relocation decision ambiguity: failure 0 != success 2"},
		{at(0), at(0), Result{New: 1}, Result{Poison: true, New: 1}, "relocation decision ambiguity: success 1 != failure 1"},
	} {
		f := disagree(tt.a, tt.x, tt.b, tt.y)
		if tt.want == "" {
			assert.Nil(t, f)
			continue
		}
		require.NotNil(t, f, tt.want)
		assert.Equal(t, tt.want, f.log)
	}
}

// TestEnumeratorsOfOtherTypes: only enums have them.
func TestEnumeratorsOfOtherTypes(t *testing.T) {
	b := btf.NewBuilder(nil)
	n := b.Int("int", 4, btf.IntSigned)
	enum := b.Add(btf.Type{Kind: btf.KindEnum, Name: "e", Size: 4, Values: []btf.Enumerator{{Name: "one", Value: 1}, {Name: "two", Value: 2}}})
	s := b.Struct("s", 4, btf.Member{Name: "a", Type: n})
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	for _, tt := range []struct {
		id   btf.ID
		raw  []int
		want string
	}{
		{enum, []int{0}, ""}, {enum, []int{1}, ""}, {enum, []int{2}, "no enumerator 2, the enum has 2"}, {enum, []int{0, 0}, "no enumerator 0:0, the enum has 2"},
		{enum, nil, "no enumerator"}, {s, []int{0}, "not an enum"}, {n, []int{0}, "not an enum"},
	} {
		x := &Spec{BTF: spec, Root: tt.id, Raw: tt.raw}
		f := x.parseEnumerator(spec.MustType(tt.id))
		if tt.want == "" {
			require.Nil(t, f)
			assert.Equal(t, []string{"one", "two"}[tt.raw[0]], x.Path[0].Name)
			continue
		}
		require.NotNil(t, f, tt.want)
		assert.Contains(t, f.detail, tt.want)
	}
}
