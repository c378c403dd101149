package helpers

import (
	"errors"
	"net/netip"

	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/vm"
)

// Kfuncs of the module nf_conntrack (net/netfilter/nf_conntrack_bpf.c).
var conntrackKfuncs = []kfuncRow{
	{Name: "bpf_xdp_ct_lookup", Wide: true, Args: connArgs, Do: connLookup, Note: lookupNote},
	{Name: "bpf_skb_ct_lookup", Wide: true, Args: connArgs, Do: connLookup, Note: lookupNote},
	{Name: "bpf_xdp_ct_alloc", Wide: true, Args: connArgs, Do: connAlloc},
	{Name: "bpf_skb_ct_alloc", Wide: true, Args: connArgs, Do: connAlloc},
	{Name: "bpf_ct_insert_entry", Wide: true, Args: []proto.Arg{argObject}, Do: onConn(connInsert)},
	{Name: "bpf_ct_release", Args: []proto.Arg{argObject}, Do: onConn(connRelease)},
	{Name: "bpf_ct_set_timeout", Args: []proto.Arg{argObject, argAny}, Do: onConn(connSetTimeout)},
	{Name: "bpf_ct_change_timeout", Args: []proto.Arg{argObject, argAny}, Do: onConn(connChangeTimeout)},
	{Name: "bpf_ct_set_status", Args: []proto.Arg{argObject, argAny}, Do: onConn(connStatus)},
	{Name: "bpf_ct_change_status", Args: []proto.Arg{argObject, argAny}, Do: onConn(connStatus)},
	{Name: "bpf_ct_set_nat_info", Args: []proto.Arg{argObject, argPtr, argAny, argAny}, Do: onConn(connTranslate), Note: "of the module nf_nat; a port that is kept and in use is refused by name"},
}

const lookupNote = "among the connections of the scenario and those that programs insert; one network namespace, without an id"

var connArgs = []proto.Arg{argCtx, argBuf, argSize, argBuf, argSize}

// Offsets into struct bpf_ct_opts, and its sizes: with the zone since Linux 6.11, and before.
const (
	ctNetns, ctError, ctProtocol, ctDir, ctZone, ctZoneDir = 0, 4, 8, 9, 10, 12
	ctSize, ctSizeNoZone                                   = 16, 12
)

// connQuery is what a lookup and an allocation ask for.
type connQuery struct {
	tuple net.ConnTuple
	zone  net.ConnZone
}

// connOpts decodes the arguments of a lookup or an allocation, which check them in a different
// order. The errno is for opts->error.
func (c *Call) connOpts(alloc bool) (q connQuery, errno uapi.Errno, f *vm.Action) {
	n := c.Args[4] & 0xffffffff
	zoned := n == ctSize && c.has(since.ConntrackZones)
	if c.Args[1] == 0 || c.Args[3] == 0 || n != ctSizeNoZone && !zoned {
		return q, uapi.EINVAL, nil
	}
	o, f := c.guest.Read(c.Args[3], n)
	if f != nil {
		return q, 0, f
	}
	order := c.guest.Order()
	netns, protocol := int32(order.Uint32(o[ctNetns:])), o[ctProtocol]
	q.zone = net.ConnZone{Dir: net.ZoneBothDirs}
	if zoned {
		if o[13]|o[14]|o[15] != 0 {
			return q, uapi.EINVAL, nil
		}
		q.zone.ID = order.Uint16(o[ctZone:])
		if o[ctZoneDir] != 0 {
			q.zone.Dir = o[ctZoneDir]
		}
	} else if o[ctZone]|o[ctZone+1] != 0 {
		return q, uapi.EINVAL, nil
	}
	known := protocol == ipprotoTCP || protocol == ipprotoUDP
	switch {
	case !alloc && !known:
		return q, uapi.EPROTO, nil
	case netns < -1:
		return q, uapi.EINVAL, nil
	case !known:
		return q, uapi.EPROTO, nil
	}
	if q.tuple, f = c.connTuple(protocol); f != nil {
		return q, 0, f
	}
	switch {
	case !q.tuple.Source.IsValid():
		return q, uapi.EAFNOSUPPORT, nil
	case netns >= 0:
		return q, uapi.ENONET, nil // no namespace has an id
	}
	if zoned && o[ctZoneDir] == 0 {
		return q, 0, c.guest.WriteInt(c.Args[3]+ctZoneDir, 1, net.ZoneBothDirs)
	}
	return q, 0, nil
}

