package testsize

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLongTakesAll(t *testing.T) {
	t.Setenv("BPFRUN_LONG", "1")
	assert.True(t, Long())
	assert.Equal(t, 3, Pick(3, 2, 1))
	t.Setenv("BPFRUN_LONG", "")
	assert.False(t, Long())
	want := 2
	if testing.Short() {
		want = 1
	}
	assert.Equal(t, want, Pick(3, 2, 1))
}
