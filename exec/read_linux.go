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

// readv reads into one buffer, the only form that the filter notifies.
func (c *call) readv() {
	e := c.counter()
	if e == nil {
		c.s.host(c.n)
		return
	}
	v := make([]byte, 16) // struct iovec
	if !c.Read(c.arg(1), v) {
		c.s.reply(c.n, 0, unix.EFAULT)
		return
	}
	c.s.result(c.n, c.s.sys.PerfRead(c, e, le.Uint64(v), le.Uint64(v[8:])))
}

// pread fails: perf events have no position.
func (c *call) pread() {
	if c.counter() == nil {
		c.s.host(c.n)
		return
	}
	c.s.reply(c.n, 0, unix.ESPIPE)
}
