//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
)

// How --live knows how much a call moved, and what. The kernel counts for each thread the bytes
// that its reads and writes returned; since a thread makes one call at a time, the difference at
// its next call is what the last one returned. For TCP, the counters of the connection say what
// arrived and was taken, and what was given to it. The bytes are then in the thread's memory, or
// are there before the call; programs find them at their real addresses.

// transfer is what a call moves, and what was counted before it.
type transfer struct {
	kind
	read, written uint64 // of the thread, or of the connection
	counted       bool
	fd            int32
	whole         int64     // what a call over a Unix stream sends if nothing happens to the connection, -1 if not known
	control       bool      // there is control data, or room for it
	datagram      *datagram // what a receiving call will return, if that was there before it
}

// kind says what a call moves and how it is counted.
type kind struct {
	in, out bool
	socket  bool // counted by the connection
}

// transfers are the calls that move bytes of the first argument's file.
var transfers = sync.OnceValue(func() map[string]kind {
	return map[string]kind{
		"read": {in: true}, "readv": {in: true}, "pread64": {in: true}, "preadv": {in: true}, "preadv2": {in: true},
		"write": {out: true}, "writev": {out: true}, "pwrite64": {out: true}, "pwritev": {out: true}, "pwritev2": {out: true},
		"sendfile": {out: true}, "copy_file_range": {out: true},
		"recvfrom": {in: true, socket: true}, "recvmsg": {in: true, socket: true}, "sendto": {out: true, socket: true}, "sendmsg": {out: true, socket: true},
	}
})

// isBuffer reports whether an argument is memory of any content.
func isBuffer(name string) bool { return strings.Contains(name, "buf") }

// threadBytes returns how many bytes a thread's reads and writes have returned.
func threadBytes(tgid, tid int) (read, written uint64, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/io", tgid, tid))
	if err != nil {
		return 0, 0, false
	}
	found := 0
	for l := range strings.Lines(string(b)) {
		name, v, _ := strings.Cut(strings.TrimSpace(l), ": ")
		n, err := strconv.ParseUint(v, 10, 64)
		switch {
		case err != nil:
		case name == "rchar":
			read = n
			found++
		case name == "wchar":
			written = n
			found++
		}
	}
	return read, written, found == 2
}

// connectionBytes returns how many bytes of a TCP connection were taken from it and given to it.
func connectionBytes(fd int) (taken, given uint64, state uint8, ok bool) {
	const tries = 4 // bytes may arrive between two questions
	for range tries {
		before, err := unix.IoctlGetInt(fd, unix.SIOCINQ)
		if err != nil {
			break
		}
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			break
		}
		if after, err := unix.IoctlGetInt(fd, unix.SIOCINQ); err == nil && after == before && info.Bytes_received >= uint64(after) {
			return info.Bytes_received - uint64(after), info.Bytes_sent - info.Bytes_retrans + uint64(info.Notsent_bytes), info.State, true
		}
	}
	return 0, 0, 0, false
}

// count notes what is counted before a call that moves bytes, and shows programs those that it
// sends.
func (c *call) count(b *begun) {
	k, ok := transfers()[b.name]
	if !ok {
		return
	}
	b.moves = &transfer{kind: k, fd: c.fd(0), whole: -1}
	if b.name == "sendmsg" || b.name == "recvmsg" {
		m, ok := c.message(c.arg(1))
		b.moves.control = ok && m.control != 0
	}
	c.counters(b.moves)
	if k.out && k.socket && !b.moves.counted {
		b.moves.whole = c.sendsWhole(b.name)
	}
	if !k.out {
		c.peek(b)
		return
	}
	switch b.name {
	case "write", "pwrite64", "sendto":
		c.show(c.arg(1), c.arg(2))
	case "writev", "pwritev", "pwritev2":
		c.showVectors(c.arg(1), c.arg(2), maxShownData)
	case "sendmsg":
		c.showMessage(c.arg(1), maxShownData)
	}
}

