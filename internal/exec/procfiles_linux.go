//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
)

// memoryMaps returns the caller's /proc/self/maps, in which mappings of simulated files and objects
// have the names that a kernel shows.
func (c *call) memoryMaps(p string) ([]byte, bool) {
	if name, ok := c.ownFile(p); !ok || name != "maps" {
		return nil, false
	}
	host, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", c.n.PID))
	if err != nil {
		return nil, false
	}
	var out []byte
	for l := range strings.Lines(string(host)) {
		at, name, ok := strings.Cut(strings.TrimSuffix(l, "\n"), "/memfd:bpfrun:")
		if !ok {
			out = append(out, l...)
			continue
		}
		name = strings.TrimSuffix(name, " (deleted)")
		kind, _, _ := strings.Cut(name, ":")
		switch {
		case strings.HasPrefix(name, "/"):
		case kind == bpfsys.KindPerf.String():
			name = "anon_inode:[perf_event]"
		default:
			name = "anon_inode:bpf-" + kind
		}
		out = append(append(out, at...), name+"\n"...)
	}
	return out, true
}

// openIDMap serves the opening of /proc/PID/uid_map or gid_map for writing by a tool that believes
// to be root, although the host lets it map only its own user and group. It maps them to 0 in that
// user namespace, as root would with "0 0 1", and what the tool writes then has no effect. The
// supervisor has no right here that the tool lacks.
func (c *call) openIDMap(p string, flags uint64) bool {
	name := path.Base(p)
	if !c.s.cfg.Root || os.Geteuid() == 0 || name != "uid_map" && name != "gid_map" || flags&unix.O_ACCMODE == unix.O_RDONLY {
		return false
	}
	if dir, ok := strings.CutPrefix(path.Dir(p), "/proc/"); !ok || strings.Contains(dir, "/") {
		return false
	} else if dir == "self" {
		p = fmt.Sprintf("/proc/%d/%s", c.process().tgid, name)
	}
	if !samePIDs(c.n.PID) {
		return false // the process ids in the path are others
	}
	id := os.Geteuid()
	if name == "gid_map" {
		id = os.Getegid()
		if err := os.WriteFile(path.Dir(p)+"/setgroups", []byte("deny"), 0); err != nil {
			return false
		}
	}
	if !c.s.valid(c.n.ID) || os.WriteFile(p, fmt.Appendf(nil, "0 %d 1\n", id), 0) != nil {
		return false
	}
	c.s.logf("[%d] %s: id 0", c.n.PID, p)
	c.giveText(p, nil, flags)
	return true
}

// samePIDs reports whether a thread is in the supervisor's PID namespace.
func samePIDs(pid uint32) bool {
	own, err := os.Readlink("/proc/self/ns/pid")
	theirs, err2 := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	return err == nil && err2 == nil && own == theirs
}
