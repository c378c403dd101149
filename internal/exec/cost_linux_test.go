//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func init() { tools["costs"] = costTool }

// costs are the calls whose cost is measured: each returns a function that makes it once.
var costs = []struct {
	name   string
	native bool // can be measured natively without attaching anything
	f      func(measure func(once func() error) error) error
}{
	{"unknown", true, func(measure func(func() error) error) error {
		return measure(func() error {
			if _, _, e := unix.RawSyscall(unix.SYS_BPF, 0xb9f2, 0, 0); e == 0 {
				return unix.EPROTO
			}
			return nil
		})
	}},
	{"lookup", true, func(measure func(func() error) error) error {
		m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
		if err != nil {
			return err
		}
		defer m.Close()
		var key uint32
		var value uint64
		attr := struct {
			fd, _      uint32
			key, value unsafe.Pointer
			flags      uint64
		}{fd: uint32(m.FD()), key: unsafe.Pointer(&key), value: unsafe.Pointer(&value)}
		return measure(func() error {
			if _, _, e := unix.RawSyscall(unix.SYS_BPF, unix.BPF_MAP_LOOKUP_ELEM, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr)); e != 0 {
				return e
			}
			return nil
		})
	}},
	{"open", true, func(measure func(func() error) error) error {
		path := []byte("/dev/null\x00")
		return measure(func() error {
			fd, _, e := unix.RawSyscall6(unix.SYS_OPENAT, ^uintptr(99), uintptr(unsafe.Pointer(&path[0])), 0, 0, 0, 0)
			if e != 0 {
				return e
			}
			_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)
			return nil
		})
	}},
	{"unfiltered", true, func(measure func(func() error) error) error {
		return measure(func() error { unix.Getppid(); return nil })
	}},
	{"fire", false, func(measure func(func() error) error) error {
		line := []byte("sched_switch\x00")
		at := [1]unsafe.Pointer{unsafe.Pointer(&line[0])}
		return readRing(func(r *ringbuf.Reader) error {
			var rec ringbuf.Record
			return measure(func() error {
				if n, _, e := unix.RawSyscall(unix.SYS_BPF, fire, uintptr(unsafe.Pointer(&at)), 8); e != 0 || n != 1 {
					return e
				}
				return r.ReadInto(&rec)
			})
		})
	}},
}

// medianOf returns the median time of a call in nanoseconds, of n calls after a hundred that are
// not counted.
func medianOf(n int, cost func(func(func() error) error) error) (median int64, err error) {
	err = cost(func(once func() error) error {
		times := make([]int64, n)
		for i := -100; i < n; i++ {
			start := time.Now()
			if err := once(); err != nil {
				return err
			}
			times[max(i, 0)] = time.Since(start).Nanoseconds()
		}
		slices.Sort(times)
		median = times[n/2]
		return nil
	})
	return median, err
}

// costTool measures the cost that COST names with N calls.
func costTool() error {
	n, err := strconv.Atoi(os.Getenv("N"))
	if err != nil {
		return err
	}
	for _, c := range costs {
		if c.name == os.Getenv("COST") {
			m, err := medianOf(n, c.f)
			fmt.Println(m)
			return err
		}
	}
	return os.ErrNotExist
}

// BenchmarkCalls measures what calls cost a tool: median-ns is the median of b.N calls. The native
// side needs root.
func BenchmarkCalls(b *testing.B) {
	for _, c := range costs {
		b.Run("native/"+c.name, func(b *testing.B) {
			if !c.native {
				b.Skip("nothing is attached to the host's kernel")
			}
			m, err := medianOf(b.N, c.f)
			if err != nil {
				b.Skip(err)
			}
			b.ReportMetric(float64(m), "median-ns")
		})
		b.Run("served/"+c.name, func(b *testing.B) {
			b.Setenv("COST", c.name)
			b.Setenv("N", strconv.Itoa(b.N))
			r := start(b, "costs", "")
			require.Zero(b, r.code, r.out)
			m, err := strconv.Atoi(strings.TrimSpace(r.out))
			require.NoError(b, err)
			b.ReportMetric(float64(m), "median-ns")
		})
	}
}