func (c *call) counters(t *transfer) {
	if !t.socket {
		t.read, t.written, t.counted = threadBytes(c.process().tgid, int(c.n.PID))
		return
	}
	if g, err := c.s.grab(c.n, t.fd); err == nil {
		t.read, t.written, _, t.counted = connectionBytes(g)
		unix.Close(g)
	}
}

// moved returns what a call that moves bytes returned, and shows programs the bytes that came. What
// moved nothing is known only at the end of a file or of a connection.
func (c *call) moved(b *begun, args [6]uint64) (int64, bool) {
	before, now := b.moves, &transfer{kind: b.moves.kind, fd: b.moves.fd}
	var n, stored uint64
	if before.whole >= 0 {
		g, err := c.s.grab(c.n, before.fd)
		if err != nil {
			return 0, false
		}
		defer unix.Close(g)
		return before.whole, isUnixStream(g) && !ready(g, unix.POLLERR|unix.POLLHUP)
	}
	if d := before.datagram; d != nil {
		if !c.received(d) {
			return 0, false
		}
		if n, stored = uint64(d.size), uint64(len(d.head)); n == 0 {
			return 0, true
		}
	} else {
		if c.counters(now); !before.counted || !now.counted {
			return 0, false
		}
		if n = now.written - before.written; before.in {
			n = now.read - before.read
		}
		stored = n
	}
	if n > 1<<31 {
		return 0, false
	}
	if n == 0 {
		return 0, before.in && c.atEnd(before)
	}
	if before.in {
		switch b.name {
		case "read", "pread64", "recvfrom":
			c.show(args[1], stored)
		case "readv", "preadv", "preadv2":
			c.showVectors(args[1], args[2], stored)
		case "recvmsg":
			c.showMessage(args[1], stored)
		}
	}
	return int64(n), true
}

// atEnd reports whether nothing is left to read.
func (c *call) atEnd(t *transfer) bool {
	g, err := c.s.grab(c.n, t.fd)
	if err != nil {
		return false
	}
	defer unix.Close(g)
	if t.socket {
		_, _, state, ok := connectionBytes(g)
		waiting, err := unix.IoctlGetInt(g, unix.SIOCINQ)
		return ok && err == nil && state == tcpCloseWait && waiting == 0
	}
	var st unix.Stat_t
	if unix.Fstat(g, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return false
	}
	at, err := unix.Seek(g, 0, 1)
	return err == nil && at >= st.Size
}

// Limits of what programs see of the memory of processes: bytes of one buffer, and pages that are
// there at the same time.
const (
	maxShownData  = 4096
	maxShownPages = 4096
)

// show copies memory of the process to where programs find it: at the same address.
func (c *call) show(addr, size uint64) {
	size = min(size, maxShownData)
	if b := make([]byte, size); addr+size >= addr && c.Read(addr, b) {
		c.s.showBytes(addr, b)
	}
}

// showBytes shows programs bytes at an address of the process.
func (s *supervisor) showBytes(addr uint64, b []byte) {
	size := uint64(len(b))
	if size == 0 || addr+size < addr {
		return
	}
	k := s.sys.Machine().Kernel()
	const simulated = 64 << 20 // the simulated processes' own memory, which no real address may overwrite
	for _, own := range []uint64{k.UserHeap(), k.UserStack()} {
		if addr < own+simulated && addr+size > own {
			return
		}
	}
	const page = 4096
	for p := addr / page; p <= (addr+size-1)/page; p++ {
		if s.shown[p] {
			continue
		}
		if s.shown == nil {
			s.shown = map[uint64]bool{}
		}
		if len(s.shownOrder) < maxShownPages {
			s.shownOrder = append(s.shownOrder, p)
		} else { // in the place of the page that has been there longest
			oldest := &s.shownOrder[s.shownNext]
			k.UserUnmap(*oldest*page, page)
			delete(s.shown, *oldest)
			*oldest = p
			s.shownNext = (s.shownNext + 1) % maxShownPages
		}
		s.shown[p] = true
	}
	if err := k.UserWrite(addr, b); err != nil {
		s.note("--live: " + err.Error())
	}
}

