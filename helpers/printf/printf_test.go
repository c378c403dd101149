package printf

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// nowhere is a source without memory.
type nowhere struct{ Source }

func (nowhere) TakesUTF8() bool { return true }

// TestParsedFormatsAreBounded: a program that makes up formats does not grow the table of parsed
// ones without end.
func TestParsedFormatsAreBounded(t *testing.T) {
	p := Printer{Source: nowhere{}}
	for i := range 10 * maxFormats {
		text, errno := p.Print(fmt.Sprintf("%d %%d", i), []uint64{7})
		require.Zero(t, errno)
		require.Equal(t, fmt.Sprintf("%d 7", i), text)
		require.LessOrEqual(t, len(p.parsed), maxFormats)
	}
	again := p.parse("again %d")
	assert.Same(t, again, p.parse("again %d"))
}

// TestValidFormats: the verifier asks before a program runs what bpf_bprintf_prepare answers later.
func TestValidFormats(t *testing.T) {
	for _, c := range []struct {
		format string
		args   int
		want   bool
	}{
		{"%d %u", 2, true},
		{"%d %u", 1, false},
		{"%d", 3, true}, // arguments may be left over
		{"100%%", 0, true},
		{"%", 1, false},
		{"%s.", 1, true},
		{"%sx", 1, false},
		{"%pks", 1, true},
		{"%pksx", 1, false},
		{"%pB", 1, true},
		{"%pb", 1, false},
		{"%pI4", 1, true},
		{"%pI5", 1, false},
		{"%lld", 1, true},
		{"%llld", 1, false},
		{"%08x", 1, true},
		{"\x01", 0, false},
	} {
		assert.Equal(t, c.want, Valid(c.format, c.args, false), "%q", c.format)
	}
	assert.False(t, Valid("ä", 0, false))
	assert.True(t, Valid("ä", 0, true))
}
