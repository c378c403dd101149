package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/guest"
	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/vm"
)

var dynptrHelpers = []row{
	{ID: uapi.FuncDynptrFromMem, Do: dynptrFromMem},
	{ID: uapi.FuncDynptrRead, Do: on(2, (*Call).dynptrAt)(dynptrRead)},
	{ID: uapi.FuncDynptrWrite, Do: onDynptr(dynptrWrite)},
	{ID: uapi.FuncDynptrData, Do: onDynptr(dynptrData)},
	{ID: uapi.FuncRingbufReserveDynptr, Do: onRing(ringbufReserveDynptr)},
	{ID: uapi.FuncRingbufSubmitDynptr, Do: sentDynptr(endDynptr("bpf_ringbuf_submit_dynptr", maps.RingBuffer.Submit))},
	{ID: uapi.FuncRingbufDiscardDynptr, Do: endDynptr("bpf_ringbuf_discard_dynptr", maps.RingBuffer.Discard)},
}

var dynptrKfuncs = []kfuncRow{
	{Name: "bpf_dynptr_from_skb", Args: []proto.Arg{argCtx, argAny, argDynptr}, Do: dynptrFromPacket(dynptrSkb)},
	{Name: "bpf_dynptr_from_xdp", Args: []proto.Arg{argCtx, argAny, argDynptr}, Do: dynptrFromPacket(dynptrXDP)},
	{Name: "bpf_dynptr_slice", Wide: true, Args: []proto.Arg{argDynptr, argAny, argBuf, argSize}, Do: dynptrSlice(false)},
	{Name: "bpf_dynptr_slice_rdwr", Wide: true, Args: []proto.Arg{argDynptr, argAny, argBuf, argSize}, Do: dynptrSlice(true)},
	{Name: "bpf_dynptr_adjust", Args: []proto.Arg{argDynptr, argAny, argAny}, Do: onDynptr(dynptrAdjust)},
	{Name: "bpf_dynptr_is_null", Args: []proto.Arg{argDynptr}, Do: dynptrIsNull},
	{Name: "bpf_dynptr_is_rdonly", Args: []proto.Arg{argDynptr}, Do: dynptrIsRdonly},
	{Name: "bpf_dynptr_from_skb_meta", Args: []proto.Arg{argCtx, argAny, argDynptr}, Do: onPacket(dynptrFromMeta)},
	{Name: "bpf_dynptr_from_file", Args: []proto.Arg{argObject, argAny, argDynptr}, Do: dynptrFromFile, Note: "no page of a file is in memory: reads are -EFAULT"},
	{Name: "bpf_dynptr_file_discard", Args: []proto.Arg{argDynptr}, Do: dynptrFileDiscard},
	{Name: "bpf_dynptr_size", Wide: true, Args: []proto.Arg{argDynptr}, Do: dynptrSize},
	{Name: "bpf_dynptr_clone", Args: []proto.Arg{argDynptr, argDynptr}, Do: onDynptr(dynptrClone)},
	{Name: "bpf_dynptr_copy", Args: []proto.Arg{argDynptr, argAny, argDynptr, argAny, argAny}, Do: onDynptr(dynptrCopy)},
	{Name: "bpf_dynptr_memset", Args: []proto.Arg{argDynptr, argAny, argAny, argAny}, Do: onDynptr(dynptrMemset)},
}

// Kinds of dynptrs (enum bpf_dynptr_type).
const (
	dynptrLocal = iota + 1
	dynptrRingbuf
	dynptrSkb
	dynptrXDP
	dynptrMeta // metadata of an sk_buff
	dynptrFile
)

const (
	dynptrMax    = 1<<24 - 1 // DYNPTR_MAX_SIZE
	dynptrShift  = 28
	dynptrRdonly = 1 << 31
)

// dynptr is struct bpf_dynptr_kern: address, size with kind and read-only bit, offset. It is in
// guest memory that programs must not access.
type dynptr struct {
	data      uint64
	size, off uint32
	kind      uint8
	rdonly    bool
}

