package helpers

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestParsedFormatsAreBounded: a program that makes up formats does not grow the table of parsed ones without end.
func TestParsedFormatsAreBounded(t *testing.T) {
	r := newRig(t, newest)
	for i := range 10 * maxFormats {
		text, errno := r.env.formats.parse(r.env, fmt.Sprintf("%d %%d", i)).render(r.env, []uint64{7})
		require.Zero(t, errno)
		require.Equal(t, fmt.Sprintf("%d 7", i), text)
		require.LessOrEqual(t, len(r.env.formats), maxFormats)
	}
	again := r.env.formats.parse(r.env, "again %d")
	assert.Same(t, again, r.env.formats.parse(r.env, "again %d"))
}
