package visible

import (
	"bytes"
	"errors"
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
	} {
		assert.Equal(t, want, Text(text))
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
		"bytes \xff\xfe":                "bytes \xff\xfe",
	} {
		var b bytes.Buffer
		n, err := Writer{W: &b}.Write([]byte(text))
		require.NoError(t, err)
		assert.Equal(t, len(text), n)
		assert.Equal(t, want, b.String())
	}
}

// Without colours no style is one of ours.
func TestPlainWriterEscapesStyles(t *testing.T) {
	var b bytes.Buffer
	_, err := Writer{W: &b, Plain: true}.Write([]byte("\x1b[31mred\x1b[0m\n"))
	require.NoError(t, err)
	assert.Equal(t, `\x1b[31mred\x1b[0m`+"\n", b.String())
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestWriterFailsWithItsWriter(t *testing.T) {
	for _, text := range []string{"plain", "\x1b[2J"} {
		n, err := Writer{W: broken{}}.Write([]byte(text))
		assert.Zero(t, n)
		assert.Error(t, err)
	}
}
