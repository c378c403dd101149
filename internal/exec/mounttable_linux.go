//go:build linux && (amd64 || arm64)

package exec

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
)

// Bind mounts and further mounts show the kernel's file systems at other places. What is there has
// the path that it has in the usual mount.

// usual are the file systems with simulated places, and where they are usually mounted.
var usual = map[string]string{
	"proc": "/proc", "sysfs": "/sys", "tracefs": "/sys/kernel/tracing", "debugfs": "/sys/kernel/debug", "bpf": bpfsys.BPFFS,
}

// mountTable is the part of a mount namespace's list of mounts that matters.
type mountTable struct {
	fd   int // /proc/PID/mountinfo, which tells when the list has changed
	list []hostMount
}

// hostMount is a mount of the host: at is its place from the root of the process, root the
// directory of the file system that is there.
type hostMount struct{ at, typ, root string }

// mountKey identifies a list: processes with another root see other paths.
type mountKey struct {
	ns   uint64
	root string
}

// maxTables limits the lists that are kept.
const maxTables = 64

// mountsOf returns the mounts that a thread sees, nil if they cannot be read.
func (s *supervisor) mountsOf(pid uint32, root string) *mountTable {
	var ns unix.Stat_t
	if unix.Stat(fmt.Sprintf("/proc/%d/ns/mnt", pid), &ns) != nil {
		return nil
	}
	key := mountKey{ns.Ino, root}
	t := s.mountTables[key]
	if t == nil {
		fd, err := unix.Open(fmt.Sprintf("/proc/%d/mountinfo", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil
		}
		if len(s.mountTables) >= maxTables {
			s.dropMountTables()
		}
		t = &mountTable{fd: fd}
		s.mountTables[key] = t
		ready(fd, unix.POLLPRI) // from here on
	} else if !ready(t.fd, unix.POLLPRI) {
		return t
	}
	t.list = oddMounts(readAll(t.fd))
	return t
}

func (s *supervisor) dropMountTables() {
	for _, t := range s.mountTables {
		unix.Close(t.fd)
	}
	clear(s.mountTables)
}

// readAll reads a file of /proc from its start.
func readAll(fd int) []byte {
	b, _ := io.ReadAll(io.NewSectionReader(readerAt(fd), 0, 1<<24))
	return b
}

// readerAt reads a descriptor.
type readerAt int

func (fd readerAt) ReadAt(p []byte, off int64) (int, error) {
	for n := 0; ; {
		k, err := unix.Pread(int(fd), p[n:], off+int64(n))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return n, os.NewSyscallError("pread", err)
		case k == 0:
			return n, io.EOF
		default:
			if n += k; n == len(p) {
				return n, nil
			}
		}
	}
}

// hostMounts parses a list of mounts in the form of /proc/PID/mountinfo.
func hostMounts(info []byte) (out []hostMount) {
	for l := range bytes.Lines(info) {
		f := strings.Fields(string(l))
		if i := slices.Index(f, "-"); i > 4 && i+1 < len(f) {
			out = append(out, hostMount{at: unescape(f[4]), typ: f[i+1], root: unescape(f[3])})
		}
	}
	return out
}

// oddMounts returns all mounts of a list, or none if every file system with simulated places is
// where it usually is.
func oddMounts(info []byte) []hostMount {
	list := hostMounts(info)
	if slices.ContainsFunc(list, func(m hostMount) bool {
		place, special := usual[m.typ]
		return special && (m.root != "/" || m.at != place && !(m.typ == "tracefs" && m.at == "/sys/kernel/debug/tracing"))
	}) {
		return list
	}
	return nil
}

// unescape replaces the octal numbers of a path in a list of mounts.
func unescape(p string) string {
	if !strings.Contains(p, `\`) {
		return p
	}
	var out []byte
	for i := 0; i < len(p); i++ {
		if p[i] == '\\' && i+3 < len(p) {
			if n, err := strconv.ParseUint(p[i+1:i+4], 8, 8); err == nil {
				out = append(out, byte(n))
				i += 3
				continue
			}
		}
		out = append(out, p[i])
	}
	return string(out)
}

// translate returns the path that a place has in the usual mount of its file system, or the place
// itself.
func (t *mountTable) translate(at, root string) string {
	if t == nil || len(t.list) == 0 {
		return at
	}
	seen := at
	if root != "/" {
		rest, ok := strings.CutPrefix(at, root)
		if !ok || rest != "" && rest[0] != '/' {
			return at
		}
		seen = "/" + strings.TrimPrefix(rest, "/")
	}
	var best *hostMount
	for i := range t.list {
		m := &t.list[i]
		if (m.at == "/" || seen == m.at || strings.HasPrefix(seen, m.at+"/")) && (best == nil || len(m.at) >= len(best.at)) {
			best = m
		}
	}
	if best == nil {
		return at
	}
	place, special := usual[best.typ]
	if !special {
		return at
	}
	rest := strings.TrimPrefix(seen, best.at)
	if best.at == "/" {
		rest = seen
	}
	return strings.TrimSuffix(place+strings.TrimSuffix(best.root, "/")+"/"+strings.TrimPrefix(rest, "/"), "/")
}
