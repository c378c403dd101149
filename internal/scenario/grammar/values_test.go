package grammar

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// parsed is the value of v in "v: TEXT", nil for no text.
func parsed(t *testing.T, text string) *Node {
	t.Helper()
	if text == "" {
		return nil
	}
	root, err := ParseYAML("f", []byte("v: "+text+"\n"))
	require.NoError(t, err)
	return root.Get("v")
}

// decoders are what a value may be read as.
var decoders = map[string]func(n *Node) (any, error){
	"members":  func(n *Node) (any, error) { p, err := n.Members("m"); return len(p), err },
	"text":     func(n *Node) (any, error) { return n.NonEmpty("m") },
	"number":   func(n *Node) (any, error) { return n.Big("m") },
	"1 to 9":   func(n *Node) (any, error) { return n.Int("m", 1, 9) },
	"uint64":   func(n *Node) (any, error) { return n.Uint64("m") },
	"duration": func(n *Node) (any, error) { return n.Duration("m") },
	"release":  func(n *Node) (any, error) { v, err := n.Release(); return fmt.Sprintf("%#x", v), err },
	"arch":     func(n *Node) (any, error) { return n.Arch() },
	"errno":    func(n *Node) (any, error) { e, err := n.Errno("m"); return int(e), err },
	"hex":      func(n *Node) (any, error) { b, err := n.Hex("m"); return fmt.Sprintf("%x", b), err },
	"result":   func(n *Node) (any, error) { v, err := n.Result("m"); return int64(v), err },
	"bool":     func(n *Node) (any, error) { return n.Bool("m") },
	"rate":     func(n *Node) (any, error) { return n.Rate("m", 2_000_000_000) },
	"pattern":  func(n *Node) (any, error) { return n.Pattern() },
}

