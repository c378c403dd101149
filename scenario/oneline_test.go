package scenario

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Keys next to each other are not nested, keys inside each other are.
func TestManyKeysOnALineAreNotNested(t *testing.T) {
	assert.NoError(t, shallow([]byte("runs: ["+strings.Repeat("{prog: a}, ", 20000)+"]")))
	assert.Error(t, shallow([]byte(strings.Repeat("a: ", 20000))))
	assert.Error(t, shallow([]byte("[a, "+strings.Repeat("b: ", 20000))))
	assert.Error(t, shallow([]byte(strings.Repeat("[", 20000))))
}
