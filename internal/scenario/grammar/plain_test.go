package grammar

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// samePlain fails if parsePlain reads a text that the YAML parser reads in another way or refuses.
func samePlain(t *testing.T, data []byte) (read bool) {
	t.Helper()
	root := parsePlain("f", data)
	if root == nil {
		return false
	}
	require.NoError(t, Bounded("f", data))
	whole, err := parseWhole("f", data)
	require.NoError(t, err, "%q", data)
	if !reflect.DeepEqual(whole, root) {
		require.Equal(t, outline(whole, ""), outline(root, ""), "%q", data)
		require.Fail(t, "nodes differ", "%q", data)
	}
	return true
}

// outline writes a node with all that is in it, which a Stringer would hide.
func outline(n *Node, indent string) string {
	s := fmt.Sprintf("%s%d:%d %d %q %v %s %d %v\n", indent, n.Line, n.Col, n.Kind, n.Text, n.Quoted, n.Tag, n.weight, n.Lost)
	for _, item := range n.Items {
		s += outline(item, indent+" - ")
	}
	for _, p := range n.Pairs {
		s += outline(p.Key, indent+" ? ") + outline(p.Value, indent+" : ")
	}
	return s
}

// yamlFiles calls do for each YAML file of the repository.
func yamlFiles(t testing.TB, do func(path string, data []byte)) {
	for _, dir := range []string{"../../../examples", "../../../testdata", "../../../cmd/bpfrun/testdata", "../testdata", "../../../docs"} {
		require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
				return err
			}
			data, err := os.ReadFile(path)
			if err == nil && len(data) <= MaxFile {
				do(path, data)
			}
			return err
		}))
	}
}

// Most files are plain, and mean the same to both parsers, also when a byte is changed or a line is
// left out.
func TestPlainIsTheSame(t *testing.T) {
	files, read, changed := 0, 0, 0
	yamlFiles(t, func(path string, data []byte) {
		files++
		if samePlain(t, data) {
			read++
		}
		if len(data) > 4096 {
			data = data[:4096]
		}
		lines := strings.SplitAfter(string(data), "\n")
		for i := range lines {
			left := strings.Join(lines[:i], "") + strings.Join(lines[i+1:], "")
			if i%8 == 0 && samePlain(t, []byte(left)) {
				changed++
			}
		}
		for i := files % 397; i < len(data); i += 397 {
			for _, c := range " -:,[]{}'\"#!a\n" {
				other := append([]byte{}, data...)
				other[i] = byte(c)
				if samePlain(t, other) {
					changed++
				}
			}
		}
	})
	assert.Greater(t, read*10, files*6, "%d of %d files", read, files)
	assert.Greater(t, changed, 1000)
	t.Logf("%d of %d files, %d changed texts", read, files, changed)
}

func TestWhatIsPlain(t *testing.T) {
	for _, c := range []struct {
		text  string
		plain bool
	}{
		{"a: b\nc:\n- x\n- y: 1\n  z: 2\n-\n  q: r\nd: {a: 1, b: [x, y], c: !t {u: v}}\n", true},
		{"a:\n  - 1\n  - {a: b,\n     c: d}\nb: null\nc: ~\nd:\ne: 'it''s' # c\nf: \"x y\"\n", true},
		{"- - a\n  - b\n-\n- [a, b]\n-     - 1\n", true},
		{"a: b c  d   # com\n'q': 1\n\"w\": 2\n4: 5\nx: a#b\ny: http://x:80/\nz: -1\ne: -EACCES\n", true},
		{"a: {}\nb: []\nc: { x: {} , y: [ ] }\n", true},
		{"a: $x\nb: ${x}\nc: a[0]\n", true},
		{"# only\na:\n  b:\n    c: 1\n  # com\n  d: 2\n# x\n\ne: 3", true},
		{"a: &x 1\n", false}, {"a: *x\n", false}, {"a: |\n  b\n", false}, {"a: b\n  c\n", false}, {"a: \"x\\n\"\n", false},
		{"<<: {a: 1}\n", false}, {"x<<: 1\n", false}, {"a: !t null\n", false}, {"a: [!t ~]\n", false}, {"a: !t\nb: 1\n", false}, {"a: 1\na: 2\n", false}, {"a:\n-\nb: 1\n", false}, {"- - 00\n - 00", false}, {"--- a\n", false}, {"a: 1\n b: 2\n", false},
		{"a: x: y\n", false}, {"a:\tb\n", false}, {"a: b\r\n", false}, {"a: \u00e9\n", false}, {"", false}, {"# c\n", false}, {"x\n", false},
		{"{a: 1}\n", false}, {"a: [1,\n2]\n", false}, {"a: [x, y,]\n", false}, {"a: {b: , c: 1}\n", false}, {"a: [b: c]\n", false}, {"a: {b:1}\n", false},
		{"a: [" + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "]\n", false},
	} {
		assert.Equal(t, c.plain, samePlain(t, []byte(c.text)), "%q", c.text)
	}
}