// TestValues reads values as what they are and are not, at both sides of each limit.
func TestValues(t *testing.T) {
	for _, tt := range []struct{ as, text, want string }{ // want begins with "!" when it is refused with this text
		{"members", "", "0"}, {"members", "null", "0"}, {"members", "{a: 1, b: 2}", "2"}, {"members", "[a]", "!want a mapping, got a list"}, {"members", "x", "!want a mapping, got \"x\""},
		{"text", "x", "x"}, {"text", "''", "!want a string"}, {"text", "[x]", "!want a string, got a list"}, {"text", "{}", "!want a string, got a mapping"},
		{"number", "1_000", "1000"}, {"number", "0x1F", "31"}, {"number", "0b101", "5"}, {"number", "0o17", "15"}, {"number", "017", "17"}, {"number", "09", "9"}, {"number", "0", "0"}, {"number", "-0", "0"},
		{"number", "+5", "5"}, {"number", "-5", "-5"}, {"number", "--5", "!want a number"}, {"number", "'-'", "!want a number"}, {"number", "a5", "!want a number"}, {"number", "5a", "!want a number"}, {"number", "[5]", "!want a number, got a list"},
		{"number", "0 ", "0"}, {"number", "'0/'", "!want a number"}, {"number", "'0:'", "!want a number"}, {"number", "00", "0"}, {"number", "019", "19"},
		{"number", strings.Repeat("1", 80), strings.Repeat("1", 80)}, {"number", strings.Repeat("1", 81), "!want a number"},
		{"number", "S_IFREG", "32768"}, {"number", "S_IFREG|0o644", "33188"}, {"number", "S_IFREG | 1", "32769"}, {"number", "0o644|S_IFREG", "33188"}, {"number", "-ENOENT", "-2"}, {"number", "-ENONE", "!want a number"},
		{"number", "AT_FDCWD", "-100"}, {"number", "AT_FDCWD|1", "!want a number"}, {"number", "'S_IFREG|-1'", "!want a number"}, {"number", "S_IFREG|0", "32768"}, {"number", "1|2", "!want a number"},
		{"number", "S_IFREG|S_NONE", "!want a number"}, {"number", "S_IFREG|99999999999999999999", "!want a number"},
		{"number", "!ne S_IFREG", "32768"}, {"number", "!file S_IFREG", "!want a number"}, {"number", "'S_IFREG'", "!want a number"}, {"number", "'7'", "7"},
		{"1 to 9", "1", "1"}, {"1 to 9", "9", "9"}, {"1 to 9", "0", "!0 is outside the range 1 to 9"}, {"1 to 9", "10", "!10 is outside"}, {"1 to 9", "18446744073709551617", "!is outside"}, {"1 to 9", "x", "!want a number"},
		{"uint64", "18446744073709551615", "18446744073709551615"}, {"uint64", "18446744073709551616", "!does not fit"}, {"uint64", "-1", "18446744073709551615"}, {"uint64", "-9223372036854775808", "9223372036854775808"}, {"uint64", "-9223372036854775809", "!does not fit"}, {"uint64", "x", "!want a number"},
		{"duration", "0", "0s"}, {"duration", "5us", "5µs"}, {"duration", "1000", "1µs"}, {"duration", "-1", "!want a duration"}, {"duration", "-1s", "!want a duration"}, {"duration", "0s", "0s"},
		{"duration", "9223372036854775807", "2562047h47m16.854775807s"}, {"duration", "9223372036854775808", "!want a duration"}, {"duration", "9223372036854775806ns", "2562047h47m16.854775806s"}, {"duration", "9223372036854775807ns", "!want a duration"}, {"duration", "[1s]", "!want a duration"},
		{"release", "", "0x0"}, {"release", "5.17", "0x51100"}, {"release", "5.x", "!want a kernel version"}, {"release", "[5.17]", "!want a kernel version such as 5.17, got a list"},
		{"arch", "", ""}, {"arch", "x86", "x86"}, {"arch", "s390", "s390"}, {"arch", "mips", "!unknown architecture \"mips\" (available: x86, arm64, arm, riscv, s390)"}, {"arch", "[x86]", "!unknown architecture"},
		{"errno", "EFAULT", "14"}, {"errno", "-EFAULT", "14"}, {"errno", "14", "14"}, {"errno", "-14", "14"}, {"errno", "0", "!want an error"}, {"errno", "1", "1"}, {"errno", "4095", "4095"}, {"errno", "4096", "!want an error"}, {"errno", "ENONE", "!want an error"}, {"errno", "[1]", "!want an error"}, {"errno", "99999999999999999999", "!want an error"},
		{"hex", "'0x0a:0B 0c'", "0a0b0c"}, {"hex", "''", ""}, {"hex", "0a0", "!is not a string of hex digits"}, {"hex", "0g", "!is not a string of hex digits"}, {"hex", "[0a]", "!want hex digits, got a list"},
		{"result", "-EACCES", "-13"}, {"result", "-13", "-13"}, {"result", "13", "13"}, {"result", "EACCES", "!want a number"}, {"result", "-ENONE", "!want an error"}, {"result", "[1]", "!want a number"},
		{"bool", "true", "true"}, {"bool", "false", "false"}, {"bool", "yes", "!want true or false"}, {"bool", "[true]", "!want true or false"},
		{"rate", "1", "1"}, {"rate", "0", "!want bits per second"}, {"rate", "0.9", "!want bits per second"}, {"rate", "1.5kbit", "1500"}, {"rate", "2mbit", "2000000"}, {"rate", "2gbit", "2000000000"}, {"rate", "2000000001", "!want bits per second"}, {"rate", "3bit", "3"}, {"rate", "3tbit", "!want bits per second"}, {"rate", "kbit", "!want bits per second"}, {"rate", "nan", "!want bits per second"}, {"rate", "[1]", "!want bits per second"},
		{"pattern", "a+", "a+"}, {"pattern", "'('", "!is not a regular expression"}, {"pattern", "[a]", "!is not a regular expression"},
	} {
		t.Run(tt.as+" "+tt.text[:min(len(tt.text), 30)], func(t *testing.T) {
			got, err := decoders[tt.as](parsed(t, tt.text))
			if refusal, ok := strings.CutPrefix(tt.want, "!"); ok {
				var wrong *Error
				require.ErrorAs(t, err, &wrong)
				assert.ErrorContains(t, err, refusal)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, fmt.Sprint(got))
		})
	}
	empty, err := parsed(t, "''").Hex("m")
	require.NoError(t, err)
	assert.NotNil(t, empty, "no bytes, but bytes")
}

