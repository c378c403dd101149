package btf

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Messages name a value of the wrong form as people write it, not by its Go type.
func TestValuesAreNamedInWords(t *testing.T) {
	for want, v := range map[string]any{
		"nothing": nil, "true or false": true, "a number": uint64(1), "a string": "x", "a list": []any{1}, "members": map[string]any{"a": 1},
	} {
		assert.Equal(t, want, inWords(v))
	}
	assert.Equal(t, "a number", inWords(1.5))
	assert.Equal(t, "members", inWords(struct{}{}))
}
