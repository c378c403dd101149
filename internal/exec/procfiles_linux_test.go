//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	osexec "os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func init() {
	tools["memory maps"] = memoryMapsTool
	tools["own user namespace"] = ownNamespaceTool
	tools["uid"] = func() error { fmt.Println("uid", os.Getuid(), "gid", os.Getgid()); return nil }
	tools["nothing"] = func() error { return nil }
	tools["socket filter"] = socketFilterTool
}

// memoryMapsTool maps the kernel's types and an array, and prints the names of its mappings.
func memoryMapsTool() error {
	f, err := os.Open("/sys/kernel/btf/vmlinux")
	if err != nil {
		return err
	}
	if _, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE); err != nil {
		return err
	}
	m, err := ebpf.NewMap(&ebpf.MapSpec{Name: "cells", Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1, Flags: unix.BPF_F_MMAPABLE})
	if err != nil {
		return err
	}
	if _, err := unix.Mmap(m.FD(), 0, 4096, unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return err
	}
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	for l := range strings.Lines(string(b)) {
		if f := strings.Fields(l); len(f) > 5 && (strings.Contains(l, "bpf") || strings.Contains(l, "btf")) && !strings.Contains(l, ".test") {
			fmt.Println(f[1], f[5])
		}
	}
	return nil
}

func TestMappingsHaveTheirKernelNames(t *testing.T) {
	r := start(t, "memory maps", "")
	assert.ElementsMatch(t, []string{"r--p /sys/kernel/btf/vmlinux", "r--s anon_inode:bpf-map"}, strings.Split(strings.TrimSpace(r.out), "\n"))
	assert.Zero(t, r.code)
}

// ownNamespaceTool starts a child in a user namespace of its own and maps user 0, which it believes
// to be, to 0.
func ownNamespaceTool() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := osexec.Command(self, "tool", "uid")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER, AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN},
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	return cmd.Run()
}

func TestSimulatedRootMapsItself(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("for other users than root")
	}
	if osexec.Command("unshare", "-Ur", "true").Run() != nil {
		t.Skip("this user may not create user namespaces")
	}
	r := start(t, "own user namespace", "", func(c *Config) { c.Root = true })
	assert.Equal(t, "uid 0 gid 0\n", r.out)
	assert.Zero(t, r.code)
}

// socketFilterTool attaches a program to a socket, replaces it and detaches it.
func socketFilterTool() error {
	sock, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	load := func(typ ebpf.ProgramType) (*ebpf.Program, error) {
		return ebpf.NewProgram(&ebpf.ProgramSpec{Type: typ, License: "GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}})
	}
	filter, err := load(ebpf.SocketFilter)
	if err != nil {
		return err
	}
	other, err := load(ebpf.XDP)
	if err != nil {
		return err
	}
	set := func(option, v int) {
		fmt.Println(option, outcomeOf(unix.SetsockoptInt(sock, unix.SOL_SOCKET, option, v)))
	}
	set(soDetachFilter, 0)
	set(soAttachBPF, other.FD())
	set(soAttachBPF, sock)
	set(soAttachBPF, filter.FD())
	set(soAttachBPF, filter.FD())
	set(soAttachReuseportBPF, filter.FD())
	set(soDetachFilter, 0)
	set(soDetachFilter, 0)
	return nil
}

func TestSocketFilters(t *testing.T) {
	r := start(t, "socket filter", "")
	assert.Equal(t, "27 ENOENT\n50 EINVAL\n50 EINVAL\n50 ok\n50 ok\n52 EINVAL\n27 ok\n27 ENOENT\n", r.out)
	assert.Contains(t, r.notes, "a program is attached to a socket of the host")
	assert.Zero(t, r.code)
}