func (c *Call) dynptrAt(addr uint64) (dynptr, *vm.Action) {
	s := c.guest.At(addr)
	data, size, off := s.U64(0), s.U32(8), s.U32(12)
	return dynptr{data: data, size: size & dynptrMax, off: off, kind: uint8(size >> dynptrShift & 7), rdonly: size&dynptrRdonly != 0}, s.Fault
}

func putDynptr(g *guest.Memory, addr uint64, d dynptr) *vm.Action {
	var b [uapi.DynptrSize]byte
	size := d.size | uint32(d.kind)<<dynptrShift
	if d.rdonly {
		size |= dynptrRdonly
	}
	g.Order().PutUint64(b[:], d.data)
	g.Order().PutUint32(b[8:], size)
	g.Order().PutUint32(b[12:], d.off)
	return g.Write(addr, b[:])
}

// inside mirrors bpf_dynptr_check_off_len.
func (d dynptr) inside(off, n uint64) bool { return n <= uint64(d.size) && off <= uint64(d.size)-n }

// dynptrLoad copies the bytes at off, including those of a packet, which may be in several pieces.
func (c *Call) dynptrLoad(d dynptr, off, n uint64) ([]byte, *vm.Action) {
	if !d.packet() {
		base, f := c.dynptrBase(d)
		if f != nil {
			return nil, f
		}
		return c.guest.Read(base+uint64(d.off)+off, n)
	}
	ctx, f := c.packetOf(d.data)
	if f != nil {
		return nil, f
	}
	b := make([]byte, n)
	ctx.Packet.ReadAt(b, int(uint64(d.off)+off))
	return b, nil
}

// dynptrBase returns the start address of a dynptr other than a packet's. Metadata moves with the
// packet.
func (c *Call) dynptrBase(d dynptr) (uint64, *vm.Action) {
	if d.kind != dynptrMeta {
		return d.data, nil
	}
	ctx, f := c.packetOf(d.data)
	if f != nil {
		return 0, f
	}
	return ctx.Packet.Meta(), nil
}

// dynptrStore stores bytes at off. In a packet with an sk_buff they become linear.
func (c *Call) dynptrStore(d dynptr, off uint64, data []byte) *vm.Action {
	at := uint64(d.off) + off
	if !d.packet() {
		base, f := c.dynptrBase(d)
		if f != nil {
			return f
		}
		return c.guest.Write(base+at, data)
	}
	ctx, f := c.packetOf(d.data)
	if f != nil {
		return f
	}
	if d.kind == dynptrSkb {
		ctx.Packet.Pull(int(at) + len(data))
	}
	ctx.Packet.WriteAt(data, int(at))
	return nil
}

// shrunk checks a range of a packet, which may have become shorter since the dynptr was created.
func (at *finder) shrunk(d dynptr, off, n uint64) (uapi.Errno, *vm.Action) {
	if !d.packet() {
		return 0, nil
	}
	ctx, f := at.packetOf(d.data)
	if f != nil || uint64(d.off)+off+n <= uint64(ctx.Packet.Len()) {
		return 0, f
	}
	if d.kind == dynptrXDP {
		return uapi.EINVAL, nil
	}
	return uapi.EFAULT, nil
}

func (d dynptr) packet() bool { return d.kind == dynptrSkb || d.kind == dynptrXDP }

// nullDynptr makes the dynptr invalid and returns the errno.
func (c *Call) nullDynptr(addr uint64, errno uapi.Errno) (uint64, *vm.Action) {
	return errnoRet(errno), putDynptr(&c.guest, addr, dynptr{})
}

func dynptrFromMem(c *Call) (uint64, *vm.Action) {
	size := c.Args[1] & 0xffffffff
	switch {
	case size > dynptrMax:
		return c.nullDynptr(c.Args[3], uapi.E2BIG)
	case c.Args[2] != 0:
		return c.nullDynptr(c.Args[3], uapi.EINVAL)
	}
	return 0, putDynptr(&c.guest, c.Args[3], dynptr{data: c.Args[0], size: uint32(size), kind: dynptrLocal})
}

