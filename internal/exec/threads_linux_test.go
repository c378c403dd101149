//go:build linux && (amd64 || arm64)

package exec

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func init() {
	tools["own descriptors"] = ownDescriptorsTool
	tools["first thread gone"] = firstGoneTool
	tools["closed memory"] = closedMemoryTool
}

// newArray makes an array of one element and returns its descriptor.
func newArray() (int, error) { return bpfCall(unix.BPF_MAP_CREATE, uint32(ebpf.Array), 4, 8, 1) }

// element updates or reads the element of an array.
func element(cmd uintptr, fd int, value *uint64) error {
	var key uint32
	attr := struct {
		fd, _      uint32
		key, value unsafe.Pointer
		flags      uint64
	}{fd: uint32(fd), key: unsafe.Pointer(&key), value: unsafe.Pointer(value)}
	if _, _, e := unix.Syscall(unix.SYS_BPF, cmd, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr)); e != 0 {
		return e
	}
	return nil
}

// onThread runs f on a thread that ends with it.
func onThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- f()
	}()
	return <-done
}

// ownDescriptorsTool has two maps under one number, in the descriptors of two threads.
func ownDescriptorsTool() error {
	fd, err := newArray()
	if err != nil {
		return err
	}
	one, two := uint64(1), uint64(2)
	if err := element(unix.BPF_MAP_UPDATE_ELEM, fd, &one); err != nil {
		return err
	}
	for name, leave := range map[string]func() error{
		"unshare":     func() error { return unix.Unshare(unix.CLONE_FILES) },
		"close_range": func() error { return unix.CloseRange(1<<20, 1<<20, unix.CLOSE_RANGE_UNSHARE) },
	} {
		err := onThread(func() error {
			if err := leave(); err != nil {
				return err
			}
			unix.Close(fd)
			own, err := newArray()
			if err != nil {
				return err
			}
			if own != fd {
				return fmt.Errorf("%s: descriptor %d, not %d", name, own, fd)
			}
			if err := element(unix.BPF_MAP_UPDATE_ELEM, own, &two); err != nil {
				return err
			}
			other, err := newArray()
			if err != nil {
				return err
			}
			if err := element(unix.BPF_MAP_UPDATE_ELEM, other, &two); err != nil {
				return fmt.Errorf("%s: a descriptor that the first thread does not have: %w", name, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
		value := uint64(0)
		if err := element(unix.BPF_MAP_LOOKUP_ELEM, fd, &value); err != nil || value != 1 {
			return fmt.Errorf("%s: the other thread's map has %d: %w", name, value, err)
		}
	}
	fmt.Println("done")
	return nil
}

func TestThreadsWithDescriptorsOfTheirOwnAreServed(t *testing.T) {
	r := start(t, "own descriptors", "")
	assert.Equal(t, "done\n", r.out)
	assert.Empty(t, r.notes)
}

// firstGoneTool makes calls after the first thread has ended.
func firstGoneTool() error {
	gone := make(chan error)
	go func() {
		runtime.LockOSThread()
		for { // until the first thread is a zombie
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", os.Getpid()))
			if err != nil {
				gone <- err
				return
			}
			if f := status[bytes.LastIndexByte(status, ')')+2]; f == 'Z' {
				break
			}
			runtime.Gosched()
		}
		fd, err := newArray()
		if err == nil {
			value := uint64(7)
			err = element(unix.BPF_MAP_UPDATE_ELEM, fd, &value)
		}
		if err == nil {
			_, err = os.ReadFile("/sys/kernel/btf/vmlinux")
		}
		fmt.Println("calls", outcomeOf(err))
		os.Exit(0)
	}()
	if unix.Gettid() == os.Getpid() {
		_, _, _ = unix.Syscall(unix.SYS_EXIT, 0, 0, 0)
	}
	return <-gone
}

func TestCallsAreServedAfterTheFirstThreadHasEnded(t *testing.T) {
	r := start(t, "first thread gone", "")
	assert.Equal(t, "calls ok\n", r.out)
	assert.Empty(t, r.notes)
}

// closedMemoryTool closes its memory to other processes of its user.
func closedMemoryTool() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	_, err := newArray()
	fmt.Println("create", err != nil)
	_, err = os.ReadFile("/sys/kernel/btf/vmlinux")
	fmt.Println("open", outcomeOf(err))
	return nil
}

func TestACallThatTheHostForbidsIsNamed(t *testing.T) {
	if os.Getuid() != 0 {
		r := start(t, "closed memory", "")
		assert.Equal(t, "create true\nopen EPERM\n", r.out)
		assert.Contains(t, r.notes, "process_vm_readv(2) on the tool is refused")
		return
	}
	start(t, "exit7", "") // skips where there is no supervision
	out := asNobody(t, "supervise", "closed memory")
	assert.Contains(t, out, "create true\nopen EPERM\n")
	assert.Contains(t, out, "process_vm_readv(2) on the tool is refused")
}
