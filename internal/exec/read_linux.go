//go:build linux && (amd64 || arm64)

package exec

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
)

// Reads of perf events return their counts; all other reads are the host's.

// counter returns the perf event of the descriptor that a call reads from, or nil.
func (c *call) counter() *bpfsys.PerfEvent {
	if !c.s.counted {
		return nil
	}
	if f := c.s.fileAt(c.n, c.fd(0)); f != nil {
		e, _ := f.object.(*bpfsys.PerfEvent)
		return e
	}
	return nil
}

func (c *call) read() {
	e := c.counter()
	if e == nil {
		c.s.host(c.n)
		return
	}
	c.s.result(c.n, c.s.sys.PerfRead(c, e, c.arg(1), c.arg(2)))
}

// maxBuffers is UIO_MAXIOV, the most buffers of a readv(2).
const maxBuffers = 1024

// readv reads the counts once for each buffer, until one fails or is not filled: perf events have a
// read but no read_iter operation (fs/read_write.c do_loop_readv_writev). A first buffer of no
// bytes fails, later ones are passed over.
func (c *call) readv() { c.readvAs(0) }

// rwfHighPriority is RWF_HIPRI, the one flag of preadv2(2) that a file without read_iter takes.
const rwfHighPriority = 1

// readvAs is readv with flags of preadv2(2).
func (c *call) readvAs(flags uint64) {
	e := c.counter()
	if e == nil {
		c.s.host(c.n)
		return
	}
	vec, errno := c.buffers()
	room := func(i uint64) uint64 { return le.Uint64(vec[16*i+8:]) }
	n, all := uint64(len(vec)/16), uint64(0)
	for i := range n {
		all |= room(i)
	}
	switch {
	case errno != 0 || all == 0:
		c.s.reply(c.n, 0, errno)
		return
	case flags&^rwfHighPriority != 0:
		c.s.reply(c.n, 0, unix.EOPNOTSUPP)
		return
	}
	var total bpfsys.Result
	for i := range n {
		if i > 0 && room(i) == 0 {
			continue
		}
		r := c.s.sys.PerfRead(c, e, le.Uint64(vec[16*i:]), room(i))
		if r.Errno != 0 {
			if total.Val == 0 {
				total = r
			}
			break
		}
		if total.Val += r.Val; uint64(r.Val) != room(i) {
			break
		}
	}
	c.s.result(c.n, total)
}

// buffers reads and checks the buffers of a readv(2), struct iovec each (import_iovec).
func (c *call) buffers() ([]byte, unix.Errno) {
	n := uint32(c.arg(2)) // the kernel ignores the high half
	if n > maxBuffers {
		return nil, unix.EINVAL
	}
	vec := make([]byte, 16*n)
	if n > 0 && !c.Read(c.arg(1), vec) {
		return nil, unix.EFAULT
	}
	errno := unix.Errno(0)
	for v := range slices.Chunk(vec, 16) {
		at, size := le.Uint64(v), le.Uint64(v[8:])
		switch {
		case int64(size) < 0:
			return nil, unix.EINVAL
		case int64(at+size) < 0 || int64(at) < 0: // no addresses of a process (access_ok)
			errno = unix.EFAULT
		}
	}
	return vec, errno
}

// preadv2 is readv(2) with flags at the position -1.
func (c *call) preadv2() {
	if int64(c.arg(3)) == -1 {
		c.readvAs(c.arg(5))
		return
	}
	c.pread()
}

// pread fails: perf events have no position, and no position is negative.
func (c *call) pread() {
	if c.counter() == nil {
		c.s.host(c.n)
		return
	}
	errno := unix.ESPIPE
	if int64(c.arg(3)) < 0 {
		errno = unix.EINVAL
	}
	c.s.reply(c.n, 0, errno)
}
