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

func TestWideTakesWhatEveryChangeMustPass(t *testing.T) {
	for _, c := range []struct {
		wide, long string
		want       int
	}{{"", "", 1}, {"1", "", 2}, {"", "1", 2}} {
		t.Setenv("BPFRUN_WIDE", c.wide)
		t.Setenv("BPFRUN_LONG", c.long)
		assert.Equal(t, c.want == 2, Wide())
		assert.Equal(t, c.want, Sample(2, 1))
		assert.Equal(t, Sample([]int{5, 6, 7, 8}, []int{5, 8}), Some(3, []int{5, 6, 7, 8}))
		assert.Empty(t, Some(3, []int(nil)))
	}
}
