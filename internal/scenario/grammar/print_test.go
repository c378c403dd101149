package grammar

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPrint writes nodes as people would, and reads them again.
func TestPrint(t *testing.T) {
	long := strings.Repeat("a", 40)
	for name, tt := range map[string]struct{ text, want string }{
		"a scalar":                     {"x", "x"},
		"nothing":                      {"null", "null"},
		"nothing inside":               {"a: null", "a: null"},
		"a mapping":                    {"{a: 1, b: {c: 2}}", "a: 1\nb:\n  c: 2"},
		"an empty mapping":             {"a: {}", "a: {}"},
		"an empty list":                {"a: []", "a: []"},
		"plain lists are on one line":  {"a: [1, 2]", "a: [1, 2]"},
		"lists of mappings":            {"a: [{b: 1, c: 2}, 3]", "a:\n- b: 1\n  c: 2\n- 3"},
		"lists of lists":               {"a: [[1, 2], [3]]", "a:\n- [1, 2]\n- [3]"},
		"lists of tagged mappings":     {"a: [!x {b: 1}]", "a: [!x {b: 1}]"},
		"the third depth is on a line": {"{a: {b: {c: {d: 1}}}}", "a:\n  b:\n    c: {d: 1}"},
		"a list in the third depth":    {"{a: {b: {c: [{d: 1}]}}}", "a:\n  b:\n    c: [{d: 1}]"},
		"a tag of a mapping":           {"a: !x {b: 1}", "a: !x\n  b: 1"},
		"a tag on one line":            {"a: !x [1]", "a: !x [1]"},
		"a tag of a scalar":            {"a: !x 1", "a: !x 1"},
		"a tag of a key":               {"a: {!x b: 1}", "a:\n  !x b: 1"},
		"quotes stay":                  {`a: "x"`, `a: "x"`},
		"a line that is just too long": {"a: [" + long + ", " + long + ", " + long[:25] + "]", "a:\n- " + long + "\n- " + long + "\n- " + long[:25]},
		"a line that is just not":      {"a: [" + long + ", " + long + ", " + long[:24] + "]", "a: [" + long + ", " + long + ", " + long[:24] + "]"},
		"a mapping as first of a list": {"[{a: 1}]", "- a: 1"},
		"an empty mapping of a list":   {"[{}, [], 1]", "- {}\n- []\n- 1"},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := ParseYAML("f", []byte(tt.text))
			require.NoError(t, err)
			got := string(root.Print())
			assert.Equal(t, tt.want+"\n", got)
			again, err := ParseYAML("f", []byte(got))
			require.NoError(t, err)
			withoutPositions(root)
			withoutPositions(again)
			assert.Equal(t, outline(root, ""), outline(again, ""))
			assert.Equal(t, outline(root, ""), outline(root.Clone(), ""))
		})
	}
	assert.Nil(t, (*Node)(nil).Clone())
}

// TestWhichTextNeedsQuotes prints texts of one and two characters with every byte: what is printed
// means the same text, and is quoted only where it needs to be.
func TestWhichTextNeedsQuotes(t *testing.T) {
	plain := map[bool]string{}
	for c := range 256 {
		for first, text := range map[bool]string{true: string([]byte{byte(c)}), false: "a" + string([]byte{byte(c)}) + "b"} {
			n := &Node{Kind: Mapping, Pairs: []Pair{{Word("k"), &Node{Kind: Sequence, Items: []*Node{Word(text), Word("z")}}}}}
			printed := n.Print()
			if !strings.Contains(string(printed), `"`) {
				plain[first] += text[len(text)/2 : len(text)/2+1]
			}
			if c >= 0x80 {
				continue // bytes that are no text: only escapes, which YAML reads as characters
			}
			root, err := ParseYAML("f", printed)
			require.NoError(t, err, "%q", printed)
			assert.Equal(t, text, root.Get("k").Items[0].Text, "%q", printed)
		}
	}
	const words = "$./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
	assert.Equal(t, words, plain[true])
	assert.Equal(t, " !$'()*+-./0123456789;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz|", plain[false])
	for text, want := range map[string]bool{"": false, " a": false, "a ": false, "-": false, "- a": false, "-a": true, "-1": true, "+1": false, "a b": true} {
		assert.Equal(t, want, plainScalar(text), "%q", text)
	}
	assert.Equal(t, `"é"`, quoted("é"))
	assert.Equal(t, `"\xff\x7f\x1f ~\"\\"`, quoted("\xff\x7f\x1f ~\"\\"))
	assert.Equal(t, "!hex \"0aff\"", HexBytes([]byte{10, 255}).scalarText())
}

