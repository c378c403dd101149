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

// TestParsedFormatsAreBounded: a program that makes up formats does not grow the table of parsed ones without end.
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