func dynptrRead(c *Call, d dynptr) (uint64, *vm.Action) {
	n, off := c.Args[1]&0xffffffff, c.Args[3]&0xffffffff
	switch {
	case d.data == 0 || c.Args[4] != 0:
		return errnoRet(uapi.EINVAL), nil
	case d.kind == dynptrFile:
		return errnoRet(uapi.EFAULT), nil
	case !d.inside(off, n):
		return errnoRet(uapi.E2BIG), nil
	}
	if errno, f := c.shrunk(d, off, n); errno != 0 || f != nil {
		return errnoRet(errno), f
	}
	data, f := c.dynptrLoad(d, off, n)
	if f == nil {
		f = c.guest.Write(c.Args[0], data)
	}
	return 0, f
}

func dynptrWrite(c *Call, d dynptr) (uint64, *vm.Action) {
	off, n := c.Args[1]&0xffffffff, c.Args[3]&0xffffffff
	switch {
	case d.data == 0 || d.rdonly:
		return errnoRet(uapi.EINVAL), nil
	case !d.inside(off, n):
		return errnoRet(uapi.E2BIG), nil
	case d.kind == dynptrSkb: // accepts the flags of bpf_skb_store_bytes
		s, f := c.skbAt(d.data)
		if f != nil {
			return 0, f
		}
		return s.storeBytes(uint64(d.off)+off, c.In(2), c.Args[4])
	case c.Args[4] != 0:
		return errnoRet(uapi.EINVAL), nil
	}
	if errno, f := c.shrunk(d, off, n); errno != 0 || f != nil {
		return errnoRet(errno), f
	}
	return 0, c.dynptrStore(d, off, c.In(2))
}

// dynptrData returns NULL for bytes that cannot be accessed directly: read-only data, packets, out
// of range.
func dynptrData(c *Call, d dynptr) (uint64, *vm.Action) {
	off, n := c.Args[1]&0xffffffff, c.Args[2]&0xffffffff
	if d.data == 0 || d.rdonly || !d.inside(off, n) || d.kind >= dynptrSkb {
		return 0, nil
	}
	return d.data + uint64(d.off) + off, nil
}

// ringbufReserveDynptr must be followed by a submit or discard of the dynptr even if it failed.
func ringbufReserveDynptr(c *Call, r maps.RingBuffer) (uint64, *vm.Action) {
	c.Run.Held.Take(held.RecordDynptr, c.Args[3], "")
	size := c.Args[1] & 0xffffffff
	switch {
	case c.Args[2] != 0:
		return c.nullDynptr(c.Args[3], uapi.EINVAL)
	case size > dynptrMax:
		return c.nullDynptr(c.Args[3], uapi.E2BIG)
	}
	addr, ok := r.Reserve(size, 0)
	if !ok {
		return c.nullDynptr(c.Args[3], uapi.EINVAL)
	}
	c.Run.opened(addr, r)
	c.handedOut(addr, uint64(size))
	return 0, putDynptr(&c.guest, c.Args[3], dynptr{data: addr, size: uint32(size), kind: dynptrRingbuf})
}

// endDynptr submits or discards the record of a dynptr; after a failed reservation there is none.
func endDynptr(name string, finish func(maps.RingBuffer, uint64, uint64) uapi.Errno) Impl {
	return onDynptr(func(c *Call, d dynptr) (uint64, *vm.Action) {
		if f := c.give(name, held.RecordDynptr, c.Args[0]); f != nil || d.data == 0 {
			return 0, f
		}
		if f := c.finishRecord(name, d.data, c.Args[1], finish); f != nil {
			return 0, f
		}
		return 0, putDynptr(&c.guest, c.Args[0], dynptr{})
	})
}

// sentDynptr is [sentRecord] for the record of a dynptr.
func sentDynptr(end Impl) Impl {
	return onDynptr(func(c *Call, d dynptr) (uint64, *vm.Action) {
		if d.data != 0 {
			c.sends(d.data)
		}
		return end(c)
	})
}