// showVectors shows the memory of an array of struct iovec, up to size bytes.
func (c *call) showVectors(addr, count, size uint64) {
	count = min(count, 64)
	c.show(addr, 16*count)
	for i := range count {
		v := make([]byte, 16)
		if size == 0 || !c.Read(addr+16*i, v) {
			return
		}
		n := min(le.Uint64(v[8:]), size)
		c.show(le.Uint64(v), n)
		size -= n
	}
}

// showMessage shows a struct msghdr with its address and data.
func (c *call) showMessage(addr, size uint64) {
	h := make([]byte, msghdrSize)
	if !c.Read(addr, h) {
		return
	}
	c.show(addr, msghdrSize)
	c.show(le.Uint64(h), min(uint64(le.Uint32(h[8:])), maxSockaddr))
	c.showVectors(le.Uint64(h[16:]), le.Uint64(h[24:]), size)
}

// showPeer shows the address that accept(2) or recvfrom(2) stored.
func (c *call) showPeer(addr, length uint64) {
	b := make([]byte, 4)
	if addr == 0 || length == 0 || !c.Read(length, b) {
		return
	}
	c.show(length, 4)
	c.show(addr, min(uint64(le.Uint32(b)), maxSockaddr))
}

// showAccepted shows the address that accept(2) stored, which the new socket knows: what was in
// memory may be gone.
func (c *call) showAccepted(fd int32, addr, length uint64) {
	if addr == 0 || length == 0 {
		return
	}
	g, err := c.s.grab(c.n, fd)
	if err != nil {
		return
	}
	defer unix.Close(g)
	if b := peerOf(g); b != nil {
		c.s.showBytes(addr, b)
		c.s.showBytes(length, le.AppendUint32(nil, uint32(len(b))))
	}
}

// peerOf returns the address of a socket's peer as the kernel writes it, nil if it has none.
func peerOf(fd int) []byte {
	b, size := make([]byte, maxSockaddr), uint32(maxSockaddr)
	_, _, e := unix.Syscall(unix.SYS_GETPEERNAME, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(unsafe.Pointer(&size)))
	if e != 0 {
		return nil
	}
	return b[:min(size, maxSockaddr)]
}

// signals fires signal_generate for a signal that a process sends to a process that is there, and
// notes that the call succeeds.
func (c *call) signals(b *begun) {
	var target, sig int32
	switch b.name {
	case "kill", "tkill":
		target, sig = c.fd(0), c.fd(1)
	case "pidfd_send_signal":
		g, err := c.s.grab(c.n, c.fd(0))
		if err != nil {
			return
		}
		target, sig = int32(pidOf(g)), c.fd(1)
		unix.Close(g)
	default:
		return
	}
	if target <= 0 || sig <= 0 || sig > 64 || !c.ours(int(target)) || unix.Kill(int(target), 0) != nil {
		return
	}
	zero := int64(0)
	b.ret = &zero
	tgid := threadGroup(int(target))
	group := int64(1)
	if b.name == "tkill" {
		group = 0
	}
	task, _ := c.s.liveTask(tgid, int(target))
	args := map[string]any{"sig": int64(sig), "group": group, "result": int64(0)}
	for _, kind := range []string{"tp_btf", "raw_tp"} {
		c.s.fireEvent(bpfsys.Event{Hook: kind + "/signal_generate", Args: args, Task: b.task, CPU: b.cpu, Tasks: map[string]map[string]any{"p": task}})
	}
	record := maps.Clone(args)
	record["pid"], record["comm"] = task["pid"], task["comm"]
	c.s.fireEvent(bpfsys.Event{Hook: "tracepoint/signal/signal_generate", Args: record, Task: b.task, CPU: b.cpu})
}

// ours reports whether a process belongs to the session, so that this user's rights over it are the
// tool's, too.
func (c *call) ours(pid int) bool { return c.s.procs[threadGroup(pid)] != nil }

// threadGroup returns the process of a thread.
func threadGroup(tid int) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	for l := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(l, "Tgid:"); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(v))
			return n
		}
	}
	return tid
}
