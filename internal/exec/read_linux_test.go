//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func init() { tools["counts"] = countsTool }

// countsTool reads a perf event in every way, and bytes of the same lengths from a file.
func countsTool() error {
	a := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_PAGE_FAULTS, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Read_format: unix.PERF_FORMAT_ID}
	fd, err := unix.PerfEventOpen(&a, 0, -1, -1, 0)
	if err != nil {
		return err
	}
	b := make([]byte, 512)
	show := func(name string, n int, err error) {
		if err != nil {
			fmt.Println(name+":", outcomeOf(err))
			return
		}
		fmt.Println(name+":", n, "bytes, count", le.Uint64(b), "id", le.Uint64(b[8:]))
	}
	for _, room := range []int{8, 16, 512} {
		n, err := unix.Read(fd, b[:room])
		show(fmt.Sprint("read ", room), n, err)
	}
	n, err := unix.Readv(fd, [][]byte{b[:24]})
	show("readv", n, err)
	for _, sizes := range [][]int{{16, 16}, {24, 16}, {16, 8}, {16, 24, 16}, {8, 16}, {16, 0, 16}, {0, 16}, {0}} {
		var to [][]byte
		for _, size := range sizes {
			to = append(to, make([]byte, size))
		}
		n, err := unix.Readv(fd, to)
		fmt.Printf("readv %v: %d %s\n", sizes, max(n, 0), outcomeOf(err))
	}
	n, err = unix.Pread(fd, b[:16], 0)
	show("pread", n, err)
	n, err = unix.Preadv(fd, [][]byte{b[:16], b[16:32]}, 0)
	show("preadv", n, err)
	_, _, e := unix.Syscall(unix.SYS_READ, uintptr(fd), 0, 16)
	fmt.Println("nowhere:", unix.ErrnoName(e))
	type buffer struct{ at, size uint64 }
	to, here := uint64(uintptr(unsafe.Pointer(&b[0]))), ^uint64(0)
	for _, w := range []struct {
		name   string
		bufs   []buffer
		nr     uintptr
		n      uint64
		at     uint64
		flags  uint64
		middle uint64 // the position's high half, which a 64-bit kernel ignores
	}{
		{"pread at -1", nil, unix.SYS_PREAD64, 16, here, 0, 0},
		{"preadv at -1", []buffer{{to, 16}}, unix.SYS_PREADV, 1, here, 0, 0},
		{"preadv at 0, high half -1", []buffer{{to, 16}}, unix.SYS_PREADV, 1, 0, 0, here},
		{"preadv2 here", []buffer{{to, 16}}, unix.SYS_PREADV2, 1, here, 0, 0},
		{"preadv2 here, RWF_HIPRI", []buffer{{to, 16}}, unix.SYS_PREADV2, 1, here, 1, 0},
		{"preadv2 here, RWF_NOWAIT", []buffer{{to, 16}}, unix.SYS_PREADV2, 1, here, 8, 0},
		{"preadv2 here, unknown flag", []buffer{{to, 16}}, unix.SYS_PREADV2, 1, here, 1 << 30, 0},
		{"preadv2 here, no bytes, RWF_NOWAIT", []buffer{{to, 0}}, unix.SYS_PREADV2, 1, here, 8, 0},
		{"preadv2 at 0, RWF_NOWAIT", []buffer{{to, 16}}, unix.SYS_PREADV2, 1, 0, 8, 0},
		{"preadv2 at -2", []buffer{{to, 16}}, unix.SYS_PREADV2, 1, here - 1, 0, 0},
		{"readv, high half of the count", []buffer{{to, 16}}, unix.SYS_READV, 1<<32 + 1, 0, 0, 0},
		{"readv of 1025", []buffer{{to, 16}}, unix.SYS_READV, 1025, 0, 0, 0},
		{"readv, negative size", []buffer{{to, 16}, {to, here}}, unix.SYS_READV, 2, 0, 0, 0},
		{"readv, second in the kernel's half", []buffer{{to, 16}, {here - 15, 16}}, unix.SYS_READV, 2, 0, 0, 0},
		{"readv, second unmapped", []buffer{{to, 16}, {8, 16}}, unix.SYS_READV, 2, 0, 0, 0},
	} {
		at := uintptr(unsafe.Pointer(&b[0]))
		if w.bufs != nil {
			at = uintptr(unsafe.Pointer(&w.bufs[0]))
		}
		n, _, e := unix.Syscall6(w.nr, uintptr(fd), at, uintptr(w.n), uintptr(w.at), uintptr(w.middle), uintptr(w.flags))
		if e != 0 {
			fmt.Printf("%s: %s\n", w.name, unix.ErrnoName(e))
			continue
		}
		fmt.Printf("%s: %d\n", w.name, n)
	}

	f, err := os.CreateTemp("", "")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, _ = f.WriteString("0123456789abcdef")
	n, err = unix.Pread(int(f.Fd()), b[:8], 8)
	fmt.Println("file:", n, err, string(b[:n]))
	if _, err := f.Seek(0, 0); err != nil {
		return err
	}
	n, err = unix.Readv(int(f.Fd()), [][]byte{b[:8], b[8:12]})
	fmt.Println("file:", n, err, string(b[:n]))
	return nil
}

func TestCountsOfPerfEventsAreRead(t *testing.T) {
	for _, live := range []bool{false, true} {
		r := start(t, "counts", "", func(c *Config) { c.Live = live })
		assert.Equal(t, "read 8: ENOSPC\nread 16: 16 bytes, count 0 id 1\nread 512: 16 bytes, count 0 id 1\nreadv: 16 bytes, count 0 id 1\n"+
			// what a running kernel answers, with 24 bytes instead of 16
			"readv [16 16]: 32 ok\nreadv [24 16]: 16 ok\nreadv [16 8]: 16 ok\nreadv [16 24 16]: 32 ok\nreadv [8 16]: 0 ENOSPC\nreadv [16 0 16]: 32 ok\nreadv [0 16]: 0 ENOSPC\nreadv [0]: 0 ok\n"+
			"pread: ESPIPE\npreadv: ESPIPE\nnowhere: EFAULT\n"+
			"pread at -1: EINVAL\npreadv at -1: EINVAL\npreadv at 0, high half -1: ESPIPE\npreadv2 here: 16\npreadv2 here, RWF_HIPRI: 16\npreadv2 here, RWF_NOWAIT: ENOTSUP\n"+
			"preadv2 here, unknown flag: ENOTSUP\npreadv2 here, no bytes, RWF_NOWAIT: 0\npreadv2 at 0, RWF_NOWAIT: ESPIPE\npreadv2 at -2: EINVAL\n"+
			"readv, high half of the count: 16\nreadv of 1025: EINVAL\nreadv, negative size: EINVAL\nreadv, second in the kernel's half: EFAULT\nreadv, second unmapped: 16\n"+
			"file: 8 <nil> 89abcdef\nfile: 12 <nil> 0123456789ab\n", r.out, "live %t", live)
		assert.Zero(t, r.code)
	}
}
