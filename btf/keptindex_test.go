package btf_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
)

// TestIndexFindsWhatParsingFinds: with a kept index, every type is where it was, and every name
// leads to the same types in the same order, in either byte order.
func TestIndexFindsWhatParsingFinds(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		b := btf.NewBuilder(nil)
		b.AddSpec(kernel(t))
		raw, err := b.Marshal(order)
		require.NoError(t, err)
		parsed, err := btf.Parse(raw, nil)
		require.NoError(t, err)
		index := parsed.Index()
		for _, shift := range []int{0, 1} { // the second one cannot be used in place
			s, ok := btf.LoadIndexed("kernel", raw, append(make([]byte, shift), index...)[shift:])
			require.True(t, ok)
			assert.Equal(t, "kernel", s.SourceName())
			assert.Equal(t, parsed.PointerSize(), s.PointerSize())
			assert.Equal(t, order, s.ByteOrder())
			require.Equal(t, parsed.NumTypes(), s.NumTypes())
			for id := range btf.ID(parsed.NumTypes()) {
				name := parsed.Name(id)
				require.Equal(t, name, s.Name(id))
				if id%5 == 0 {
					require.Equal(t, parsed.MustType(id), s.MustType(id))
					require.Equal(t, parsed.Named(btf.EssentialName(name)), s.Named(btf.EssentialName(name)), name)
				}
			}
			assert.Empty(t, s.Named("no_such_name"))
		}
	}
}

// TestIndexOfOtherTypesIsNone: what is no index of these bytes is refused.
func TestIndexOfOtherTypesIsNone(t *testing.T) {
	spec := func(fields int) *btf.Spec {
		b := btf.NewBuilder(nil)
		i := b.Int("int", 4, btf.IntSigned)
		for range fields {
			b.Struct("s", 4, btf.Member{Name: "m", Type: i})
		}
		s, err := b.Spec(binary.LittleEndian)
		require.NoError(t, err)
		return s
	}
	s := spec(3)
	index := s.Index()
	_, ok := btf.LoadIndexed("", s.Raw(), index)
	require.True(t, ok)
	other := func(change func(x []byte) []byte) []byte { return change(append([]byte(nil), index...)) }
	tests := map[string]struct{ raw, index []byte }{
		"of others":                {spec(4).Raw(), index},
		"missing":                  {s.Raw(), nil},
		"cut":                      {s.Raw(), index[:len(index)-4]},
		"longer":                   {s.Raw(), other(func(x []byte) []byte { return append(x, 0, 0, 0, 0) })},
		"of another version":       {s.Raw(), other(func(x []byte) []byte { x[0]++; return x })},
		"with other kinds":         {s.Raw(), other(func(x []byte) []byte { x[4]--; return x })},
		"with another hash":        {s.Raw(), other(func(x []byte) []byte { x[8]++; return x })},
		"with half a bucket":       {s.Raw(), other(func(x []byte) []byte { x[44]--; x[52]++; return x })},
		"of what is not parsed":    {s.Raw()[:20], index},
		"with more types than fit": {s.Raw(), other(func(x []byte) []byte { x[39] = 0xff; return x })},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, ok := btf.LoadIndexed("", tt.raw, tt.index)
			assert.False(t, ok)
		})
	}
	b := btf.NewBuilder(s)
	split, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	assert.Nil(t, split.Index(), "names of the base have no place in it")
}
