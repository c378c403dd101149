package scenario

import (
	"encoding/binary"
	"testing"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTypesLargerThanTheirBytes: a variable may claim a type with more bytes than it has.
func TestTypesLargerThanTheirBytes(t *testing.T) {
	b := btf.NewBuilder(nil)
	u8, u32 := b.Int("unsigned char", 1, 0), b.Int("unsigned int", 4, 0)
	char := b.Int("char", 1, btf.IntSigned)
	many := b.Array(u8, u32, 4096)
	st := b.Struct("s", 8192, btf.Member{Name: "head", Type: u32}, btf.Member{Name: "many", Type: many, BitOffset: 32}, btf.Member{Name: "text", Type: b.Array(char, u32, 64), BitOffset: 8 * 8000})
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	for _, id := range []btf.ID{many, st} {
		for _, text := range []string{"\"01 02\"", "7", "{head: 1, many: \"ff\"}", "{text: abc}", "[1, 2, 3]"} {
			nodes, err := grammar.ParseYAML("x", []byte(text))
			require.NoError(t, err, text)
			for _, data := range [][]byte{nil, {1}, {1, 2, 3, 4}, make([]byte, 100)} {
				v := &values{}
				assert.NotPanics(t, func() { _, _ = v.compare(spec, btf.Field{Type: id}, nodes, data, "x") }, "%s of %d bytes", text, len(data))
			}
		}
	}
}

func TestPathsOfMembersAndElements(t *testing.T) {
	assert.Equal(t, "a", joinPath("", "a"))
	assert.Equal(t, "[0]", joinPath("", "[0]"))
	assert.Equal(t, "a.b", joinPath("a", "b"))
	assert.Equal(t, "a[0]", joinPath("a", "[0]"))
}
