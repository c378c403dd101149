//go:build linux && (amd64 || arm64)

package exec

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/loader"
)

func init() {
	tools["user pages"] = userPagesTool
	if slices.Contains(os.Args, "user pages") {
		runtime.LockOSThread() // on the first thread, which the pidfd of the process names
	}
}

// userPagesTool stores pointers to its memory in task storage. Its program adds 1 to the first word
// of that memory, and stores the sum in the second.
func userPagesTool() error {
	word := &btf.Int{Name: "unsigned long", Size: 8}
	data := &btf.Struct{Name: "data", Size: 16, Members: []btf.Member{{Name: "in", Type: word}, {Name: "out", Type: word, Offset: 64}}}
	value := &btf.Struct{Name: "value", Size: 8, Members: []btf.Member{{Name: "data", Type: &btf.Pointer{Target: &btf.TypeTag{Type: data, Value: "uptr"}}}}}
	m, err := ebpf.NewMap(&ebpf.MapSpec{Name: "users", Type: ebpf.TaskStorage, KeySize: 4, ValueSize: 8, Flags: unix.BPF_F_NO_PREALLOC,
		Key: &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}, Value: value})
	if err != nil {
		return err
	}
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "adds", Type: ebpf.Syscall, License: "GPL", Flags: unix.BPF_F_SLEEPABLE, Instructions: asm.Instructions{
		asm.FnGetCurrentTaskBtf.Call(),
		asm.Mov.Reg(asm.R2, asm.R0),
		asm.LoadMapPtr(asm.R1, m.FD()),
		asm.Mov.Imm(asm.R3, 0), asm.Mov.Imm(asm.R4, 0),
		asm.FnTaskStorageGet.Call(),
		asm.JEq.Imm(asm.R0, 0, "none"),
		asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord),
		asm.JEq.Imm(asm.R1, 0, "none"),
		asm.LoadMem(asm.R2, asm.R1, 0, asm.DWord),
		asm.Add.Imm(asm.R2, 1),
		asm.StoreMem(asm.R1, 8, asm.R2, asm.DWord),
		asm.Mov.Reg(asm.R0, asm.R2),
		asm.Return(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("none"),
		asm.Return(),
	}})
	if err != nil {
		return err
	}
	pidfd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return err
	}
	page, err := unix.MmapPtr(-1, 0, nil, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	mem := unsafe.Slice((*byte)(page), 4096)
	words := func(at int) (in, out uint64) {
		return binary.NativeEndian.Uint64(mem[at:]), binary.NativeEndian.Uint64(mem[at+8:])
	}
	point := func(at int) error {
		return m.Put(uint32(pidfd), binary.NativeEndian.AppendUint64(nil, uint64(uintptr(page)+uintptr(at))))
	}
	run := func(what string, at int) {
		ret, err := p.Run(&ebpf.RunOptions{})
		_, out := words(at)
		fmt.Println(what+":", ret, out, outcomeOf(err))
	}

	mem[4000], mem[32] = 4, 9
	fmt.Println("no page:", outcomeOf(m.Put(uint32(pidfd), uint64(1<<40))))
	fmt.Println("two pages:", outcomeOf(point(4088)))
	fmt.Println("stored:", outcomeOf(point(32)))
	run("runs", 32)
	mem[32] = 20
	run("sees what was stored since", 32)
	fmt.Println("another place:", outcomeOf(point(4000)))
	run("runs there", 4000)
	if err := unix.Mprotect(mem, unix.PROT_READ); err != nil {
		return err
	}
	run("page that may not be written any more", 4000)
	if _, err := unix.MmapPtr(-1, 0, page, 4096, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED); err != nil {
		return err
	}
	run("page that is another one now", 4000)
	fmt.Println("page that may only be read:", outcomeOf(point(32)))
	return nil
}

func TestProgramsUseMemoryToWhichStoragePoints(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	r := start(t, "user pages", "", func(c *Config) {
		c.System.Target = loader.NewTarget("7.2", spec, loader.WithVersion(7<<16|2<<8))
	})
	assert.Equal(t, `no page: EFAULT
two pages: ENOTSUP
stored: ok
runs: 10 10 ok
sees what was stored since: 21 21 ok
another place: ok
runs there: 5 5 ok
page that may not be written any more: 5 5 ok
page that is another one now: 5 0 ok
page that may only be read: EFAULT
`, r.out)
	assert.Empty(t, r.notes)
}