func TestNumbersOfMembers(t *testing.T) {
	a, b := 5, 6
	err := parsed(t, "{a: 1, c: 9}").Ints(IntOf("a", &a, 1, 2), IntOf("b", &b, 1, 2))
	require.NoError(t, err)
	assert.Equal(t, []int{1, 6}, []int{a, b})
	assert.ErrorContains(t, parsed(t, "{a: 3, b: 0}").Ints(IntOf("a", &a, 1, 2), IntOf("b", &b, 1, 2)), "a: 3 is outside the range 1 to 2\nf:1:14: b: 0")
}

// TestComparisons: each condition with values below, at and above.
func TestComparisons(t *testing.T) {
	for _, tt := range []struct{ text, holds, want string }{
		{"5", "010", "5"}, {"!ne 5", "101", "ne 5"}, {"!lt 5", "100", "lt 5"}, {"!le 5", "110", "le 5"}, {"!gt 5", "001", "gt 5"}, {"!ge 5", "011", "ge 5"},
	} {
		for i, got := range []float64{4, 5, 6} {
			var c Checks
			require.NoError(t, c.Number(parsed(t, tt.text), "n", func() float64 { return got }))
			require.Len(t, c.Found, 1)
			e := c.Found[0]
			assert.Equal(t, tt.holds[i] == '1', e.OK, "%s of %v", tt.text, got)
			if e.OK {
				assert.Equal(t, "n: ok", e.String())
			} else {
				assert.Equal(t, "n: want "+tt.want+", got "+strconv.FormatFloat(got, 'f', -1, 64), e.String())
			}
		}
	}
	var c Checks
	assert.NoError(t, c.Number(parsed(t, "!any"), "n", nil))
	assert.ErrorContains(t, c.Number(parsed(t, "!file 5"), "n", nil), "!file does not fit here")
	assert.ErrorContains(t, c.Number(parsed(t, "x"), "n", nil), "want a number")
	require.NoError(t, c.Time(parsed(t, "!lt 2us"), "t", func() float64 { return 2000 }))
	assert.Equal(t, "t: want lt 2µs, got 2µs", c.Found[0].String())
}

// TestExpectations of texts, flags and lists, when something ran and when only the file is checked.
func TestExpectations(t *testing.T) {
	list := func(n *Node) []*Node { return n.Items }
	for _, tt := range []struct {
		name  string
		check func(c *Checks) error
		want  string // of the first expectation; "!" and the error
	}{
		{"a text", func(c *Checks) error { return c.Text(parsed(t, "x"), "t", func() string { return "x" }) }, "t: ok"},
		{"another text", func(c *Checks) error { return c.Text(parsed(t, "x"), "t", func() string { return "y" }) }, "t: want x, got y"},
		{"a match", func(c *Checks) error { return c.Text(parsed(t, "!match x.z"), "t", func() string { return "xyz" }) }, "t: ok"},
		{"no match", func(c *Checks) error { return c.Text(parsed(t, "!match x.z"), "t", func() string { return "x" }) }, `t: want match x.z, got "x"`},
		{"no pattern", func(c *Checks) error { return c.Text(parsed(t, "!match '('"), "t", nil) }, "!is not a regular expression"},
		{"a list for a text", func(c *Checks) error { return c.Text(parsed(t, "[x]"), "t", nil) }, "!want a string, got a list"},
		{"a flag", func(c *Checks) error { return c.Flag(parsed(t, "true"), "f", "a.f", func() bool { return true }) }, "a.f: ok"},
		{"another flag", func(c *Checks) error {
			return c.Flag(parsed(t, "false"), "f", "a.f", func() bool { return true })
		}, "a.f: want false, got true"},
		{"no flag", func(c *Checks) error { return c.Flag(parsed(t, "0"), "f", "a.f", nil) }, "!want true or false"},
		{"results", func(c *Checks) error {
			n := parsed(t, "[1, -EPERM]")
			return c.Results(list(n), n, "r", []int{1, -1})
		}, "r: ok"},
		{"other results", func(c *Checks) error {
			n := parsed(t, "[1, -EPERM]")
			return c.Results(list(n), n, "r", []int{1, -4095, -4096})
		}, "r: want 1, -EPERM, got 1, -, -4096"},
		{"no results", func(c *Checks) error { n := parsed(t, "[x]"); return c.Results(list(n), n, "r", nil) }, "!want a number"},
		{"a length", func(c *Checks) error { c.Length(parsed(t, "[1, 2]"), "x", 3); return nil }, "number of x: want 2, got 3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c Checks
			err := tt.check(&c)
			asked := Checks{Checking: true}
			if text, refused := strings.CutPrefix(tt.want, "!"); refused {
				assert.ErrorContains(t, err, text)
				assert.ErrorContains(t, tt.check(&asked), text)
				return
			}
			require.NoError(t, err)
			require.Len(t, c.Found, 1)
			assert.Equal(t, tt.want, c.Found[0].String())
			if tt.name != "a length" {
				require.NoError(t, tt.check(&asked))
				assert.Empty(t, asked.Found)
			}
		})
	}
	var c Checks
	c.Length(parsed(t, "[1, 2]"), "x", 2)
	assert.Empty(t, c.Found)
}

