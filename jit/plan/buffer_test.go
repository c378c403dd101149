package plan

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBuffer: code continues in larger memory when that it was given is used up.
func TestBuffer(t *testing.T) {
	b := Buffer{}
	b.Start(make([]byte, 0, 3))
	want := []byte{}
	for i := range 3000 {
		b.Room(16)
		b.Put(uint64(i)|0xff<<56, 3)
		b.Put32(uint32(i) << 8)
		b.Append([]byte{1, 2})
		want = append(want, byte(i), byte(i>>8), 0, 0, byte(i), byte(i>>8), 0, 1, 2)
		require.Equal(t, len(want), b.Len())
	}
	require.Equal(t, want, b.Code())
	b.Start(b.Code())
	require.Zero(t, b.Len())
}
