//go:build linux && (amd64 || arm64)

package exec

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
)

// findArenas finds the addresses at which the caller has mapped arenas since its last call. The
// host's kernel chooses them when the caller does not, after the call was let through.
func (c *call) findArenas() {
	var text []byte
	for _, f := range c.s.files {
		m, ok := f.object.(*bpfsys.Map)
		if !ok || !f.arena {
			continue
		}
		if text == nil {
			var err error
			if text, err = os.ReadFile(fmt.Sprintf("/proc/%d/maps", c.n.PID)); err != nil {
				return
			}
		}
		if addr, ok := mappedAt(string(text), f.ino); ok {
			f.arena = false
			c.s.sys.ArenaAt(m, addr)
		}
	}
}

// mappedAt returns the first address at which a file of bpfrun's with this inode is mapped.
func mappedAt(maps string, ino uint64) (uint64, bool) {
	for l := range strings.Lines(maps) {
		if f := mappingOf(l, ino); f != nil {
			from, _, _ := strings.Cut(f[0], "-")
			addr, err := strconv.ParseUint(from, 16, 64)
			return addr, err == nil
		}
	}
	return 0, false
}

// mappingOf returns the words of a line of /proc/PID/maps (proc_pid_maps(5)) if it is a mapping of
// a file of bpfrun's with this inode.
func mappingOf(line string, ino uint64) []string {
	f := strings.Fields(line)
	if len(f) < 6 || f[4] != strconv.FormatUint(ino, 10) || !strings.HasPrefix(f[5], "/memfd:bpfrun:") {
		return nil
	}
	return f
}

// Writable reports whether a process of the session has the memory mapped for writing: whatever
// became of the mappings that were made, by munmap(2), in part, by fork, exec or exit. Mappings of
// a process that cannot be read are taken for writable ones.
func (m *memory) Writable() bool {
	for _, pid := range descendants(os.Getpid()) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		if errors.Is(err, fs.ErrPermission) {
			return true
		}
		for l := range strings.Lines(string(text)) {
			if f := mappingOf(l, m.ino); f != nil && f[1][1] == 'w' {
				return true
			}
		}
	}
	return false
}

// Touched calls f for the parts of the memory that were ever stored to, by either side. Looking at
// the others would allocate them.
func (m *memory) Touched(f func(off, end uint64)) {
	for at := int64(0); at < int64(len(m.b)); {
		from, err := unix.Seek(m.fd, at, unix.SEEK_DATA)
		if err != nil {
			return // no more
		}
		to, err := unix.Seek(m.fd, from, unix.SEEK_HOLE)
		if err != nil || to <= from {
			return
		}
		f(uint64(from), uint64(min(to, int64(len(m.b)))))
		at = to
	}
}
