package exitcode_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/exitcode"
)

func TestWorse(t *testing.T) {
	for i, a := range exitcode.Precedence {
		for _, b := range exitcode.Precedence[i:] {
			assert.Equal(t, a, exitcode.Worse(a, b))
			assert.Equal(t, a, exitcode.Worse(b, a))
		}
	}
}

type refused struct{ error }

func (refused) Exit() int { return exitcode.Load }

func TestOf(t *testing.T) {
	plain := errors.New("plain")
	_, ok := exitcode.Of(plain)
	assert.False(t, ok)
	_, ok = exitcode.Of(nil)
	assert.False(t, ok)
	code, ok := exitcode.Of(fmt.Errorf("opening: %w", refused{plain}))
	assert.True(t, ok)
	assert.Equal(t, exitcode.Load, code)
}
