package hook

import (
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

var sockAddrFields = fieldsOf(uapi.ProgTypeCgroupSockAddr, func() map[string]net.Source {
	return map[string]net.Source{
		"family": net.OfSocket(net.SockFamily), "type": net.OfSocket(net.SockType), "protocol": net.OfSocket(net.SockProtocol),
		"sk": {Kind: net.WideField, From: net.Selected},
	}
})

// sockAddrContext creates a bpf_sock_addr: the address of a bind, connect, sendmsg, recvmsg,
// getpeername or getsockname.
func (h *Hooks) sockAddrContext(c *Context) error {
	hook := progtype.Address{Family: uapi.AFInet}
	if at := progtype.Of(c.spec.ProgType).Attached(c.spec.Attach); at != nil && at.Address != nil {
		hook = *at.Address
	}
	spec := net.SockSpec{Family: hook.Family, State: net.TCPClose}
	if hook.Send || hook.Receive {
		spec.Protocol, spec.Type = net.ProtoUDP, net.SockDgram
	}
	if hook.Family == uapi.AFUnix {
		spec.Protocol = 0
	}
	s, err := h.contextSocket(c, spec)
	if err != nil {
		return err
	}
	v := h.newView(c, sockAddrFields, c.spec.Attach.String())
	v.Socket = s
	v.Out = func(v *net.View) []byte { return h.fieldBytes(v) }
	if err := c.attach(v); err != nil {
		return err
	}
	// The peer is that of the default packet; the kernel chooses the socket's own address.
	v.Put("user_family", uint64(hook.Family))
	if hook.Family == uapi.AFUnix {
		return nil
	}
	if !hook.Local {
		v.Put("user_ip4", uint64(h.Order().Uint32([]byte{198, 51, 100, 2})))
		v.Put("user_port", uint64(h.Order().Uint16([]byte{0, 80})))
	}
	if hook.Family == uapi.AFInet6 {
		v.Put("user_ip4", 0)
		if !hook.Local { // 2001:db8::2
			v.Put("user_ip6[0]", uint64(h.Order().Uint32([]byte{0x20, 0x01, 0x0d, 0xb8})))
			v.Put("user_ip6[3]", uint64(h.Order().Uint32([]byte{0, 0, 0, 2})))
		}
	}
	return nil
}

// fieldBytes lays out the fields of a context as in the user ABI, without pointers.
func (h *Hooks) fieldBytes(v *net.View) []byte {
	b := make([]byte, v.Layout.Size)
	for i := range v.Fields {
		f := &v.Fields[i]
		if f.Kind != net.PlainField {
			continue
		}
		endian.PutUint(h.Order(), b[f.Off:f.Off+f.Size], v.Value(f))
	}
	return b
}

// contextSocket returns the socket of a context: the one given, else a default one shared with
// later contexts of its kind.
func (h *Hooks) contextSocket(c *Context, spec net.SockSpec) (*net.Socket, error) {
	if o := c.spec.Socket; o != nil {
		return h.SocketOf(o)
	}
	role := "sk"
	if len(progtype.Of(c.spec.ProgType).Attaches) > 1 {
		role += " (" + c.spec.Attach.String() + ")"
	}
	return h.DefaultSocket(role, spec), nil
}
