package ceiling

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

var sink []byte

// recorder notes that a test failed instead of failing.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Fatalf(string, ...any) { r.failed = true }

func TestCheckNoticesAllocations(t *testing.T) {
	r := recorder{TB: t}
	Check(&r, 1<<20, func() { sink = make([]byte, 1<<10) })
	assert.False(t, r.failed)
	Check(&r, 1<<20, func() {
		for range 40 {
			sink = make([]byte, 64<<10)
		}
	})
	assert.True(t, r.failed, "freed memory counts too")
}

func TestLimitEndsWithTheTest(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Run("limited", func(t *testing.T) {
		Limit(t, 1<<30)
		assert.Equal(t, int64(1<<30), debug.SetMemoryLimit(-1))
		Limit(t, 2<<30)
		assert.Equal(t, int64(1<<30), debug.SetMemoryLimit(-1), "a lower limit stays")
	})
	assert.Equal(t, before, debug.SetMemoryLimit(-1))
}