// Texts of the tokens of YAML, and of those that parsePlain must leave to the YAML parser.
func TestPlainTokens(t *testing.T) {
	tokens := strings.Split("a|b c|key|: |:|:\n|- |-|-\n|\n|\n  |\n    |\n- |\n  - |\n#c\n| #c\n|#| |  |{|}|[|]|,|, |{a: 1}|[1, 2]|'x'|\"y\"|'|\"|'it''s'|!t |!t|!!str |null|~|1|0x1F|-1|1_0|.5|1e3|true|.inf|<<: |<<|&a |*a|a: |b: |c: |\na: |\nb: |\n  c: |\n  d: |\n    e: 1|\n  - f: |x: y|?|? |%|---\n|...\n|@x|`|=|~x|$v|a#b|a:b|http://x|()|\\|1: |'k': |\"k\": |null: |\t|\r\n", "|")
	r := rand.New(rand.NewPCG(1, 2))
	read, texts := 0, 20_000
	if testing.Short() {
		texts = 2000
	}
	for range texts {
		var b strings.Builder
		for range 1 + r.IntN(14) {
			b.WriteString(tokens[r.IntN(len(tokens))])
		}
		if r.IntN(2) == 0 {
			b.WriteByte('\n')
		}
		if samePlain(t, []byte(b.String())) {
			read++
		}
	}
	assert.Greater(t, read, texts/100)
	t.Logf("%d of %d texts", read, texts)
}

// FuzzPlain: what parsePlain reads is what the YAML parser reads.
func FuzzPlain(f *testing.F) {
	files, err := filepath.Glob("../../../examples/*/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal("no examples", err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{"a: b\n", "- a\n- b: c\n  d: [e, {f: !g h}]\n", "a:\n- 'b''c'\n- \"d\" # e\nf: ~\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 1<<16 {
			samePlain(t, data)
		}
	})
}

// TestPlainTextsAreRead: files as people write them do not need the YAML parser, and these few
// texts do.
func TestPlainTextsAreRead(t *testing.T) {
	for _, text := range []string{
		"a: 1\n", "a: !pt_regs {ip: 1}\n", "a: !b2 [1, 2]\n", "a: !hex 00\n", "_a: _b\n", "A: Z\n", "z9: 0\n", "a: $x\n", "a: /x\n", "a: +1\n", "a: (x)\n", "a: =x\n", "a: -1\n", "a: .5\n",
		"'a': 1\n", "\"a\": 1\n", "'a':\n  b: 1\n", "a: 'b'\n", "a: 'b' # c\n", "a: ['b', \"c\"]\n", "a: {'b': 'c'}\n", "a: {b: 'c', d: \"e\"}\n", "a: 'b''c'\n", "a: ''\n", "a: null\n", "a: ~\n", "- 1\n- 2\n",
		"- a: 1\n  b: 2\n", "# a\nb: 1\n", "a: b#c\n", "a: b # c\n", "a: b:c\n",
	} {
		assert.True(t, samePlain(t, []byte(text)), "%q", text)
	}
	for _, text := range []string{
		"a: !x-y 1\n", "a: ! 1\n", "a: !x\n", "a: !x !y 1\n", "a: !x null\n", "a: \"\\n\"\n", "a: 'b'c\n", "a: 'b\n  c'\n", "a: [b c\n  d]\n", "a: &b 1\n", "a: *b\n", "a: |\n  b\n", "a: >\n  b\n", "? a\n: b\n", "a: @b\n",
		"a: b : c\n", "a: b<<c\n", "---\na: 1\n", "a:\n", "a: # b\n  - 1\n", "a: %b\n", "a: \tb\n",
	} {
		assert.False(t, samePlain(t, []byte(text)), "%q", text)
	}
}