// TestMembersOfForms: unknown keys, those that are missing, and what makes up for these.
func TestMembersOfForms(t *testing.T) {
	form := &Form{Name: "thing", Members: []Member{{Name: "must", Required: true}, {Name: "or", Required: true, Unless: "else"}, {Name: "else"}}}
	for text, want := range map[string]string{
		"{must: 1, or: 1}":         "",
		"{must: 1, else: 1}":       "",
		"{must: 1}":                `f:1:4: thing needs "or"`,
		"{or: 1}":                  `f:1:4: thing needs "must"`,
		"{else: 1}":                `f:1:4: thing needs "must"`,
		"{must: 1, or: 1, bad: 1}": `f:1:21: unknown key of thing "bad" (available: must, or, else)`,
		"{bad: 1}":                 `f:1:5: unknown key of thing "bad" (available: must, or, else)`,
		"[must]":                   "f:1:4: thing: want a mapping with must, or, else, got a list",
	} {
		err := parsed(t, text).Fields(form)
		if want == "" {
			assert.NoError(t, err, text)
		} else {
			assert.EqualError(t, err, want, text)
		}
	}
	lost := parsed(t, "{or: 1}")
	lost.Lost = true
	assert.NoError(t, lost.Fields(form), "the member may be among what was lost")
	assert.True(t, form.Has("else"))
	assert.False(t, form.Has("elsewhere"))
}

func TestWordsOfShapes(t *testing.T) {
	for want, s := range map[string]Shape{
		"text": Text, "integer": Integer, "release": Release, "duration": Duration, "value": Anything, "true or false": ShapeOf(ShapeBool),
		"list of text": ListOf(Text), "mapping of names to integer": MapOf(Integer), "thing": FormOf(&Form{Name: "thing"}), "text, or integer, or value": OneOf(Text, Integer, Anything),
	} {
		assert.Equal(t, want, s.Words())
	}
}

// TestNamesThatDoNotExist: similar ones, else all of at most twelve.
func TestNamesThatDoNotExist(t *testing.T) {
	var twelve []string
	for i := range 12 {
		twelve = append(twelve, strings.Repeat(string(rune('a'+i)), 9))
	}
	n := &Node{Pos: Pos{"f", 1, 2}}
	assert.EqualError(t, n.Unknown("name", "xyz", []string{"xyy", "abc"}), `f:1:2: unknown name "xyz" (nearest: xyy)`)
	assert.EqualError(t, n.Unknown("name", "xyz", nil), `f:1:2: unknown name "xyz"`)
	assert.EqualError(t, n.Unknown("name", "xyz", twelve), `f:1:2: unknown name "xyz" (available: `+strings.Join(twelve, ", ")+")")
	assert.EqualError(t, n.Unknown("name", "xyz", append(twelve, "mmmmmmmmm")), `f:1:2: unknown name "xyz"`)
	assert.Equal(t, `"`+strings.Repeat("a", 58)+`"`, Brief(strings.Repeat("a", 58)))
	assert.Equal(t, `"`+strings.Repeat("a", 59)+`...`, Brief(strings.Repeat("a", 59)))
}

