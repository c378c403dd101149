package kernels

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// note encodes an ELF note.
func note(name string, kind uint32, desc string) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(len(name)))
	b = binary.NativeEndian.AppendUint32(b, uint32(len(desc)))
	b = binary.NativeEndian.AppendUint32(b, kind)
	for _, s := range []string{name, desc} {
		b = append(b, s...)
		for len(b)%4 != 0 {
			b = append(b, 0)
		}
	}
	return b
}

func TestHostID(t *testing.T) {
	defer func(b, n, v string) { HostBTF, HostNotes, hostVersion = b, n, v }(HostBTF, HostNotes, hostVersion)
	dir := t.TempDir()
	file := func(path *string, name string, content []byte) {
		*path = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(*path, content, 0o600))
	}
	const one, two = "0123456789abcdef0123", "0123456789abcdef0124"
	withID := append(note("Xen", 3, one), note("GNU\x00", 3, one)...)
	file(&HostBTF, "btf", []byte("types"))
	file(&HostNotes, "notes", withID)
	file(&hostVersion, "version", []byte("Linux version 6.1"))
	built := HostID()
	assert.Contains(t, built, "build ")

	file(&HostNotes, "notes", append(note("Xen", 3, one), note("GNU\x00", 3, two)...))
	assert.NotEqual(t, built, HostID(), "another build")
	file(&HostNotes, "notes", withID)
	file(&hostVersion, "version", []byte("Linux version 6.1 of another day"))
	assert.NotEqual(t, built, HostID())

	for name, notes := range map[string][]byte{"other notes": note("Xen", 3, one), "short": note("GNU\x00", 3, "1"), "cut off": withID[:len(withID)-4], "none": nil} {
		file(&HostNotes, "notes", notes)
		first := HostID()
		assert.Contains(t, first, "types ", name)
		file(&HostBTF, "btf", []byte("others"))
		assert.NotEqual(t, first, HostID(), name)
		file(&HostBTF, "btf", []byte("types"))
		assert.Equal(t, first, HostID(), name)
	}
	HostBTF = filepath.Join(dir, "none")
	assert.Empty(t, HostID())
}
