//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func init() { tools["unmap"] = unmapTool }

// unmapTool maps an array for writing, asks to freeze it, takes away a part of the mapping, moves
// the rest, and takes that away, too.
func unmapTool() error {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1024, Flags: unix.BPF_F_MMAPABLE})
	if err != nil {
		return err
	}
	const page = 4096
	raw := func(nr uintptr, args ...uintptr) uintptr {
		args = append(args, 0, 0, 0, 0, 0, 0)
		r, _, e := unix.Syscall6(nr, args[0], args[1], args[2], args[3], args[4], args[5])
		if e != 0 {
			fmt.Println(unix.ErrnoName(e))
		}
		return r
	}
	mapped := func(prot uintptr) uintptr {
		return raw(unix.SYS_MMAP, 0, 2*page, prot, unix.MAP_SHARED, uintptr(m.FD()), 0)
	}
	freeze := func(when string) { fmt.Printf("%s: %v\n", when, m.Freeze() == nil) }
	at := mapped(unix.PROT_READ | unix.PROT_WRITE)
	seen := mapped(unix.PROT_READ)
	freeze("mapped")
	raw(unix.SYS_MUNMAP, at, page)
	freeze("a page less")
	at = raw(unix.SYS_MREMAP, at+page, page, 3*page, unix.MREMAP_MAYMOVE)
	freeze("moved")
	raw(unix.SYS_MUNMAP, at, 3*page)
	freeze("not mapped for writing")
	raw(unix.SYS_MUNMAP, seen, 2*page)
	return nil
}

// TestMapsAreFrozenOnceTheyAreUnmapped: what counts are the mappings that are left.
func TestMapsAreFrozenOnceTheyAreUnmapped(t *testing.T) {
	r := start(t, "unmap", "")
	assert.Equal(t, "mapped: false\na page less: false\nmoved: false\nnot mapped for writing: true\n", r.out, r.notes)
	assert.Zero(t, r.code)
}

func init() { tools["mapper"] = mapperTool; tools["mappers"] = mappersTool }

// mapperTool maps the array that is descriptor 3 for writing, and waits for its input to end.
func mapperTool() error {
	if _, err := unix.Mmap(3, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return err
	}
	fmt.Println("mapped")
	_, err := os.Stdin.Read(make([]byte, 1))
	_ = err // the end
	return nil
}

// mappersTool starts a process that maps an array, and freezes the array before and after its end.
func mappersTool() error {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1, Flags: unix.BPF_F_MMAPABLE})
	if err != nil {
		return err
	}
	c := exec.Command(os.Args[0], os.Args[1], "mapper")
	c.ExtraFiles = []*os.File{os.NewFile(uintptr(m.FD()), "map")}
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	said := make([]byte, 7)
	n, _ := out.Read(said)
	fmt.Println(string(said[:n]), m.Freeze() == nil)
	in.Close()
	if err := c.Wait(); err != nil {
		return err
	}
	fmt.Println("ended", m.Freeze() == nil)
	return nil
}

// TestMappingsEndWithTheirProcess: another process's mapping counts until it exits.
func TestMappingsEndWithTheirProcess(t *testing.T) {
	r := start(t, "mappers", "")
	assert.Equal(t, "mapped\n false\nended true\n", r.out, r.notes)
	assert.Zero(t, r.code)
}
