package bpfsys

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Delegation is the set of rights that a bpffs delegates to the user namespace that owns it: bit
// masks of commands, map types, program types and attach types (struct bpf_mount_opts).
type Delegation struct{ Cmds, Maps, Progs, Attaches uint64 }

// Set applies a mount option such as "delegate_maps=hash:array" (bpf_parse_param). known is false
// for options that delegate nothing.
func (d *Delegation) Set(option, value string) (known bool, e uapi.Errno) {
	var mask *uint64
	var names []string
	switch option {
	case "delegate_cmds":
		mask = &d.Cmds
		for _, c := range uapi.Cmds() {
			names = append(names, strings.TrimPrefix(c.String(), "BPF_"))
		}
	case "delegate_maps":
		mask, names = &d.Maps, []string{"unspec"}
		for _, t := range uapi.MapTypes() {
			names = append(names, t.String())
		}
	case "delegate_progs":
		mask = &d.Progs
		for t := uapi.ProgType(0); t.Known(); t++ {
			names = append(names, t.String())
		}
	case "delegate_attachs":
		mask = &d.Attaches
		for _, t := range uapi.AttachTypes() {
			names = append(names, t.String())
		}
	default:
		return false, 0
	}
	bits := uint64(0)
	for word := range strings.SplitSeq(value, ":") {
		i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, word) })
		switch {
		case word == "any":
			bits = ^uint64(0)
		case i >= 0:
			bits |= 1 << i
		default:
			n, err := strconv.ParseUint(word, 0, 64)
			if err != nil || strings.Contains(word, "_") {
				return true, uapi.EINVAL
			}
			bits = n // kstrtou64 stores into the mask, which drops what came before
		}
	}
	*mask |= bits
	return true, 0
}

// superBlock is an instance of bpffs.
type superBlock struct {
	userNS uint64
	grants Delegation
}

// rootMark separates [BPFFS] from the number of an instance in the path of the instance's root. No
// path of user space contains it.
const rootMark = "\x00"

// maxInstances limits the bpffs instances of a system.
const maxInstances = 1024

// NewBPFFS creates a bpffs that belongs to a user namespace, and returns the path of its root,
// which only this package understands: where user space mounts the instance is up to the caller.
func (s *System) NewBPFFS(userNS uint64, grants Delegation) (root string, e uapi.Errno) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.fs.supers) >= maxInstances {
		return "", uapi.ENOMEM
	}
	s.fs.made++
	root = BPFFS + rootMark + strconv.Itoa(s.fs.made)
	s.fs.dirs[root] = true
	s.fs.supers[root] = &superBlock{userNS, grants}
	return root, 0
}

// DropBPFFS removes an instance that is no longer mounted, with all pins in it.
func (s *System) DropBPFFS(root string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fs.supers[root] == nil || root == BPFFS {
		return
	}
	delete(s.fs.supers, root)
	for p := range s.fs.dirs {
		if rootOf(p) == root {
			delete(s.fs.dirs, p)
		}
	}
	for _, p := range s.fs.linked() {
		if rootOf(p) == root {
			s.fs.links.Delete(p)
		}
	}
	for p, o := range s.fs.pins {
		if rootOf(p) == root {
			delete(s.fs.pins, p)
			s.put(o)
		}
	}
}

// rootOf returns the root of the instance that a path is in.
func rootOf(p string) string {
	rest, ok := strings.CutPrefix(p, BPFFS+rootMark)
	if !ok {
		return BPFFS
	}
	number, _, _ := strings.Cut(rest, "/")
	return BPFFS + rootMark + number
}

// IsBPFFSRoot reports whether a path is that of an instance's root, as [System.NewBPFFS] returns
// it.
func IsBPFFSRoot(p string) bool { return p != BPFFS && isRoot(p) }

// isRoot reports whether a path is the root of an instance.
func isRoot(p string) bool { return InBPFFS(p) && p == rootOf(path.Clean(p)) }
