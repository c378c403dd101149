package clock

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestClock(t *testing.T) {
	c := New(Config{})
	assert.EqualValues(t, 3600e9, c.Boot())
	assert.EqualValues(t, 58*60e9, c.Mono())
	assert.Equal(t, c.Real()+37e9, c.TAI())
	c.Tick()
	assert.EqualValues(t, 3600e9+1000, c.Boot())
	assert.EqualValues(t, uint32(c.Jiffies()-uint64(initialJiffies)), c.Mono()/4e6)
	assert.Zero(t, c.Coarse()%4e6)
	c = New(Config{Boot: 5, Step: 2})
	c.Tick()
	assert.EqualValues(t, 7, c.Mono())
	c = New(Config{Frozen: true})
	c.Tick()
	assert.Equal(t, uint64(defaultMono), c.Mono())
}
