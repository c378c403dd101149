package since

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestKernelsNamesUpdates: the words follow the rows, including backports.
func TestKernelsNamesUpdates(t *testing.T) {
	assert.Regexp(t, `^Linux 6\.3 and later \(and 5\.10 from 5\.10\.\d+ on, 5\.15 from 5\.15\.\d+ on, 6\.1 from 6\.1\.\d+ on\)$`, UninitStack.Kernels())
	assert.Equal(t, "Linux 6.7 and later (and 6.6)", AnyBackEdge.Kernels())
	assert.Equal(t, "Linux 6.3 and later", IdentityPairs.Kernels())
}
