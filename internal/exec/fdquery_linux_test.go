//go:build linux && (amd64 || arm64)

package exec

import (
	"bytes"
	"fmt"
	"os"
	osexec "os/exec"
	"strconv"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func init() { tools["fdowner"], tools["fdquery"] = fdOwnerTool, fdQueryTool }

// fdOwnerTool attaches a program and lets another process ask for its descriptors.
func fdOwnerTool() error {
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.RawTracepoint, License: "GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}})
	if err != nil {
		return err
	}
	l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: "sched_switch", Program: p})
	if err != nil {
		return err
	}
	defer l.Close()
	fd := l.(interface{ FD() int }).FD()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := osexec.Command(self, "tool", "fdquery")
	cmd.Env = append(os.Environ(), fmt.Sprintf("OWNER=%d", os.Getpid()), fmt.Sprintf("FD=%d", fd))
	out, err := cmd.CombinedOutput()
	fmt.Print(string(out))
	return err
}

// fdQueryTool asks which program a descriptor of another process has (BPF_TASK_FD_QUERY).
func fdQueryTool() error {
	owner, err := strconv.Atoi(os.Getenv("OWNER"))
	if err != nil {
		return err
	}
	fd, err := strconv.Atoi(os.Getenv("FD"))
	if err != nil {
		return err
	}
	for _, of := range [][2]int{{owner, fd}, {owner, 1}, {owner, 1000}, {os.Getppid() + 1<<25, fd}, {1, fd}} {
		name := make([]byte, 32)
		a := struct {
			pid, fd, flags, size uint32
			buf                  uint64
			prog, kind           uint32
			offset, addr         uint64
		}{pid: uint32(of[0]), fd: uint32(of[1]), size: uint32(len(name)), buf: uint64(uintptr(unsafe.Pointer(&name[0])))}
		const taskFDQuery = 20
		_, _, e := unix.Syscall(unix.SYS_BPF, taskFDQuery, uintptr(unsafe.Pointer(&a)), unsafe.Sizeof(a))
		text, _, _ := bytes.Cut(name, []byte{0})
		const notSupported = 524 // ENOTSUPP, which user space has no name for
		if e == notSupported {
			fmt.Println("not of BPF")
			continue
		}
		fmt.Printf("%s %t %s\n", text, a.prog != 0, unix.ErrnoName(e))
	}
	return nil
}

// TestDescriptorsOfOtherProcessesCanBeAskedFor: of those of the session, as bpftool perf does.
func TestDescriptorsOfOtherProcessesCanBeAskedFor(t *testing.T) {
	r := start(t, "fdowner", "")
	assert.Equal(t, "sched_switch true \nnot of BPF\n false EBADF\n false ENOENT\n false ENOENT\n", r.out, r.notes)
}
