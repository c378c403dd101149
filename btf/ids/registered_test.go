package ids

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	progSyscall = 31
	progTracing = 26
)

// The module's code registers its only set for two types of programs, the second time in a tail
// call.
func TestRegistered(t *testing.T) {
	data, err := os.ReadFile("testdata/counters.ko")
	require.NoError(t, err)
	s, f := sectionOf(t, data)
	got, ok := s.Registered(f)
	require.True(t, ok)
	assert.Equal(t, map[uint32][]uint32{0: {progSyscall, progTracing}}, got)
}

// A call that is not understood makes nothing known; so do files of other kinds.
func TestRegisteredUnknown(t *testing.T) {
	module, err := os.ReadFile("testdata/counters.ko")
	require.NoError(t, err)
	at := bytes.Index(module, []byte{0x48, 0xc7, 0xc6})
	require.Positive(t, at)
	for _, tt := range []struct {
		name   string
		change func(b []byte)
	}{
		{"the set is in another register", func(b []byte) { b[at+2] = 0xc7 }},
		{"the type is not a constant", func(b []byte) {
			for i := at; i < at+64; i++ {
				if b[i] == 0xbf && b[i+1] == progSyscall {
					b[i] = 0xbe
				}
			}
		}},
		{"another machine", func(b []byte) { binary.LittleEndian.PutUint16(b[18:], uint16(elf.EM_AARCH64)) }},
		{"linked", func(b []byte) { binary.LittleEndian.PutUint16(b[16:], uint16(elf.ET_EXEC)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := bytes.Clone(module)
			tt.change(b)
			s, f := sectionOf(t, b)
			_, ok := s.Registered(f)
			assert.False(t, ok)
		})
	}
	lists, err := os.ReadFile("testdata/lists.o")
	require.NoError(t, err)
	s, f := sectionOf(t, lists)
	_, ok := s.Registered(f)
	assert.False(t, ok, "nothing is registered")
}

func sectionOf(t *testing.T, data []byte) (*Section, *elf.File) {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(data))
	require.NoError(t, err)
	s, err := ReadELF(f)
	require.NoError(t, err)
	return s, f
}
