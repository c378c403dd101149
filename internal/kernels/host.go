package kernels

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
)

// Files in which a running Linux kernel tells what it is; tests replace them.
var (
	HostNotes   = "/sys/kernel/notes" // ELF notes of its image
	hostVersion = "/proc/version"
)

// HostID identifies the types of the running kernel across reboots, or is "" if there are none. A
// kernel's build id stands for its content, and its version for when and where it was built; of one
// without a build id the types themselves are read, which takes some milliseconds.
func HostID() string {
	fi, err := os.Stat(HostBTF)
	if err != nil {
		return ""
	}
	notes, err := os.ReadFile(HostNotes)
	version, errVersion := os.ReadFile(hostVersion)
	if err == nil && errVersion == nil {
		if id := buildID(notes); id != nil {
			return fmt.Sprintf("build %x %d %s", id, fi.Size(), version)
		}
	}
	types, err := os.ReadFile(HostBTF)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("types %x", sha256.Sum256(types))
}

// buildID returns the description of the GNU build id among ELF notes of this machine's byte order,
// nil if there is none.
func buildID(notes []byte) []byte {
	const head, gnuBuildID = 12, 3
	for len(notes) >= head {
		order := binary.NativeEndian
		name, desc, kind := uint64(order.Uint32(notes)), uint64(order.Uint32(notes[4:])), order.Uint32(notes[8:])
		start := head + (name+3)&^3
		end := start + desc
		if end > uint64(len(notes)) {
			return nil
		}
		if kind == gnuBuildID && bytes.Equal(notes[head:head+name], []byte("GNU\x00")) && desc >= 16 {
			return notes[start:end]
		}
		notes = notes[min((end+3)&^3, uint64(len(notes))):]
	}
	return nil
}