// dynptrFromPacket makes a dynptr of the whole packet; read-only for programs that may not store to
// it.
func dynptrFromPacket(kind uint8) Impl {
	own := onPacket(func(c *Call, ctx *hook.Context) (uint64, *vm.Action) {
		if c.Args[1] != 0 {
			return c.nullDynptr(c.Args[2], uapi.EINVAL)
		}
		return 0, putDynptr(&c.guest, c.Args[2], dynptr{data: c.Args[0], size: uint32(ctx.Packet.Len()), kind: kind, rdonly: ctx.Packet.ReadOnly()})
	})
	return func(c *Call) (uint64, *vm.Action) {
		if skb := c.foreignSkb(c.Args[0]); skb != nil {
			return dynptrFromForeign(c, skb)
		}
		return own(c)
	}
}

// dynptrFromForeign makes a dynptr of the bytes of an sk_buff that is not the program's own packet,
// such as an argument of a traced function. The verifier makes it read-only
// (bpf_dynptr_from_skb_rdonly). Its bytes are an ordinary object.
func dynptrFromForeign(c *Call, skb *object.Object) (uint64, *vm.Action) {
	switch {
	case c.Args[1] != 0:
		return c.nullDynptr(c.Args[2], uapi.EINVAL)
	case skb.Num("data_len") != 0:
		return 0, notSimulated("a dynptr of a struct sk_buff with fragments that is not the program's own packet")
	}
	return 0, putDynptr(&c.guest, c.Args[2], dynptr{data: skb.Num("data"), size: uint32(skb.Num("len")), kind: dynptrLocal, rdonly: true})
}

// dynptrSlice returns a pointer to the bytes themselves. For bytes of a packet in several pieces,
// or outside the linear part of an sk_buff, it returns the program's buffer with a copy of them.
func dynptrSlice(write bool) Impl {
	return onDynptr(func(c *Call, d dynptr) (uint64, *vm.Action) {
		off, n := c.Args[1]&0xffffffff, c.Args[3]&0xffffffff
		if write && d.rdonly {
			return 0, nil
		}
		addr, f := c.dynptrPointer(d, off, n)
		if addr != 0 || f != nil || c.Args[2] == 0 || !d.packet() || !d.inside(off, n) {
			return addr, f
		}
		ctx, f := c.packetOf(d.data)
		if f != nil {
			return 0, f
		}
		if errno, f := c.shrunk(d, off, n); errno != 0 || f != nil {
			return 0, f
		}
		b := make([]byte, n)
		ctx.Packet.ReadAt(b, int(uint64(d.off)+off))
		return c.Args[2], c.guest.Write(c.Args[2], b)
	})
}

// dynptrPointer returns the address of n bytes; 0 if there are none, or if they do not lie together
// in the linear part of a packet (bpf_dynptr_slice without a buffer).
func (c *Call) dynptrPointer(d dynptr, off, n uint64) (uint64, *vm.Action) {
	if d.data == 0 || !d.inside(off, n) || d.kind == dynptrFile {
		return 0, nil
	}
	at := uint64(d.off) + off
	if !d.packet() {
		base, f := c.dynptrBase(d)
		return base + at, f
	}
	if errno, f := c.shrunk(d, off, n); errno != 0 || f != nil {
		return 0, f
	}
	ctx, f := c.packetOf(d.data)
	if f != nil {
		return 0, f
	}
	p := ctx.Packet
	if addr, ok := p.Pointer(int(at), int(n)); ok && (d.kind == dynptrXDP || int(at+n) <= p.Linear()) {
		return addr, nil
	}
	return 0, nil
}

func dynptrAdjust(c *Call, d dynptr) (uint64, *vm.Action) {
	start, end := uint32(c.Args[1]), uint32(c.Args[2])
	switch {
	case d.kind == dynptrFile:
		return 0, notSimulated("bpf_dynptr_adjust of a file")
	case d.data == 0 || start > end:
		return errnoRet(uapi.EINVAL), nil
	case start > d.size || end > d.size:
		return errnoRet(uapi.ERANGE), nil
	}
	d.off += start
	d.size = end - start
	return 0, putDynptr(&c.guest, c.Args[0], d)
}

func dynptrIsNull(c *Call) (uint64, *vm.Action) {
	d, f := c.dynptrAt(c.Args[0])
	return boolRet(d.data == 0), f
}