// connTuple reads the bpf_sock_tuple; one of a wrong size has no addresses.
func (c *Call) connTuple(protocol uint8) (t net.ConnTuple, f *vm.Action) {
	n := c.Args[2] & 0xffffffff
	if n != tupleIPv4 && n != tupleIPv6 {
		return t, nil
	}
	p, f := c.guest.Read(c.Args[1], n)
	if f != nil {
		return t, f
	}
	ports := n - 4
	half := ports / 2
	source, _ := netip.AddrFromSlice(p[:half])
	dest, _ := netip.AddrFromSlice(p[half:ports])
	return net.ConnTuple{Protocol: protocol, Source: netip.AddrPortFrom(source, be16(p[ports:])), Dest: netip.AddrPortFrom(dest, be16(p[ports+2:]))}, nil
}

// connError stores an error in opts->error and returns NULL (bpf_ct_opts_result). Linux 7.2 and
// late stable releases before it look whether opts has room for it.
func (c *Call) connError(errno uapi.Errno) (uint64, *vm.Action) {
	fits := c.Args[4]&0xffffffff >= ctError+4 || !c.has(since.ConntrackOptsSize)
	if c.Args[3] == 0 || !fits {
		return 0, nil
	}
	return 0, c.guest.WriteU32(c.Args[3]+ctError, uint32(errno.Neg()))
}

func connLookup(c *Call) (uint64, *vm.Action) {
	q, errno, f := c.connOpts(false)
	switch {
	case f != nil:
		return 0, f
	case errno != 0:
		return c.connError(errno)
	}
	o, dir := c.Kernel.Tracked(q.tuple, q.zone, c.ticks())
	if o == nil {
		return c.connError(uapi.ENOENT)
	}
	if f := c.guest.WriteInt(c.Args[3]+ctDir, 1, uint64(dir)); f != nil {
		return 0, f
	}
	c.Kernel.HoldConnection(o)
	return c.take(o, "connection")
}

func connAlloc(c *Call) (uint64, *vm.Action) {
	q, errno, f := c.connOpts(true)
	switch {
	case f != nil:
		return 0, f
	case errno != 0:
		return c.connError(errno)
	}
	const seconds = 10 // until the program sets a timeout
	o, err := c.Kernel.AllocConnection(q.tuple, q.zone, uint32(seconds*c.Kernel.Clock().HZ))
	switch {
	case errors.Is(err, net.ErrTableFull):
		return c.connError(uapi.ENOMEM)
	case err != nil:
		return 0, notSimulated("connection tracking: " + err.Error())
	}
	return c.take(o, "new connection")
}

// ticks returns jiffies as connections count them (nfct_time_stamp).
func (c *Call) ticks() uint32 { return uint32(c.Kernel.Clock().Jiffies()) }

// onConn turns functions of a connection into implementations.
func onConn(do func(*Call, *object.Object) (uint64, *vm.Action)) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		o := c.Kernel.ObjectAt(c.Args[0])
		if o == nil || o.TypeName() != "nf_conn" || o.Addr() != c.Mem.Truncate(c.Args[0]) {
			return 0, badArg("%#x is not a tracked connection", c.Args[0])
		}
		return do(c, o)
	}
}

func setConn(o *object.Object, path string, v uint64) *vm.Action {
	if err := o.SetUint(path, v); err != nil {
		return notSimulated("connection tracking: " + err.Error())
	}
	return nil
}

