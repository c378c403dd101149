package race

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestBytesOfNoType: a difference far behind the beginning is shown too.
func TestBytesOfNoType(t *testing.T) {
	long := make([]byte, 128)
	other := append(make([]byte, 100), 1, 2, 3)
	for _, tt := range []struct {
		bytes []byte
		want  string
	}{
		{[]byte{1, 2}, "0102"},
		{make([]byte, 48), strings.Repeat("00", 48)},
		{long, "00 <x 128>"},
		{other, "00 <x 100> 010203"},
		{append(other, long[:7]...), "00 <x 100> 01020300000000000000"},
	} {
		assert.Equal(t, tt.want, digits(tt.bytes))
	}
	for i := range long {
		long[i] = byte(i)
	}
	assert.Regexp(t, `^000102.*\.\.\. \(128 bytes\)$`, digits(long))
}
