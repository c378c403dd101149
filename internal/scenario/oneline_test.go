package scenario

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A scenario with such a line runs, or says at once what is wrong with it. The time is far from the
// square of the length.
func TestLongLinesAreReadOrRefusedQuickly(t *testing.T) {
	const many = 1 << 18
	start := time.Now()
	f, err := Parse("f.yaml", []byte(`description: "`+strings.Repeat("a: ", many)+"\"\nruns: [{prog: a}]\n"))
	require.NoError(t, err)
	assert.Len(t, f.Description, 3*many)
	_, err = Parse("f.yaml", []byte("description: "+strings.Repeat("a: ", many)+"\nruns: [{prog: a}]\n"))
	assert.ErrorContains(t, err, "needs quotes")
	_, err = Parse("f.yaml", []byte("description: "+strings.Repeat("[", many)+"\nruns: [{prog: a}]\n"))
	assert.ErrorContains(t, err, "nested more than 64 deep")
	assert.Less(t, time.Since(start), time.Minute) // hours, with the square
}
