package helpers

import (
	"errors"

	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var requestKfuncs = []kfuncRow{
	{Name: "bpf_sk_assign_tcp_reqsk", Args: []proto.Arg{argCtx, argObject, argMem, argSize}, Do: assignRequest, Note: "recorded as an event; the packet has the request socket"},
}

// requestAttrs are the offsets of struct bpf_tcp_req_attrs (include/net/tcp.h), which the program
// fills.
const (
	attrsTSVal, attrsTSEcr, attrsMSS                                                   = 0, 4, 8
	attrsRcvScale, attrsSndScale, attrsECN, attrsScaleOK, attrsSackOK, attrsTSOK, usec = 10, 11, 12, 13, 14, 15, 16
	attrsReserved, attrsSize                                                           = 17, 20
)

// assignRequest makes a connection request from a SYN cookie that the program checked
// (net/core/filter.c bpf_sk_assign_tcp_reqsk).
func assignRequest(c *Call) (uint64, *vm.Action) {
	p, f := c.skbAt(c.Args[0])
	if f != nil {
		return 0, f
	}
	listener, f := c.socketAt(c.Args[1])
	if f != nil {
		return 0, f
	}
	a := c.In(2)
	if len(a) != attrsSize || a[attrsReserved]|a[attrsReserved+1]|a[attrsReserved+2] != 0 || !p.c.Ingress() {
		return errnoRet(uapi.EINVAL), nil
	}
	const maxScale, leastV4, leastV6 = 14, 536, 1280 - 60
	least := uint16(leastV4)
	switch protocol := p.protocol(); {
	case protocol == protoIPv6:
		least = leastV6
	case protocol != protoIPv4:
		return errnoRet(uapi.EINVAL), nil
	}
	mss := c.guest.Order().Uint16(a[attrsMSS:])
	switch {
	case listener.Type() != 1 || listener.State() != tcpListen || mss < least,
		a[attrsScaleOK] != 0 && (a[attrsSndScale] > maxScale || a[attrsRcvScale] > maxScale):
		return errnoRet(uapi.EINVAL), nil
	}
	s, err := c.newRequest(listener, a, mss)
	if err != nil {
		return 0, notSimulated("bpf_sk_assign_tcp_reqsk: " + err.Error())
	}
	p.c.Carry(s)
	return 0, c.Run.emit(Event{Kind: SkAssign, Detail: s.Role()})
}

// newRequest makes the request socket of a listener.
func (c *Call) newRequest(listener *net.Socket, a []byte, mss uint16) (*net.Socket, error) {
	order, offset := c.guest.Order(), uint64(0)
	if a[attrsTSOK] != 0 {
		unit := uint64(1e6) // tcp_ns_to_ts
		if a[usec] != 0 {
			unit = 1e3
		}
		offset = uint64(order.Uint32(a[attrsTSEcr:]) - uint32(c.Kernel.Clock().Mono()/unit))
	}
	o, err := c.Kernel.NewObjectNamed("request", "tcp_request_sock")
	if err != nil {
		return nil, err
	}
	o.MarkBuiltin()
	lo, err := listener.Object()
	if err != nil {
		return nil, err
	}
	const common, inet = "req.req.__req_common.", "req."
	set := func(path string, v uint64) { err = errors.Join(err, o.SetUint(path, v)) }
	set(common+"skc_family", uint64(listener.Family()))
	set(common+"skc_state", tcpNewSynRecv)
	set(common+"skc_listener", lo.Addr())
	set("req.req.syncookie", 1)
	set("req.req.mss", uint64(mss))
	set("req.req.ts_recent", uint64(order.Uint32(a[attrsTSVal:])))
	set(inet+"snd_wscale", uint64(a[attrsSndScale]))
	set(inet+"rcv_wscale", uint64(a[attrsRcvScale]))
	set(inet+"tstamp_ok", boolRet(a[attrsTSOK] != 0))
	set(inet+"sack_ok", boolRet(a[attrsSackOK] != 0))
	set(inet+"wscale_ok", boolRet(a[attrsScaleOK] != 0))
	set(inet+"ecn_ok", boolRet(a[attrsECN] != 0))
	set("ts_off", offset)
	if o.Has("req_usec_ts") {
		set("req_usec_ts", boolRet(a[usec] != 0))
	}
	if err != nil {
		return nil, err
	}
	return c.Kernel.SocketOf(o)
}
