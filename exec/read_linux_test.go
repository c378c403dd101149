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
	n, err = unix.Pread(fd, b[:16], 0)
	show("pread", n, err)
	_, _, e := unix.Syscall(unix.SYS_READ, uintptr(fd), 0, 16)
	fmt.Println("nowhere:", unix.ErrnoName(e))

	f, err := os.CreateTemp("", "")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, _ = f.WriteString("0123456789abcdef")
	n, err = unix.Pread(int(f.Fd()), b[:8], 8)
	fmt.Println("file:", n, err, string(b[:n]))
	return nil
}

func TestCountsOfPerfEventsAreRead(t *testing.T) {
	for _, live := range []bool{false, true} {
		r := start(t, "counts", "", func(c *Config) { c.Live = live })
		assert.Equal(t, "read 8: ENOSPC\nread 16: 16 bytes, count 0 id 1\nread 512: 16 bytes, count 0 id 1\nreadv: 16 bytes, count 0 id 1\npread: ESPIPE\nnowhere: EFAULT\n"+
			"file: 8 <nil> 89abcdef\n", r.out, "live %t", live)
		assert.Zero(t, r.code)
	}
}
