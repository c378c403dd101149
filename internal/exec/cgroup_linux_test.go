//go:build linux && (amd64 || arm64)

package exec

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func init() { tools["cgroups"] = cgroupsTool }

// cgroupsTool mounts the hierarchy of cgroups at a place of its own, makes a cgroup, joins it and
// attaches programs.
func cgroupsTool() error {
	at, err := os.MkdirTemp("", "")
	if err != nil {
		return err
	}
	defer os.Remove(at)
	mount := func() error { return unix.Mount("none", at, "cgroup2", 0, "") }
	fmt.Println("mount", outcomeOf(mount()), "again", outcomeOf(mount()), "in place", outcomeOf(unix.Mount("none", cgroupRoot, "cgroup2", 0, "")))
	var fs unix.Statfs_t
	if err := unix.Statfs(at, &fs); err != nil {
		return err
	}
	child := filepath.Join(at, "child")
	fmt.Println("type", fs.Type == magicCgroup2, "mkdir", outcomeOf(os.Mkdir(child, 0o755)))
	for _, dir := range []string{at, child, filepath.Join(cgroupRoot, "child"), child + "/.."} {
		list, err := os.ReadDir(dir)
		var names []string
		for _, e := range list {
			names = append(names, strings.TrimPrefix(e.Name(), "cgroup."))
		}
		fmt.Println(strings.Replace(dir, at, "AT", 1), strings.Join(names, " "), outcomeOf(err))
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(child, name))
		return fmt.Sprintf("%q %s", b, outcomeOf(err))
	}
	fmt.Println("before", read("cgroup.procs"))
	controllers, err := os.ReadFile(filepath.Join(at, "cgroup.controllers"))
	fmt.Printf("controllers %q %s of the child %s\n", controllers, outcomeOf(err), read("cgroup.controllers"))
	for _, path := range []string{child, filepath.Join(child, "cgroup.procs"), filepath.Join(at, "none")} {
		h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, path, 0)
		if err != nil {
			fmt.Println("handle", outcomeOf(err))
			continue
		}
		fmt.Printf("handle %#x % x\n", h.Type(), h.Bytes())
	}
	short := struct{ bytes, typ uint32 }{4, 0}
	name, err := unix.BytePtrFromString(child)
	if err != nil {
		return err
	}
	var id int32
	_, _, e := unix.Syscall6(unix.SYS_NAME_TO_HANDLE_AT, ^uintptr(0)-99, uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&short)), uintptr(unsafe.Pointer(&id)), 0, 0)
	fmt.Println("no room", outcomeOf(e), short)
	procs := filepath.Join(cgroupRoot, "child", "cgroup.procs")
	fmt.Println("join", outcomeOf(os.WriteFile(procs, []byte("42\n"), 0)), read("cgroup.procs"), "events", read("cgroup.events"), "missing", read("memory.max"))
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.CGroupSKB, License: "GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 1), asm.Return()}})
	if err != nil {
		return err
	}
	for _, dir := range []string{at, child} {
		l, err := link.AttachCgroup(link.CgroupOptions{Path: dir, Attach: ebpf.AttachCGroupInetEgress, Program: p})
		if err != nil {
			return err
		}
		info, err := l.Info()
		if err != nil {
			return err
		}
		fmt.Printf("attached %#x\n", info.Cgroup().CgroupId)
		if err := errors.Join(l.Close()); err != nil {
			return err
		}
	}
	fmt.Println("busy", outcomeOf(os.Remove(cgroupRoot)), "rmdir", outcomeOf(unix.Rmdir(child)), "umount", outcomeOf(unix.Unmount(at, 0)))
	list, err := os.ReadDir(at)
	fmt.Println("left", len(list), outcomeOf(err))
	return nil
}

// TestCgroupsHaveATree: one hierarchy, wherever it is mounted, with the files that tools look for.
func TestCgroupsHaveATree(t *testing.T) {
	const root = "controllers max.depth max.descendants procs subtree_control threads"
	const all = "controllers events freeze max.depth max.descendants procs subtree_control threads type"
	r := start(t, "cgroups", "", func(c *Config) { c.Root = true })
	assert.Equal(t, `mount ok again EBUSY in place EBUSY
type true mkdir ok
AT `+root+` child ok
AT/child `+all+` ok
/sys/fs/cgroup/child `+all+` ok
AT/child/.. `+root+` child ok
before "" ok
controllers "cpuset cpu io memory hugetlb pids rdma misc\n" ok of the child "" ok
handle 0xfe 01 00 00 00 01 00 00 00
handle ENOTSUP
handle ENOENT
no room EOVERFLOW {8 255}
join ok "42\n" ok events "populated 0\nfrozen 0\n" ok missing "" ENOENT
attached 0x1
attached 0x100000001
busy EBUSY rmdir ok umount ok
left 0 ok
`, r.out)
	assert.Contains(t, r.notes, "tasks that join a simulated cgroup are listed in its cgroup.procs and stay in their own")
}

func init() { tools["cgroups cover"] = cgroupsCoverTool }

// cgroupsCoverTool mounts the hierarchy of cgroups where the host has files.
func cgroupsCoverTool() error {
	at, err := os.MkdirTemp("", "")
	if err != nil {
		return err
	}
	defer os.RemoveAll(at)
	below := func(name string) string { return filepath.Join(at, name) }
	err = errors.Join(os.WriteFile(below("f"), nil, 0o644), os.Mkdir(below("d"), 0o755), os.Symlink("/etc", below("l")), unix.Mount("none", at, "cgroup2", 0, ""))
	if err != nil {
		return err
	}
	_, err = os.ReadFile(below("f"))
	_, err2 := os.ReadDir(below("l"))
	fmt.Println("read", outcomeOf(err), outcomeOf(err2), "create", outcomeOf(os.WriteFile(below("new"), nil, 0o644)), "unlink", outcomeOf(unix.Unlinkat(unix.AT_FDCWD, below("f"), 0)))
	fmt.Println("mkdir in none", outcomeOf(os.Mkdir(below("d/x"), 0o755)), "mkdir", outcomeOf(os.Mkdir(below("d"), 0o755)), outcomeOf(os.Mkdir(below("d/x"), 0o755)))
	fmt.Println("umount", outcomeOf(unix.Unmount(at, 0)))
	list, err := os.ReadDir(at)
	fmt.Println("left", list, outcomeOf(err))
	return nil
}

// TestMountedCgroupsCoverTheHost: what the host has below the place cannot be reached.
func TestMountedCgroupsCoverTheHost(t *testing.T) {
	r := start(t, "cgroups cover", "")
	assert.Equal(t, "read ENOENT ENOENT create ENOENT unlink ENOENT\nmkdir in none ENOENT mkdir ok ok\numount ok\nleft [d d/ - f L l] ok\n", r.out, r.notes)
}