// TestErrorsGetAPlace: errors of the kernel's objects and of BTF, with and without a name.
func TestErrorsGetAPlace(t *testing.T) {
	n := &Node{Pos: Pos{"f", 1, 2}}
	other := &Error{Pos: Pos{"g", 3, 4}, Text: "(int): wrong"}
	for _, tt := range []struct {
		what string
		err  error
		want string
	}{
		{"a", errors.New("bad"), "f:1:2: a: bad"},
		{"", errors.New("bad"), "f:1:2: bad"},
		{"a", &object.PathError{Name: "x", Type: "struct s", Nearest: []string{"y"}}, `f:1:2: a: no field "x" in struct s (nearest: y)`},
		{"a", &object.PathError{Path: "p", Name: "x", Type: "struct s", Err: object.ErrBadPath}, `f:1:2: a: p: "x" does not fit struct s`},
		{"", &object.PathError{Path: "p", Name: "x", Type: "struct s", Err: object.ErrBadPath}, `f:1:2: p: "x" does not fit struct s`},
		{"a", &object.ValueError{Path: "p", Type: "int", Value: "v", Why: "no"}, `f:1:2: a: p (int) cannot be "v": no`},
		{"a", &btf.PathError{Path: "p", Root: "struct s", Detail: "no"}, `f:1:2: a: "p" in struct s: no`},
		{"a", &btf.ValueError{Path: "p", Type: "int", Detail: "no"}, "f:1:2: a: p (int): no"},
		{"a", &btf.ValueError{Type: "int", Detail: "no"}, "f:1:2: a: (int): no"},
		{"", other, "g:3:4: (int): wrong"},
		{"a", other, "g:3:4: a (int): wrong"},
		{"b", other, "g:3:4: a (int): wrong"},
	} {
		assert.EqualError(t, n.Wrap(tt.what, tt.err), tt.want)
	}
	all := Errors{{Text: "one"}, {Text: "two"}}
	assert.Equal(t, all, n.Placed("a", all))
	assert.EqualError(t, n.Placed("a", errors.New("bad")), "f:1:2: a: bad")
}

// TestMistakesAreReportedOnce, in the order of the file and without mere consequences.
func TestMistakesAreReportedOnce(t *testing.T) {
	at := func(line, col int, text string, follows bool) *Error {
		return &Error{Pos: Pos{"f", line, col}, Text: text, Follows: follows}
	}
	var m Mistakes
	assert.NoError(t, m.Final())
	for _, e := range []*Error{at(2, 1, "c", false), at(1, 2, "b", false), at(1, 1, "a", false), at(1, 2, "b", false), at(3, 1, "d", true)} {
		assert.False(t, m.Add(e))
	}
	assert.True(t, m.Add(nil))
	assert.EqualError(t, m.Final(), "f:1:1: a\nf:1:2: b\nf:2:1: c")
	m = Mistakes{}
	m.Add(at(3, 1, "d", true))
	assert.EqualError(t, m.Final(), "f:3:1: d", "rather than nothing")
	m.Add(errors.New("no file"))
	m.Add(errors.New("later"))
	assert.EqualError(t, m.Final(), "no file")
	assert.EqualError(t, m.Err(), "no file")
	var many Errors
	for i := range MostErrors {
		many = append(many, at(i+1, 1, "x", false))
	}
	assert.Len(t, strings.Split(many.Error(), "\n"), MostErrors)
	assert.NotContains(t, many.Error(), "more mistakes")
	many = append(many, at(90, 1, "x", false), at(91, 1, "x", false))
	assert.True(t, strings.HasSuffix(many.Error(), "\nf: 2 more mistakes"))
}
