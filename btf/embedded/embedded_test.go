package embedded

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
)

func TestSpec(t *testing.T) {
	s, err := Spec()
	require.NoError(t, err)
	assert.Equal(t, 113666, s.NumTypes())
	assert.Equal(t, Name, s.SourceName())
	assert.Equal(t, 8, s.PointerSize())
	task, ok := s.Find(btf.KindStruct, "task_struct")
	require.True(t, ok)
	assert.EqualValues(t, 9792, task.Size)
	f, err := s.ResolvePath(task.ID, "comm")
	require.NoError(t, err)
	assert.EqualValues(t, 2976, f.Offset())
}

func TestSpecIsShared(t *testing.T) {
	var wg sync.WaitGroup
	specs := make([]*btf.Spec, 8)
	for i := range specs {
		wg.Go(func() { specs[i], _ = Spec() })
	}
	wg.Wait()
	for _, s := range specs {
		assert.Same(t, specs[0], s)
	}
}

func TestProvenance(t *testing.T) {
	s, err := Spec()
	require.NoError(t, err)
	sum := sha256.Sum256(s.Raw())
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	assert.Contains(t, string(readme), hex.EncodeToString(sum[:]))
}

func TestDigest(t *testing.T) {
	sum := sha256.Sum256(compressed)
	assert.Equal(t, digest, hex.EncodeToString(sum[:]))
}

func BenchmarkDecompress(b *testing.B) {
	for b.Loop() {
		if _, err := btffile.LoadBytes(Name, compressed, nil); err != nil {
			b.Fatal(err)
		}
	}
}
