//go:build linux && (amd64 || arm64)

package exec

import (
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/bpfsys"
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

// readv reads the counts once for each buffer, until one fails or is not filled: perf events have a read but no read_iter operation (fs/read_write.c
// do_loop_readv_writev). A first buffer of no bytes fails, later ones are passed over.
func (c *call) readv() {
	e := c.counter()
	if e == nil {
		c.s.host(c.n)
		return
	}
	n := c.arg(2)
	if n > maxBuffers {
		c.s.reply(c.n, 0, unix.EINVAL)
		return
	}
	vec := make([]byte, 16*n) // struct iovec
	if !c.Read(c.arg(1), vec) {
		c.s.reply(c.n, 0, unix.EFAULT)
		return
	}
	room := func(i uint64) uint64 { return le.Uint64(vec[16*i+8:]) }
	all := uint64(0)
	for i := range n {
		if all |= room(i); int64(room(i)) < 0 {
			c.s.reply(c.n, 0, unix.EINVAL)
			return
		}
	}
	if all == 0 {
		c.s.reply(c.n, 0, 0)
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

// preadv2 is readv(2) at the position -1.
func (c *call) preadv2() {
	if int64(c.arg(3)) == -1 {
		c.readv()
		return
	}
	c.pread()
}

// pread fails: perf events have no position.
func (c *call) pread() {
	if c.counter() == nil {
		c.s.host(c.n)
		return
	}
	c.s.reply(c.n, 0, unix.ESPIPE)
}
