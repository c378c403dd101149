//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func init() { tools["select"], tools["signalled"] = selectTool, signalledTool }

// ringOf attaches a program that sends records to a ring buffer, and hands over the buffer's
// descriptor and a reader.
func ringOf(use func(fd int, r *ringbuf.Reader) error) error {
	const first = 64
	var fd int
	return readRing(func(r *ringbuf.Reader) error {
		for id := ebpf.MapID(0); ; {
			next, err := ebpf.MapGetNextID(id)
			if err != nil {
				return err
			}
			id = next
			m, err := ebpf.NewMapFromID(id)
			if err != nil {
				return err
			}
			if m.Type() == ebpf.RingBuf {
				fd, err = unix.Dup(m.FD())
				if err == nil {
					err = unix.Dup3(fd, first, unix.O_CLOEXEC) // in the second word of the sets
				}
				if err != nil {
					return err
				}
				return use(first, r)
			}
			m.Close()
		}
	})
}

// rawSelect calls select(2), or pselect6(2) on architectures without select, and stores the time
// that is left in limit.
func rawSelect(n int, in, out, ex *unix.FdSet, limit *time.Duration) (int, error) {
	nr, unit := sysSelect, time.Microsecond
	if nr < 0 {
		nr, unit = unix.SYS_PSELECT6, time.Nanosecond
	}
	t := [2]int64{int64(*limit / time.Second), int64(*limit % time.Second / unit)}
	var r uintptr
	var e unix.Errno
	for e = unix.EINTR; e == unix.EINTR; { // Go's scheduler sends signals
		r, _, e = unix.Syscall6(uintptr(nr), uintptr(n), uintptr(unsafe.Pointer(in)), uintptr(unsafe.Pointer(out)), uintptr(unsafe.Pointer(ex)), uintptr(unsafe.Pointer(&t)), 0)
	}
	*limit = time.Duration(t[0])*time.Second + time.Duration(t[1])*unit
	if e != 0 {
		return 0, e
	}
	return int(r), nil
}

// selectTool waits for a ring buffer and a pipe by select(2) and pselect6(2).
func selectTool() error {
	return ringOf(func(fd int, r *ringbuf.Reader) error {
		var pipe [2]int
		if err := unix.Pipe(pipe[:]); err != nil {
			return err
		}
		set := func(fds ...int) *unix.FdSet {
			s := &unix.FdSet{}
			for _, f := range fds {
				s.Set(f)
			}
			return s
		}
		has := func(s *unix.FdSet) string {
			var out []string
			for name, f := range map[string]int{"ring": fd, "pipe": pipe[0], "end": pipe[1]} {
				if s.IsSet(f) {
					out = append(out, name)
				}
			}
			return strings.Join(out, " ")
		}
		all := []int{fd, pipe[0]}
		in, out, ex := set(all...), set(fd), set(all...)
		limit := 20 * time.Millisecond
		begin := time.Now()
		n, err := rawSelect(fd+1, in, out, ex, &limit)
		fmt.Printf("timeout: %d %s [%s] [%s] [%s] waited %t left %v\n", n, outcomeOf(err), has(in), has(out), has(ex), time.Since(begin) >= 20*time.Millisecond, limit)
		in, out = set(all...), set(pipe[1])
		n, err = unix.Pselect(fd+1, in, out, nil, nil, nil)
		fmt.Printf("end of a pipe: %d %s [%s] [%s]\n", n, outcomeOf(err), has(in), has(out))
		in, ex = set(all...), set(all...)
		go func() {
			time.Sleep(30 * time.Millisecond)
			line := []byte("sched_switch\x00")
			at := uint64(uintptr(unsafe.Pointer(&line[0])))
			_, _, _ = unix.Syscall(unix.SYS_BPF, fire, uintptr(unsafe.Pointer(&at)), 8)
			runtime.KeepAlive(line)
		}()
		limit = 100 * time.Second
		n, err = rawSelect(fd+1, in, nil, ex, &limit)
		fmt.Printf("record: %d %s [%s] [%s] left %t\n", n, outcomeOf(err), has(in), has(ex), limit > 0 && limit < 100*time.Second)
		if rec, err := r.Read(); err != nil || rec.RawSample[0] != 7 {
			return fmt.Errorf("read: %w", err)
		}
		if _, err := unix.Write(pipe[1], []byte{1}); err != nil {
			return err
		}
		in = set(all...)
		n, err = unix.Pselect(fd+1, in, nil, nil, &unix.Timespec{Sec: 100}, nil)
		fmt.Printf("pipe: %d %s [%s]\n", n, outcomeOf(err), has(in))
		_, err = unix.Select(fd+1, set(fd, 50), nil, nil, nil)
		fmt.Printf("closed: %s\n", outcomeOf(err))
		page, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			return err
		}
		fixed := (*unix.FdSet)(unsafe.Pointer(&page[0]))
		*fixed = *set(all...)
		if err := unix.Mprotect(page, unix.PROT_READ); err != nil {
			return err
		}
		_, err = unix.Pselect(fd+1, fixed, nil, nil, &unix.Timespec{}, nil)
		fmt.Printf("set that may not be written: %s\n", outcomeOf(err))
		for _, nsec := range []int64{-1, 1_000_000_000} {
			_, err = unix.Pselect(fd+1, set(fd), nil, nil, &unix.Timespec{Nsec: nsec}, nil)
			fmt.Printf("no time: %s\n", outcomeOf(err))
		}
		return nil
	})
}

func TestSelectWaitsForObjects(t *testing.T) {
	r := start(t, "select", "")
	assert.Equal(t, "timeout: 0 ok [] [] [] waited true left 0s\nend of a pipe: 1 ok [] [end]\nrecord: 1 ok [ring] [] left true\npipe: 1 ok [pipe]\nclosed: EBADF\nset that may not be written: EFAULT\nno time: EINVAL\nno time: EINVAL\n", r.out)
	assert.Zero(t, r.code, r.notes)
}

// signalledTool waits for a ring buffer that stays empty, and gets signals.
func signalledTool() error {
	return ringOf(func(fd int, _ *ringbuf.Reader) error {
		got := make(chan os.Signal, 1)
		signal.Notify(got, unix.SIGALRM)
		for _, wait := range []func() error{
			func() error { _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); return err },
			func() error {
				s := &unix.FdSet{}
				s.Set(fd)
				_, err := unix.Select(fd+1, s, nil, nil, nil)
				return err
			},
		} {
			if _, err := unix.Setitimer(unix.ITIMER_REAL, unix.Itimerval{Value: unix.Timeval{Usec: 50_000}, Interval: unix.Timeval{Usec: 50_000}}); err != nil {
				return err
			}
			fmt.Println(outcomeOf(wait()))
			if _, err := unix.Setitimer(unix.ITIMER_REAL, unix.Itimerval{}); err != nil {
				return err
			}
		}
		<-got
		return nil
	})
}

func TestSignalsEndWaitsForObjects(t *testing.T) {
	r := start(t, "signalled", "")
	assert.Equal(t, "EINTR\nEINTR\n", r.out)
	assert.Zero(t, r.code, r.notes)
}
