//go:build linux && (amd64 || arm64)

package exec

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestOtherArgumentsAreNoChild: the word alone, which a user may type, starts nothing either.
func TestOtherArgumentsAreNoChild(t *testing.T) {
	for _, args := range [][]string{nil, {"run"}, {"run", "a", "b", "c"}, {childWord}, {childWord, "root", "/bin/true"}} {
		assert.False(t, Child(args), "%q", args)
	}
}
