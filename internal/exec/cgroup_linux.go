//go:build linux && (amd64 || arm64)

package exec

import (
	"path"

	"golang.org/x/sys/unix"
)

// cgroupRoot is where the host mounts cgroups. The cgroups that the tool creates there are
// simulated: they are empty and serve as attach targets.
const cgroupRoot = "/sys/fs/cgroup"

// maxCgroups limits the cgroups that the tool can create.
const maxCgroups = 4096

func (c *call) makeCgroup(at place) unix.Errno {
	s, p := c.s, at.path
	_, exists := c.IsFile(at.at)
	_, parent := c.IsFile(path.Dir(at.at))
	switch {
	case exists || s.cgroups[p] != 0:
		return unix.EEXIST
	case !parent && s.cgroups[path.Dir(p)] == 0:
		return unix.ENOENT
	case len(s.cgroups) >= maxCgroups:
		return unix.EAGAIN
	}
	s.lastCgroup++
	s.cgroups[p] = 1<<32 + s.lastCgroup // above the ids of the host's cgroups
	return 0
}
