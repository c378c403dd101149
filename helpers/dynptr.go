package helpers

import (
	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var dynptrHelpers = []Helper{
	{ID: uapi.FuncDynptrFromMem, Topic: "dynptrs", Args: []Arg{ArgMem, ArgAny, ArgAny, ArgDynptr}, Fn: dynptrFromMem},
	{ID: uapi.FuncDynptrRead, Topic: "dynptrs", Args: []Arg{ArgOut, ArgSize, ArgDynptr, ArgAny, ArgAny}, Fn: dynptrRead},
	{ID: uapi.FuncDynptrWrite, Topic: "dynptrs", Args: []Arg{ArgDynptr, ArgAny, ArgMem, ArgSize, ArgAny}, Fn: dynptrWrite},
	{ID: uapi.FuncDynptrData, Topic: "dynptrs", Args: []Arg{ArgDynptr, ArgAny, ArgAny}, Fn: dynptrData},
	{ID: uapi.FuncRingbufReserveDynptr, Topic: "dynptrs", Args: []Arg{ArgMap, ArgAny, ArgAny, ArgDynptr}, Fn: ringbufReserveDynptr},
	{ID: uapi.FuncRingbufSubmitDynptr, Topic: "dynptrs", Args: []Arg{ArgDynptr, ArgAny}, Fn: ringbufSubmitDynptr},
	{ID: uapi.FuncRingbufDiscardDynptr, Topic: "dynptrs", Args: []Arg{ArgDynptr, ArgAny}, Fn: ringbufDiscardDynptr},
}

var dynptrKfuncs = []Kfunc{
	{Name: "bpf_dynptr_from_skb", Topic: "dynptrs", Args: []Arg{ArgCtx, ArgAny, ArgDynptr}, Fn: dynptrFromPacket(dynptrSkb)},
	{Name: "bpf_dynptr_from_xdp", Topic: "dynptrs", Args: []Arg{ArgCtx, ArgAny, ArgDynptr}, Fn: dynptrFromPacket(dynptrXDP)},
	{Name: "bpf_dynptr_slice", Wide: true, Topic: "dynptrs", Args: []Arg{ArgDynptr, ArgAny, ArgMem, ArgSize}, Fn: dynptrSlice(false)},
	{Name: "bpf_dynptr_slice_rdwr", Wide: true, Topic: "dynptrs", Args: []Arg{ArgDynptr, ArgAny, ArgMem, ArgSize}, Fn: dynptrSlice(true)},
	{Name: "bpf_dynptr_adjust", Topic: "dynptrs", Args: []Arg{ArgDynptr, ArgAny, ArgAny}, Fn: dynptrAdjust},
	{Name: "bpf_dynptr_is_null", Topic: "dynptrs", Args: []Arg{ArgDynptr}, Fn: dynptrIsNull},
	{Name: "bpf_dynptr_is_rdonly", Topic: "dynptrs", Args: []Arg{ArgDynptr}, Fn: dynptrIsRdonly},
	{Name: "bpf_dynptr_size", Topic: "dynptrs", Args: []Arg{ArgDynptr}, Fn: dynptrSize},
	{Name: "bpf_dynptr_clone", Topic: "dynptrs", Args: []Arg{ArgDynptr, ArgDynptr}, Fn: dynptrClone},
	{Name: "bpf_dynptr_copy", Topic: "dynptrs", Args: []Arg{ArgDynptr, ArgAny, ArgDynptr, ArgAny, ArgAny}, Fn: dynptrCopy},
	{Name: "bpf_dynptr_memset", Topic: "dynptrs", Args: []Arg{ArgDynptr, ArgAny, ArgAny, ArgAny}, Fn: dynptrMemset},
}

// Kinds of dynptrs (enum bpf_dynptr_type).
const (
	dynptrLocal = iota + 1
	dynptrRingbuf
	dynptrSkb
	dynptrXDP
)

const (
	dynptrMax    = 1<<24 - 1 // DYNPTR_MAX_SIZE
	dynptrShift  = 28
	dynptrRdonly = 1 << 31
)

// dynptr is struct bpf_dynptr_kern: where it points to, size with kind and read-only bit, offset. It lives in guest
// memory, where programs must not look.
type dynptr struct {
	data      uint64
	size, off uint32
	kind      uint8
	rdonly    bool
}

func (e *Env) dynptrAt(addr uint64) (dynptr, *vm.Action) {
	data, f := e.readU64(addr)
	if f != nil {
		return dynptr{}, f
	}
	size, f := e.readU32(addr + 8)
	if f != nil {
		return dynptr{}, f
	}
	off, f := e.readU32(addr + 12)
	return dynptr{data: data, size: size & dynptrMax, off: off, kind: uint8(size >> dynptrShift & 7), rdonly: size&dynptrRdonly != 0}, f
}

func (e *Env) putDynptr(addr uint64, d dynptr) *vm.Action {
	var b [uapi.DynptrSize]byte
	size := d.size | uint32(d.kind)<<dynptrShift
	if d.rdonly {
		size |= dynptrRdonly
	}
	e.order().PutUint64(b[:], d.data)
	e.order().PutUint32(b[8:], size)
	e.order().PutUint32(b[12:], d.off)
	return e.write(addr, b[:])
}

// inside is bpf_dynptr_check_off_len.
func (d dynptr) inside(off, n uint64) bool { return n <= uint64(d.size) && off <= uint64(d.size)-n }

// dynptrLoad copies the bytes at off, also those of a packet, which may lie in several pieces.
func (e *Env) dynptrLoad(d dynptr, off, n uint64) ([]byte, *vm.Action) {
	if !d.packet() {
		return e.read(d.data+uint64(d.off)+off, n)
	}
	c, f := e.packetOf(d.data)
	if f != nil {
		return nil, f
	}
	b := make([]byte, n)
	c.Packet.ReadAt(b, int(uint64(d.off)+off))
	return b, nil
}

// dynptrStore stores bytes at off. Of a packet with an sk_buff they become linear.
func (e *Env) dynptrStore(d dynptr, off uint64, data []byte) *vm.Action {
	at := uint64(d.off) + off
	if !d.packet() {
		return e.write(d.data+at, data)
	}
	c, f := e.packetOf(d.data)
	if f != nil {
		return f
	}
	if d.kind == dynptrSkb {
		c.Packet.Pull(int(at) + len(data))
	}
	c.Packet.WriteAt(data, int(at))
	return nil
}

// shrunk judges a range of a packet, which may be shorter by now than it was when the dynptr was made.
func (e *Env) shrunk(d dynptr, off, n uint64) (uapi.Errno, *vm.Action) {
	if !d.packet() {
		return 0, nil
	}
	c, f := e.packetOf(d.data)
	if f != nil || uint64(d.off)+off+n <= uint64(c.Packet.Len()) {
		return 0, f
	}
	if d.kind == dynptrXDP {
		return uapi.EINVAL, nil
	}
	return uapi.EFAULT, nil
}

func (d dynptr) packet() bool { return d.kind == dynptrSkb || d.kind == dynptrXDP }

// nullDynptr makes the dynptr invalid and returns the errno.
func (e *Env) nullDynptr(addr uint64, errno uapi.Errno) (uint64, *vm.Action) {
	return errnoRet(errno), e.putDynptr(addr, dynptr{})
}

func dynptrFromMem(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	size := a[1] & 0xffffffff
	switch {
	case size > dynptrMax:
		return e.nullDynptr(a[3], uapi.E2BIG)
	case a[2] != 0:
		return e.nullDynptr(a[3], uapi.EINVAL)
	}
	return 0, e.putDynptr(a[3], dynptr{data: a[0], size: uint32(size), kind: dynptrLocal})
}

func dynptrRead(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	d, f := e.dynptrAt(a[2])
	if f != nil {
		return 0, f
	}
	n, off := a[1]&0xffffffff, a[3]&0xffffffff
	switch {
	case d.data == 0 || a[4] != 0:
		return errnoRet(uapi.EINVAL), nil
	case !d.inside(off, n):
		return errnoRet(uapi.E2BIG), nil
	}
	if errno, f := e.shrunk(d, off, n); errno != 0 || f != nil {
		return errnoRet(errno), f
	}
	data, f := e.dynptrLoad(d, off, n)
	if f != nil {
		return 0, f
	}
	return 0, e.write(a[0], data)
}

func dynptrWrite(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	d, f := e.dynptrAt(a[0])
	if f != nil {
		return 0, f
	}
	off, n := a[1]&0xffffffff, a[3]&0xffffffff
	switch {
	case d.data == 0 || d.rdonly:
		return errnoRet(uapi.EINVAL), nil
	case !d.inside(off, n):
		return errnoRet(uapi.E2BIG), nil
	case d.kind == dynptrSkb: // takes the flags of bpf_skb_store_bytes
		return skbStoreBytes(t, &[5]uint64{d.data, uint64(d.off) + off, a[2], n, a[4]})
	case a[4] != 0:
		return errnoRet(uapi.EINVAL), nil
	}
	data, f := e.read(a[2], n)
	if f != nil {
		return 0, f
	}
	if errno, f := e.shrunk(d, off, n); errno != 0 || f != nil {
		return errnoRet(errno), f
	}
	return 0, e.dynptrStore(d, off, data)
}

// dynptrData returns NULL where the bytes cannot be handed out: read-only data, packets, out of range.
func dynptrData(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	d, f := e.dynptrAt(a[0])
	if f != nil {
		return 0, f
	}
	off, n := a[1]&0xffffffff, a[2]&0xffffffff
	if d.data == 0 || d.rdonly || !d.inside(off, n) || d.kind == dynptrSkb || d.kind == dynptrXDP {
		return 0, nil
	}
	return d.data + uint64(d.off) + off, nil
}

// ringbufReserveDynptr must be followed by a submit or discard of the dynptr even when it failed.
func ringbufReserveDynptr(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	r, f := e.ringAt(a[0])
	if f != nil {
		return 0, f
	}
	e.Run.hold(a[3], "ring buffer dynptr")
	size := a[1] & 0xffffffff
	switch {
	case a[2] != 0:
		return e.nullDynptr(a[3], uapi.EINVAL)
	case size > dynptrMax:
		return e.nullDynptr(a[3], uapi.E2BIG)
	}
	addr, ok := r.Reserve(size, 0)
	if !ok {
		return e.nullDynptr(a[3], uapi.EINVAL)
	}
	e.Run.records[addr] = r
	return 0, e.putDynptr(a[3], dynptr{data: addr, size: uint32(size), kind: dynptrRingbuf})
}

func (e *Env) endDynptr(addr, flags uint64, name string, finish func(maps.RingBuffer, uint64, uint64) uapi.Errno) (uint64, *vm.Action) {
	d, f := e.dynptrAt(addr)
	if f != nil {
		return 0, f
	}
	if !e.Run.release(addr) {
		return 0, badArg("%s of a dynptr that was not reserved", name)
	}
	if d.data == 0 {
		return 0, nil
	}
	r, ok := e.Run.records[d.data]
	if !ok {
		return 0, badArg("%s of a dynptr without record", name)
	}
	delete(e.Run.records, d.data)
	if errno := finish(r, d.data, flags); errno != 0 {
		return 0, badArg("%s: %v", name, errno)
	}
	return 0, e.putDynptr(addr, dynptr{})
}

func ringbufSubmitDynptr(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	return envOf(t).endDynptr(a[0], a[1], "bpf_ringbuf_submit_dynptr", maps.RingBuffer.Submit)
}

func ringbufDiscardDynptr(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	return envOf(t).endDynptr(a[0], a[1], "bpf_ringbuf_discard_dynptr", maps.RingBuffer.Discard)
}

// dynptrFromPacket makes a dynptr of the whole packet; read-only for programs that may not store to it.
func dynptrFromPacket(kind uint8) vm.HelperFunc {
	return func(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
		e := envOf(t)
		c, f := e.packetOf(a[0])
		if f != nil {
			return 0, f
		}
		if a[1] != 0 {
			return e.nullDynptr(a[2], uapi.EINVAL)
		}
		return 0, e.putDynptr(a[2], dynptr{data: a[0], size: uint32(c.Packet.Len()), kind: kind, rdonly: c.Packet.ReadOnly()})
	}
}

// dynptrSlice returns a pointer to the bytes themselves; of a packet where they lie in several pieces, or outside of the linear
// part of an sk_buff, the buffer the program offers with a copy of them.
func dynptrSlice(write bool) vm.HelperFunc {
	return func(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
		e := envOf(t)
		d, f := e.dynptrAt(a[0])
		if f != nil {
			return 0, f
		}
		off, n := a[1]&0xffffffff, a[3]&0xffffffff
		if d.data == 0 || write && d.rdonly || !d.inside(off, n) {
			return 0, nil
		}
		at := uint64(d.off) + off
		if !d.packet() {
			return d.data + at, nil
		}
		if errno, f := e.shrunk(d, off, n); errno != 0 || f != nil {
			return 0, f
		}
		c, f := e.packetOf(d.data)
		if f != nil {
			return 0, f
		}
		p := c.Packet
		if addr, ok := p.Pointer(int(at), int(n)); ok && (d.kind == dynptrXDP || int(at+n) <= p.Linear()) {
			return addr, nil
		}
		if a[2] == 0 {
			return 0, nil
		}
		b := make([]byte, n)
		p.ReadAt(b, int(at))
		return a[2], e.write(a[2], b)
	}
}

func dynptrAdjust(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	d, f := e.dynptrAt(a[0])
	if f != nil {
		return 0, f
	}
	start, end := uint32(a[1]), uint32(a[2])
	switch {
	case d.data == 0 || start > end:
		return errnoRet(uapi.EINVAL), nil
	case start > d.size || end > d.size:
		return errnoRet(uapi.ERANGE), nil
	}
	d.off += start
	d.size = end - start
	return 0, e.putDynptr(a[0], d)
}

func dynptrIsNull(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	d, f := envOf(t).dynptrAt(a[0])
	return boolRet(d.data == 0), f
}

func dynptrIsRdonly(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	d, f := envOf(t).dynptrAt(a[0])
	return boolRet(d.data != 0 && d.rdonly), f
}

func boolRet(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// dynptrSize is unsigned 32 bits wide, so that its error is 0xffffffea.
func dynptrSize(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	d, f := envOf(t).dynptrAt(a[0])
	if d.data == 0 {
		return uint64(uint32(errnoRet(uapi.EINVAL))), f
	}
	return uint64(d.size), f
}

func dynptrClone(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	d, f := e.dynptrAt(a[0])
	if f != nil {
		return 0, f
	}
	if d.data == 0 {
		return e.nullDynptr(a[1], uapi.EINVAL)
	}
	return 0, e.putDynptr(a[1], d)
}

func dynptrCopy(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	dst, f := e.dynptrAt(a[0])
	if f != nil {
		return 0, f
	}
	src, f := e.dynptrAt(a[2])
	if f != nil {
		return 0, f
	}
	to, from, n := a[1]&0xffffffff, a[3]&0xffffffff, a[4]&0xffffffff
	// The kernel tries both sides as plain memory, then writes from one or reads to the other, then checks.
	srcOK, dstOK := src.data != 0 && src.inside(from, n), dst.data != 0 && !dst.rdonly && dst.inside(to, n)
	switch {
	case srcOK && !dstOK && (dst.data == 0 || dst.rdonly), dstOK && src.data == 0:
		return errnoRet(uapi.EINVAL), nil
	case !dst.inside(to, n) || !src.inside(from, n):
		return errnoRet(uapi.E2BIG), nil
	case src.data == 0 || dst.data == 0 || dst.rdonly:
		return 0, nil // nothing to copy
	}
	for _, side := range [...]struct {
		d   dynptr
		off uint64
	}{{src, from}, {dst, to}} {
		if errno, f := e.shrunk(side.d, side.off, n); errno != 0 || f != nil {
			return errnoRet(errno), f
		}
	}
	data, f := e.dynptrLoad(src, from, n)
	if f != nil {
		return 0, f
	}
	return 0, e.dynptrStore(dst, to, data)
}

func dynptrMemset(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	d, f := e.dynptrAt(a[0])
	if f != nil {
		return 0, f
	}
	off, n := a[1]&0xffffffff, a[2]&0xffffffff
	switch {
	case d.rdonly:
		return errnoRet(uapi.EINVAL), nil
	case !d.inside(off, n):
		return errnoRet(uapi.E2BIG), nil
	case d.data == 0:
		return 0, nil // nothing to set
	}
	if errno, f := e.shrunk(d, off, n); errno != 0 || f != nil {
		return errnoRet(errno), f
	}
	b, f := e.buffer(n)
	if f != nil {
		return 0, f
	}
	for i := range b {
		b[i] = byte(a[3])
	}
	return 0, e.dynptrStore(d, off, b)
}
