//go:build linux && (amd64 || arm64)

package exec

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
join ok "42\n" ok events "populated 0\nfrozen 0\n" ok missing "" ENOENT
attached 0x1
attached 0x100000001
busy EBUSY rmdir ok umount ok
left 0 ok
`, r.out)
	assert.Contains(t, r.notes, "tasks that join a simulated cgroup are listed in its cgroup.procs and stay in their own")
}
