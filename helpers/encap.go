package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Kfuncs for the metadata of packets in tunnels: of the module fou (net/ipv4/fou_bpf.c) and of
// xfrm_interface (net/xfrm/xfrm_interface_bpf.c).
var encapKfuncs = []kfuncRow{
	{Name: "bpf_skb_set_fou_encap", Args: []proto.Arg{argCtx, argPtr, argAny}, Do: onSkb(setFouEncap), Note: "after bpf_skb_set_tunnel_key, as in the kernel"},
	{Name: "bpf_skb_get_fou_encap", Args: []proto.Arg{argCtx, argPtr}, Do: onSkb(getFouEncap), Note: "the ports that the program set, else those of the scenario's tunnel"},
	{Name: "bpf_skb_set_xfrm_info", Args: []proto.Arg{argCtx, argPtr}, Do: onSkb(setXfrmInfo)},
	{Name: "bpf_skb_get_xfrm_info", Args: []proto.Arg{argCtx, argPtr}, Do: onSkb(getXfrmInfo), Note: "what the program set, else the scenario's xfrm"},
}

// Sizes of struct bpf_fou_encap, two ports in network byte order, and of struct bpf_xfrm_info.
const (
	fouEncapSize = 4
	xfrmInfoSize = 8
)

// setFouEncap sets the ports of a tunnel that the program has set up; that of a packet that arrived
// cannot be changed.
func setFouEncap(c *Call, s *skb) (uint64, *vm.Action) {
	ports, f := c.guest.Read(c.Args[1], fouEncapSize)
	switch t := s.st.tunnel; {
	case f != nil:
		return 0, f
	case t == nil || !t.sent:
		return errnoRet(uapi.EINVAL), nil
	default:
		copy(t.ports[:], ports)
		return 0, nil
	}
}

func getFouEncap(c *Call, s *skb) (uint64, *vm.Action) {
	if s.st.tunnel == nil {
		return errnoRet(uapi.EINVAL), nil
	}
	return 0, c.guest.Write(c.Args[1], s.st.tunnel.ports[:])
}

// setXfrmInfo attaches the metadata of an XFRM interface to a packet that has none of any kind.
func setXfrmInfo(c *Call, s *skb) (uint64, *vm.Action) {
	in, f := c.guest.Read(c.Args[1], xfrmInfoSize)
	if f != nil {
		return 0, f
	}
	if s.st.tunnel != nil || s.st.xfrm != nil {
		return errnoRet(uapi.EINVAL), nil
	}
	order := c.guest.Order()
	s.st.xfrm = &hook.Xfrm{ID: order.Uint32(in), Link: int32(order.Uint32(in[4:]))}
	return 0, nil
}

func getXfrmInfo(c *Call, s *skb) (uint64, *vm.Action) {
	x := s.st.xfrm
	if x == nil {
		return errnoRet(uapi.EINVAL), nil
	}
	out := make([]byte, xfrmInfoSize)
	order := c.guest.Order()
	order.PutUint32(out, x.ID)
	order.PutUint32(out[4:], uint32(x.Link))
	return 0, c.guest.Write(c.Args[1], out)
}
