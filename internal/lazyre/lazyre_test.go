package lazyre

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestExpressionsAreThoseOfRegexp(t *testing.T) {
	r := New(`^(\d+): (.*)$`)
	assert.True(t, r.MatchString("3: exit"))
	assert.False(t, r.MatchString("exit"))
	assert.Equal(t, []string{"3: exit", "3", "exit"}, r.FindStringSubmatch("3: exit"))
	assert.Equal(t, "3: exit", r.FindString("3: exit"))
}

func TestMistakesPanicAtTheFirstUse(t *testing.T) {
	r := New("(")
	assert.Panics(t, func() { r.MatchString("") })
}
