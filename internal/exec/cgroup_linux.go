//go:build linux && (amd64 || arm64)

package exec

import (
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// cgroupRoot is where cgroups are mounted. Those that the tool creates there are simulated: they
// control nothing and serve as attach targets. The root is the host's, unless it has no cgroup2
// there, or the tool mounts the hierarchy elsewhere, too.
const cgroupRoot = "/sys/fs/cgroup"

// maxCgroups limits the cgroups that the tool can create.
const maxCgroups = 4096

// maxJoined limits the files that ids of tasks are written to.
const maxJoined = 1024

// rootCgroup is the id of the root.
const rootCgroup = 1

// cgroupFiles are the files of cgroups, and what they hold in one that is empty. The root has none
// of those that say how a cgroup is (cgroup_base_files).
var cgroupFiles = map[string]string{
	"cgroup.controllers": "", "cgroup.max.depth": "max\n", "cgroup.max.descendants": "max\n", "cgroup.procs": "", "cgroup.subtree_control": "", "cgroup.threads": "",
	"cgroup.events": "populated 0\nfrozen 0\n", "cgroup.freeze": "0\n", "cgroup.type": "domain\n",
}

var notOfRoot = []string{"cgroup.events", "cgroup.freeze", "cgroup.type"}

// joins are the files of cgroups that tasks join by writing their ids.
var joins = []string{"cgroup.procs", "cgroup.threads"}

// lookCgroup returns what a path is below a simulated cgroup; kind is hostPath for other paths.
func (s *supervisor) lookCgroup(p string) (kind pathKind, b []byte) {
	if s.cgroups[p] != 0 {
		return directory, nil
	}
	dir, name := path.Dir(p), path.Base(p)
	text, known := cgroupFiles[name]
	if s.cgroups[dir] == 0 || !known || dir == cgroupRoot && slices.Contains(notOfRoot, name) {
		return hostPath, nil
	}
	if f := s.joined[p]; f != nil {
		b := make([]byte, maxProbes)
		n, _ := unix.Pread(f.fd, b, 0)
		return plain, b[:max(n, 0)]
	}
	if p == cgroupRoot+"/cgroup.controllers" {
		text = s.controllers()
	}
	return plain, []byte(text)
}

// controllers lists those that the kernel's configuration has, as the root does. Children have those
// that their parents enable: none.
func (s *supervisor) controllers() string {
	var has []string
	for _, name := range [...]string{"cpuset", "cpu", "io", "memory", "hugetlb", "pids", "rdma", "misc", "dmem"} { // include/linux/cgroup_subsys.h
		if _, ok := s.sys.Machine().Kernel().BTF().EnumValue("cgroup_subsys_id", name+"_cgrp_id"); ok {
			has = append(has, name)
		}
	}
	if has == nil {
		return ""
	}
	return strings.Join(has, " ") + "\n"
}

// openJoin opens a file of a cgroup for writing: what is written is what it holds.
func (c *call) openJoin(p string, flags uint64) {
	s := c.s
	f := s.joined[p]
	if f == nil {
		var err error
		if len(s.joined) < maxJoined {
			f, err = s.newFile(p)
		}
		if f == nil || err != nil {
			s.reply(c.n, 0, unix.ENFILE)
			return
		}
		f.kept = true
		s.joined[p] = f
		s.note("tasks that join a simulated cgroup are listed in its " + path.Base(p) + " and stay in their own: events say which cgroup they are about")
	}
	s.give(c.n, f, int(flags)&(unix.O_CLOEXEC|unix.O_ACCMODE)|unix.O_APPEND)
}

// cgroupNames lists what a simulated cgroup has.
func (s *supervisor) cgroupNames(dir string) (names []string) {
	for name := range cgroupFiles {
		if dir != cgroupRoot || !slices.Contains(notOfRoot, name) {
			names = append(names, name)
		}
	}
	for p := range s.cgroups {
		if path.Dir(p) == dir && p != dir {
			names = append(names, path.Base(p))
		}
	}
	slices.Sort(names)
	return names
}

// ownsCgroups makes the root a simulated one.
func (s *supervisor) ownsCgroups() { s.cgroups[cgroupRoot] = rootCgroup }

// hostCgroups reports whether the host has its cgroups where they are simulated.
func hostCgroups() bool {
	var fs unix.Statfs_t
	return unix.Statfs(cgroupRoot, &fs) == nil && uint32(fs.Type) == magicCgroup2
}

// mountCgroups mounts the hierarchy of cgroups, of which there is one, at a place.
func (c *call) mountCgroups(at place) unix.Errno {
	if at.path == cgroupRoot {
		return unix.EBUSY
	}
	e := c.addMount(cgroupRoot, at.at, false)
	if e == 0 {
		c.s.ownsCgroups()
	}
	return e
}

// behindCgroups reports whether a place is one of the host that the tool's own mount of cgroups
// covers.
func (c *call) behindCgroups(at, known string) bool {
	return at != known && strings.HasPrefix(known, cgroupRoot+"/") && c.mounted(at) == known
}

func (c *call) makeCgroup(at place) unix.Errno {
	s, p := c.s, at.path
	exists, parent := false, false
	if !c.behindCgroups(at.at, p) {
		_, exists = c.IsFile(at.at)
		_, parent = c.IsFile(path.Dir(at.at))
	}
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

// kernfsHandle is the type of handles that have the id of a file (FILEID_KERNFS).
const kernfsHandle = 0xfe

// handle serves name_to_handle_at(2): the handle of a cgroup is its id (kernfs_encode_fh), which is
// how programs learn what bpf_get_current_cgroup_id returns there. Other simulated files have none.
func (c *call) handle(at []place) {
	kind, _, _ := c.look(at[0])
	id := c.s.cgroups[at[0].path]
	switch {
	case kind == hostPath:
		c.s.host(c.n)
		return
	case kind == absent:
		c.s.reply(c.n, 0, unix.ENOENT)
		return
	case id == 0:
		c.s.reply(c.n, 0, unix.EOPNOTSUPP)
		return
	}
	const most, size = 128, 8 // MAX_HANDLE_SZ
	head := make([]byte, 4)
	if !c.Read(c.arg(2), head) {
		c.s.reply(c.n, 0, unix.EFAULT)
		return
	}
	room := le.Uint32(head)
	if room > most {
		c.s.reply(c.n, 0, unix.EINVAL)
		return
	}
	const invalid = 0xff // FILEID_INVALID
	errno, out := unix.EOVERFLOW, le.AppendUint32(le.AppendUint32(nil, size), invalid)
	if room >= size {
		errno, out = 0, le.AppendUint64(le.AppendUint32(le.AppendUint32(nil, size), kernfsHandle), id)
	}
	mount := make([]byte, 4) // its id
	if !c.Write(c.arg(3), mount) || !c.Write(c.arg(2), out) {
		errno = unix.EFAULT
	}
	c.s.reply(c.n, 0, errno)
}

// removeCgroup serves rmdir(2) of a simulated cgroup.
func (s *supervisor) removeCgroup(p string) unix.Errno {
	for other := range s.cgroups {
		if p == cgroupRoot || strings.HasPrefix(other, p+"/") {
			return unix.EBUSY
		}
	}
	delete(s.cgroups, p)
	for _, name := range joins {
		if f := s.joined[p+"/"+name]; f != nil {
			delete(s.joined, p+"/"+name)
			if f.kept = false; f.open == 0 {
				s.drop(f)
			}
		}
	}
	return 0
}
