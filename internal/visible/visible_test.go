package visible

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTextCannotControlTheTerminal(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext, é, 日本":      "plain\ttext, é, 日本",
		"\x1b[2Jgone":             `\x1b[2Jgone`,
		"\x1b[31mred":             `\x1b[31mred`,
		"a\rb\x07\x00":            `a\x0db\x07\x00`,
		"\x7f":                    `\x7f`,
		"\u009b31m":               `\xc2\x9b31m`,
		"broken \xff\xfe":         `broken \xff\xfe`,
		"\x1b]0;title\x07 normal": `\x1b]0;title\x07 normal`,
		"two\nlines\r\n":          `two\x0alines\x0d\x0a`,
		"raw \x9b31m":             `raw \x9b31m`,
		"a\u202eb\u2066c\u200fd":  `a\xe2\x80\xaeb\xe2\x81\xa6c\xe2\x80\x8fd`,
		"zero\u200bwidth\ufeff":   `zero\xe2\x80\x8bwidth\xef\xbb\xbf`,
		"\u2028\u2029\u0085":      `\xe2\x80\xa8\xe2\x80\xa9\xc2\x85`,
		"\ufffd is a character":   "\ufffd is a character",
	} {
		assert.Equal(t, want, Text(text))
		assert.Equal(t, want, Text(want), "escaped text is visible")
	}
}

// The net below all output: lines, tabs and styles pass, nothing else that terminals act on.
func TestWriterLetsStylesPass(t *testing.T) {
	for text, want := range map[string]string{
		"two\nlines\tand é\n":           "two\nlines\tand é\n",
		"\x1b[31mred\x1b[0m":            "\x1b[31mred\x1b[0m",
		"\x1b[8mhidden":                 `\x1b[8mhidden`,
		"\x1b[30mblack on black\x1b[0m": `\x1b[30mblack on black` + "\x1b[0m",
		"\x1b[31;8m":                    `\x1b[31;8m`,
		"over\rwritten":                 `over\x0dwritten`,
		"\x1b[2K\x1b]52;c;AAAA\x07":     `\x1b[2K\x1b]52;c;AAAA\x07`,
		"\u009b2J":                      `\xc2\x9b2J`,
		"\x1b":                          `\x1b`,
		"bytes \xff\xfe":                `bytes \xff\xfe`,
		"raw \x9b2J":                    `raw \x9b2J`,
		"turned \u202e":                 `turned \xe2\x80\xae`,
	} {
		var b bytes.Buffer
		w := Writer{W: &b}
		n, err := w.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, w.Flush())
		assert.Equal(t, len(text), n)
		assert.Equal(t, want, b.String())
		if strings.Contains(text, "\x1b") {
			continue // sequences are written at once
		}
		b.Reset()
		for i := range len(text) {
			_, err := w.Write([]byte{text[i]})
			require.NoError(t, err)
		}
		require.NoError(t, w.Flush())
		assert.Equal(t, want, b.String(), "byte by byte")
	}
}

// Without colours no style is one of ours.
func TestPlainWriterEscapesStyles(t *testing.T) {
	var b bytes.Buffer
	_, err := (&Writer{W: &b, Plain: true}).Write([]byte("\x1b[31mred\x1b[0m\n"))
	require.NoError(t, err)
	assert.Equal(t, `\x1b[31mred\x1b[0m`+"\n", b.String())
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestWriterFailsWithItsWriter(t *testing.T) {
	for _, text := range []string{"plain", "\x1b[2J"} {
		_, err := (&Writer{W: broken{}}).Write([]byte(text))
		assert.Error(t, err)
	}
}

// Only the format makes lines and columns, whatever the arguments are.
func TestFprintfKeepsArgumentsOnTheirLine(t *testing.T) {
	hostile := "a\nb\u202e\x9b"
	const seen = `a\x0ab\xe2\x80\xae\x9b`
	type name string
	for _, arg := range []any{hostile, errors.New(hostile), fmt.Errorf("%w", errors.New(hostile)), name(hostile), bytes.NewBufferString(hostile)} {
		assert.Equal(t, "x: "+seen+"\n", Sprintf("x: %v\n", arg), "%T", arg)
		assert.Equal(t, "x: "+seen+"\n", Sprintf("x: %s\n", arg), "%T", arg)
	}
	assert.Equal(t, "["+seen+" 2]", Sprintf("%v", []any{hostile, 2}))
	assert.Equal(t, `"a\nb\u202e\x9b"`, Sprintf("%q", hostile))
	assert.Equal(t, "   7 |ab  | true 0x10", Sprintf("%4d |%-*s| %v %#x", 7, 4, "ab", true, 16))
	assert.Equal(t, "\x1b[31mred\x1b[0m", Sprintf("%s", "\x1b[31mred\x1b[0m"))
	assert.Equal(t, `\x1b[2J`, Sprintf("%s", "\x1b[2J"))
	assert.Equal(t, "two\nlines", Sprintf("%s", Lines("two\nlines")))
}

// The text of a document changes, its values do not.
func TestJSONIsVisibleAndTheSame(t *testing.T) {
	for r := range rune(0x3000) {
		checkJSON(t, "a"+string(r)+"b")
	}
	checkJSON(t, "tag \U000e0041, \x7f, broken \xff")
}

func FuzzJSON(f *testing.F) {
	f.Add("\x7f\u202e\x9b\n")
	f.Fuzz(checkJSON)
}

func checkJSON(t *testing.T, text string) {
	var b bytes.Buffer
	require.NoError(t, json.NewEncoder(JSON{&b}).Encode(map[string]string{text: text}))
	var back map[string]string
	require.NoError(t, json.Unmarshal(b.Bytes(), &back), "%q", b.String())
	valid := strings.ToValidUTF8(text, "\ufffd")
	for k, v := range back {
		require.Equal(t, k, v)
		if !strings.ContainsRune(valid, '\ufffd') {
			require.Equal(t, text, v)
		}
	}
	var shown bytes.Buffer
	w := &Writer{W: &shown, Plain: true}
	_, err := io.Copy(w, bytes.NewReader(b.Bytes()))
	require.NoError(t, err)
	require.NoError(t, w.Flush())
	require.Equal(t, b.String(), shown.String(), "nothing is left to escape")
}
