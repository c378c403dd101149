package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestGuestTextCannotControlTheTerminal(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext, é, 日本":      "plain\ttext, é, 日本",
		"\x1b[2Jgone":             `\x1b[2Jgone`,
		"a\rb\x07\x00":            `a\x0db\x07\x00`,
		"\x7f":                    `\x7f`,
		"\u009b31m":               `\xc2\x9b31m`,
		"broken \xff\xfe":         `broken \xff\xfe`,
		"\x1b]0;title\x07 normal": `\x1b]0;title\x07 normal`,
	} {
		assert.Equal(t, want, visible(text))
	}
}