// connInsert enters a connection into the table and takes a new reference to it; if the table has
// one like it, it is freed.
func connInsert(c *Call, o *object.Object) (uint64, *vm.Action) {
	if f := c.give("bpf_ct_insert_entry", held.Reference, o.Addr()); f != nil {
		return 0, f
	}
	status, now := o.Num("status"), c.ticks()
	if status&net.ConnConfirmed == 0 {
		if f := setConn(o, "timeout", o.Num("timeout")+uint64(now)); f != nil {
			return 0, f
		}
	}
	if f := setConn(o, "status", status|net.ConnConfirmed); f != nil {
		return 0, f
	}
	c.Kernel.HoldConnection(o)
	switch err := c.Kernel.OpenConnection(o, now); {
	case errors.Is(err, net.ErrTracked):
		c.Kernel.PutConnection(o)
		return 0, nil
	case err != nil:
		return 0, notSimulated("connection tracking: " + err.Error())
	}
	return c.take(o, "connection")
}

func connRelease(c *Call, o *object.Object) (uint64, *vm.Action) {
	if f := c.give("bpf_ct_release", held.Reference, o.Addr()); f != nil {
		return 0, f
	}
	c.Kernel.PutConnection(o)
	return 0, nil
}

// connSetTimeout: the time of a connection in the table is that of its end, otherwise what it will
// have (__nf_ct_set_timeout).
func connSetTimeout(c *Call, o *object.Object) (uint64, *vm.Action) {
	const most = 1<<31 - 1
	ms, ticks := c.Args[1]&0xffffffff, uint64(most)
	if int32(uint32(ms)) >= 0 { // msecs_to_jiffies: a negative number is no limit
		ticks = min((ms*c.Kernel.Clock().HZ+999)/1000, most)
	}
	if o.Num("status")&net.ConnConfirmed != 0 {
		ticks += uint64(c.ticks())
	}
	return 0, setConn(o, "timeout", ticks)
}

func connChangeTimeout(c *Call, o *object.Object) (uint64, *vm.Action) {
	status := o.Num("status")
	if status&net.ConnFixedTimeout != 0 {
		return errnoRet(uapi.EPERM), nil
	}
	if ret, f := connSetTimeout(c, o); f != nil || status&net.ConnDying == 0 {
		return ret, f
	}
	return errnoRet(uapi.ETIME), nil
}

// connStatus sets bits of the status; none can be cleared, and some not be set
// (nf_ct_change_status_common).
func connStatus(c *Call, o *object.Object) (uint64, *vm.Action) {
	status, want := o.Num("status"), c.Args[1]&0xffffffff
	changed := status ^ want
	if changed&(net.ConnExpected|net.ConnConfirmed|net.ConnDying) != 0 || status&^want&(net.ConnSeenReply|net.ConnAssured) != 0 {
		return errnoRet(uapi.EBUSY), nil
	}
	const bits = 1<<16 - 1
	return 0, setConn(o, "status", status|want&^net.ConnUnchangeable&bits)
}

// connTranslate sets the address that a side of a new connection is translated to
// (net/netfilter/nf_nat_bpf.c).
func connTranslate(c *Call, o *object.Object) (uint64, *vm.Action) {
	const side, manips = 16, 2 // union nf_inet_addr; NF_NAT_MANIP_SRC, NF_NAT_MANIP_DST
	raw, f := c.guest.Read(c.Args[1], side)
	if f != nil {
		return 0, f
	}
	port, manip := int32(uint32(c.Args[2])), c.Args[3]&0xffffffff
	switch o.Num("tuplehash[0].tuple.src.l3num") {
	case uapi.AFInet:
		raw = raw[:4]
	case uapi.AFInet6:
	default:
		return errnoRet(uapi.EINVAL), nil
	}
	if manip >= manips {
		return errnoRet(uapi.EINVAL), nil
	}
	addr, _ := netip.AddrFromSlice(raw)
	switch err := c.Kernel.Translate(o, addr, uint16(max(port, 0)), manip == 1, c.ticks()); {
	case errors.Is(err, net.ErrTranslated):
		return errnoRet(uapi.ENOMEM), nil
	case err != nil:
		return 0, notSimulated("connection tracking: " + err.Error())
	}
	return 0, nil
}
