package grammar

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A file in pieces means what it means as a whole, positions included.
func TestPiecesMeanTheSame(t *testing.T) {
	files, err := filepath.Glob("../../../examples/*/*.yaml")
	require.NoError(t, err)
	split := 0
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		whole, err := parseWhole(name, data)
		require.NoError(t, err, name)
		for _, lines := range []int{1, 3, 1000} {
			if root := parsePieces(name, data, lines); root != nil {
				require.Equal(t, whole, root, "%s in pieces of %d lines", name, lines)
				split++
			}
		}
	}
	assert.Greater(t, split, 60)
}

func TestWhatIsSplit(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		pieces int // 0: parsed as a whole
	}{
		"at column 0":              {"object: a\nruns:\n- prog: a\n  args: {x: 1}\n# comment\n\n- prog: b\n- prog: c\nsequence: [a, b]\n", 3},
		"indented":                 {"runs:\n  - prog: a\n\n  - prog: b\n", 2},
		"lists inside":             {"runs:\n- prog: a\n  elements:\n  - x: 1\n  - x: 2\n", 1},
		"no newline at the end":    {"runs:\n- prog: a\n- prog: b", 2},
		"carriage returns":         {"runs:\r\n- prog: a\r\n- prog: b\r\n", 2},
		"a comment at the key":     {"runs: # all\n- prog: a\n", 1},
		"text blocks":              {"runs:\n- prog: a\n  name: |\n    - prog: x\n    runs\n- prog: b\n", 0},
		"a tag in the list":        {"runs:\n- prog: a\n- prog: !\nx: 00\n", 0},
		"a tag after the list":     {"runs:\n- prog: a\n! x: 1\n", 0},
		"anchors":                  {"runs:\n- &a {prog: a}\n- *a\n", 0},
		"an anchor in a mapping":   {"objects: {x: &a 1}\nruns:\n- prog: a\n", 0},
		"two documents":            {"runs:\n- prog: a\n---\nruns: []\n", 0},
		"two lists":                {"runs:\n- prog: a\nruns:\n- prog: b\n", 0},
		"in flow style":            {"runs: [{prog: a}]\n", 0},
		"no runs":                  {"objects: {}\n", 0},
		"an empty list":            {"runs:\n", 0},
		"a mapping":                {"runs:\n  a: 1\n", 0},
		"a mistake":                {"runs:\n- prog: a\n- prog: [\n", 0},
		"a mistake after the runs": {"runs:\n- prog: a\nx: [\n", 0},
		"a key twice":              {"runs:\n- prog: a\n  prog: b\n", 0},
		"a string over two items":  {"runs:\n- prog: \"a\n- prog: b\"\n", 0},
		"a lone dash":              {"runs:\n- prog: a\n-\nx: 1\n", 0},
		"indented less":            {"runs:\n  - prog: a\n - prog: b\n", 0},
	} {
		root := parsePieces("f", []byte(c.text), 1)
		if c.pieces == 0 {
			assert.Nil(t, root, name)
			continue
		}
		whole, err := parseWhole("f", []byte(c.text))
		require.NoError(t, err, name)
		assert.Equal(t, whole, root, name)
		assert.Len(t, split([]byte(c.text), 1).pieces, c.pieces, name)
	}
}

// A large file with a mistake in its last run is parsed again as a whole, so that the message has
// the right place.
func TestMistakeInALargeFile(t *testing.T) {
	var b strings.Builder
	b.WriteString("runs:\n")
	n := 0
	for ; b.Len() < largeFile; n++ {
		fmt.Fprintf(&b, "- {prog: a, name: run %d, args: {filename: /etc/a-long-name-for-a-large-file}}\n", n)
	}
	root, err := ParseYAML("f", []byte(b.String()))
	require.NoError(t, err)
	require.Len(t, root.Pairs[0].Value.Items, n)
	last := root.Pairs[0].Value.Items[n-1]
	assert.Equal(t, Pos{"f", n + 1, 3}, last.Pos)

	_, err = ParseYAML("f", []byte(b.String()+"- {prog: a, prog: b}\n"))
	var e *Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, n+2, e.Line)
}

func FuzzPieces(f *testing.F) {
	f.Add([]byte("runs:\n- prog: a\n- prog: b\n  args: {x: 1}\nsequence: [a]\n"), uint8(1))
	f.Add([]byte("runs:\n  - {a: \"\n  - b: \"}\n  - x: 'x'\n"), uint8(1))
	f.Add([]byte("runs:\n- a: |\n   - x: 1\n- b: >-\n\n    y\n- c:\n"), uint8(2))
	f.Add([]byte("runs:\n- 0:\n! 0:"), uint8(1))
	f.Add([]byte("runs:\n- a: \n- b: !\nc: 00"), uint8(1))
	f.Add([]byte("runs:\n- 0: |\n\n- 0:"), uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, lines uint8) {
		if len(data) > 4096 || Bounded("f", data) != nil {
			return
		}
		root := parsePieces("f", data, int(lines))
		if root == nil {
			return
		}
		whole, err := parseWhole("f", data)
		require.NoError(t, err)
		withoutPositions(whole)
		withoutPositions(root)
		require.Equal(t, whole, root)
	})
}

// withoutPositions removes positions, which the YAML parser sometimes takes from what follows a
// value.
func withoutPositions(n *Node) {
	n.Pos = Pos{}
	for _, item := range n.Items {
		withoutPositions(item)
	}
	for _, p := range n.Pairs {
		withoutPositions(p.Key)
		withoutPositions(p.Value)
	}
}
