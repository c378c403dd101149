package conformance

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/loader"
)

// TestCompressedObjects: objects that are there only compressed are found, in whatever words the
// command reports missing files.
func TestCompressedObjects(t *testing.T) {
	worded := errors.New("no such object")
	open := func(path string) (*loader.Object, error) {
		obj, err := loader.Open(path)
		if err != nil {
			return nil, worded
		}
		return obj, nil
	}
	for _, path := range []string{"testdata/cases/ctx_more.o", "testdata/cases/arena.o"} {
		obj, err := openObject(path, open)
		require.NoError(t, err, path)
		assert.NotEmpty(t, obj.Programs, path)
	}
	_, err := openObject("testdata/cases/nonesuch.o", open)
	assert.ErrorIs(t, err, worded)
}