// TestMembersAreSet in a mapping, by plain keys and by keys with tags.
func TestMembersAreSet(t *testing.T) {
	n := Word("x")
	n.Put("a", Word("1"))
	n.Put("b", Word("2"))
	n.Put("a", Word("3"))
	assert.Equal(t, "a: 3\nb: 2\n", string(n.Print()))
	n.PutKey(HexBytes([]byte{1}), Word("4"))
	n.PutKey(Quote("01"), Word("5"))
	n.PutKey(HexBytes([]byte{1}), Word("6"))
	n.PutKey(HexBytes([]byte{2}), Word("7"))
	assert.Equal(t, "a: 3\nb: 2\n!hex \"01\": 6\n\"01\": 5\n!hex \"02\": 7\n", string(n.Print()))
	assert.True(t, n.HasKey(HexBytes([]byte{2})))
	assert.False(t, n.HasKey(Quote("02")))
	assert.False(t, n.HasKey(HexBytes([]byte{3})))
	for _, key := range []string{"b", "01", "02"} {
		n.Drop(key)
	}
	assert.Equal(t, "a: 3\n", string(n.Print()))
	n.Child("a").Put("c", Word("1"))
	n.Child("a").Put("d", Word("2"))
	assert.Equal(t, "a:\n  c: 1\n  d: 2\n", string(n.Print()))
	only := Word("x")
	only.PutKey(Word("k"), Word("v"))
	assert.Equal(t, "k: v\n", string(only.Print()))
}

// TestAliases and merge keys, and what is wrong with them.
func TestAliases(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"an alias":                {"a: &x {b: 1}\nc: *x\n", "a:\n  b: 1\nc:\n  b: 1\n"},
		"an unknown one":          {"a: &x 1\nc: *y\n", `!unknown anchor "y"`},
		"a merged mapping":        {"a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3\n", "a:\n  b: 1\n  c: 2\nd:\n  c: 3\n  b: 1\n"},
		"two of them":             {"a: &x {b: 1}\ne: &y {b: 2, f: 3}\nd:\n  <<: [*x, *y]\n", "a:\n  b: 1\ne:\n  b: 2\n  f: 3\nd:\n  b: 1\n  f: 3\n"},
		"a merged number":         {"a: &x 1\nd:\n  <<: *x\n", "!want a mapping or a list of mappings"},
		"a number among them":     {"a: &x {b: 1}\nd:\n  <<: [*x, 1]\n", "!want a mapping or a list of mappings"},
		"a key twice":             {"a: 1\nb: 2\na: 3\n", `!"a" was already set at line 1`},
		"a key that is nothing":   {"null: 1\n", "null: 1\n"},
		"a key that is a mapping": {"? {a: 1}\n: 2\n", "!found an invalid key"},
		"two tags":                {"a: &x !y 1\nb: !z *x\n", "!a second tag: !y after !z"},
		"a tag of an alias":       {"a: &x 1\nb: !z *x\n", "a: 1\nb: !z 1\n"},
		"two documents":           {"a: 1\n---\nb: 2\n", "!a second document"},
		"no document":             {"# nothing\n", "!the file is empty"},
		"too many values":         {bomb(), "!values, counting those repeated by aliases"},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := ParseYAML("f", []byte(tt.text))
			if text, refused := strings.CutPrefix(tt.want, "!"); refused {
				assert.ErrorContains(t, err, text)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(root.Print()))
		})
	}
	root, err := ParseYAML("f", []byte("a: 1\nb: *no\nc: [1, *no]\n"))
	assert.ErrorContains(t, err, "unknown anchor")
	require.NotNil(t, root, "what is right is kept")
	assert.Equal(t, "a: 1\nc: [1]\n", string(root.Print()))
	assert.True(t, root.Lost)
	assert.True(t, root.Get("c").Lost)
}

// bomb has ten times as many values with each line.
func bomb() string {
	text := "a0: &a0 x\n"
	for i := range 8 {
		at, next := string(rune('0'+i)), string(rune('1'+i))
		text += "a" + next + ": &a" + next + " [" + strings.Repeat("*a"+at+", ", 9) + "*a" + at + "]\n"
	}
	return text
}