func dynptrIsRdonly(c *Call) (uint64, *vm.Action) {
	d, f := c.dynptrAt(c.Args[0])
	return boolRet(d.data != 0 && d.rdonly), f
}

func boolRet(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// dynptrSize is 64 bits wide from Linux 6.19 on, for files; before that, its error is 0xffffffea.
func dynptrSize(c *Call) (uint64, *vm.Action) {
	d, f := c.dynptrAt(c.Args[0])
	size := uint64(d.size)
	switch {
	case d.data == 0:
		size = errnoRet(uapi.EINVAL)
	case d.kind == dynptrFile:
		size = ^uint64(0) // it may change
	}
	if !c.has(since.DynptrSize64) {
		size &= 0xffffffff
	}
	return size, f
}

// dynptrFromMeta makes a dynptr of the bytes that XDP left before the packet.
func dynptrFromMeta(c *Call, ctx *hook.Context) (uint64, *vm.Action) {
	if c.Args[1] != 0 {
		return c.nullDynptr(c.Args[2], uapi.EINVAL)
	}
	p := ctx.Packet
	return 0, putDynptr(&c.guest, c.Args[2], dynptr{data: c.Args[0], size: uint32(p.Data() - p.Meta()), kind: dynptrMeta})
}

// dynptrFromFile must be followed by a discard even if it failed.
func dynptrFromFile(c *Call) (uint64, *vm.Action) {
	file := c.Kernel.ObjectAt(c.Args[0])
	if file == nil || file.TypeName() != "file" {
		return 0, badArg("bpf_dynptr_from_file of %#x, which is no file", c.Args[0])
	}
	c.Run.Held.Take(held.Reference, c.Args[2], "file dynptr")
	if uint32(c.Args[1]) != 0 {
		return c.nullDynptr(c.Args[2], uapi.EINVAL)
	}
	return 0, putDynptr(&c.guest, c.Args[2], dynptr{data: c.Args[0], kind: dynptrFile, rdonly: true})
}

func dynptrFileDiscard(c *Call) (uint64, *vm.Action) {
	if f := c.give("bpf_dynptr_file_discard", held.Reference, c.Args[0]); f != nil {
		return 0, f
	}
	return 0, putDynptr(&c.guest, c.Args[0], dynptr{})
}

func dynptrClone(c *Call, d dynptr) (uint64, *vm.Action) {
	if d.data == 0 {
		return c.nullDynptr(c.Args[1], uapi.EINVAL)
	}
	return 0, putDynptr(&c.guest, c.Args[1], d)
}

func dynptrCopy(c *Call, dst dynptr) (uint64, *vm.Action) {
	src, f := c.dynptrAt(c.Args[2])
	if f != nil {
		return 0, f
	}
	to, from, n := c.Args[1]&0xffffffff, c.Args[3]&0xffffffff, c.Args[4]&0xffffffff
	// The kernel first treats both sides as plain memory, then writes from one or reads into the
	// other, then checks.
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
		if errno, f := c.shrunk(side.d, side.off, n); errno != 0 || f != nil {
			return errnoRet(errno), f
		}
	}
	data, f := c.dynptrLoad(src, from, n)
	if f == nil {
		f = c.dynptrStore(dst, to, data)
	}
	return 0, f
}

func dynptrMemset(c *Call, d dynptr) (uint64, *vm.Action) {
	off, n := c.Args[1]&0xffffffff, c.Args[2]&0xffffffff
	switch {
	case d.rdonly:
		return errnoRet(uapi.EINVAL), nil
	case !d.inside(off, n):
		return errnoRet(uapi.E2BIG), nil
	case d.data == 0:
		return 0, nil // nothing to set
	}
	if errno, f := c.shrunk(d, off, n); errno != 0 || f != nil {
		return errnoRet(errno), f
	}
	b, f := c.guest.Buffer(n)
	for i := range b {
		b[i] = byte(c.Args[3])
	}
	if f == nil {
		f = c.dynptrStore(d, off, b)
	}
	return 0, f
}
