package hook

import (
	"strings"

	"github.com/bpfrun/bpfrun/kernel/net"
	"github.com/bpfrun/bpfrun/kernel/object"
	"github.com/bpfrun/bpfrun/uapi"
)

// sockAddrSize is sizeof(struct bpf_sock_addr).
const sockAddrSize = 72

// sockAddrFields are the fields of struct bpf_sock_addr (sock_addr_is_valid_access).
var sockAddrFields = func() []net.Field {
	fields := []net.Field{
		{Name: "user_family", Off: 0, Size: 4}, {Name: "user_ip4", Off: 4, Size: 4, Narrow: true}, {Name: "user_port", Off: 24, Size: 4, Narrow: true},
		net.SockField("family", 28, 4, net.SockFamily), net.SockField("type", 32, 4, net.SockType), net.SockField("protocol", 36, 4, net.SockProtocol),
		{Name: "msg_src_ip4", Off: 40, Size: 4, Narrow: true},
		{Name: "sk", Off: 64, Size: 8, Kind: net.WideField, From: net.Selected},
	}
	for i := range uint16(4) {
		n := string(rune('0' + i))
		fields = append(fields, net.Field{Name: "user_ip6[" + n + "]", Off: 8 + 4*i, Size: 4, Narrow: true, Pair: true},
			net.Field{Name: "msg_src_ip6[" + n + "]", Off: 44 + 4*i, Size: 4, Narrow: true, Pair: true})
	}
	return fields
}()

// addrHook is what an attach type of sock_addr programs is about.
type addrHook struct {
	family  uint64
	sendmsg bool // the message has a source address
	dgram   bool
	local   bool // the address is the socket's own
}

func addrHookOf(a uapi.AttachType) addrHook {
	name := a.String()
	h := addrHook{family: uapi.AFInet}
	switch {
	case strings.HasSuffix(name, "unix") || strings.Contains(name, "unix_"):
		h.family = uapi.AFUnix
	case strings.Contains(name, "inet6") || strings.Contains(name, "udp6"):
		h.family = uapi.AFInet6
	}
	h.sendmsg = strings.Contains(name, "sendmsg")
	h.dgram = h.sendmsg || strings.Contains(name, "recvmsg")
	h.local = strings.Contains(name, "bind") || strings.Contains(name, "getsockname")
	return h
}

// sockAddrContext makes a bpf_sock_addr: the address of a bind, connect, sendmsg, recvmsg, getpeername or getsockname.
func (h *Hooks) sockAddrContext(c *Context) error {
	hook := addrHookOf(c.spec.Attach)
	spec := net.SockSpec{Family: uint16(hook.family), State: net.TCPClose}
	if hook.dgram {
		spec.Protocol, spec.Type = net.ProtoUDP, net.SockDgram
	}
	if hook.family == uapi.AFUnix {
		spec.Protocol = 0
	}
	s, err := h.contextSocket(c, spec)
	if err != nil {
		return err
	}
	v := &net.View{Host: h.Host, Type: "bpf_sock_addr", Who: c.spec.Attach.String(), Size: sockAddrSize, Fields: sockAddrFields, Socket: s}
	v.May = func(f *net.Field, write bool) bool {
		switch net.Group(f.Name) {
		case "user_ip4":
			return hook.family == uapi.AFInet
		case "user_ip6":
			return hook.family == uapi.AFInet6
		case "msg_src_ip4":
			return hook.sendmsg && hook.family == uapi.AFInet
		case "msg_src_ip6":
			return hook.sendmsg && hook.family == uapi.AFInet6
		case "user_port":
			return true
		}
		return !write
	}
	v.Out = func(v *net.View) []byte { return h.fieldBytes(v) }
	if err := c.attach(v); err != nil {
		return err
	}
	// The peer is that of the default packet; a socket's own address is left to the kernel.
	v.Put("user_family", hook.family)
	if hook.family == uapi.AFUnix {
		return nil
	}
	if !hook.local {
		v.Put("user_ip4", uint64(h.Order().Uint32([]byte{198, 51, 100, 2})))
		v.Put("user_port", uint64(h.Order().Uint16([]byte{0, 80})))
	}
	if hook.family == uapi.AFInet6 {
		v.Put("user_ip4", 0)
		if !hook.local { // 2001:db8::2
			v.Put("user_ip6[0]", uint64(h.Order().Uint32([]byte{0x20, 0x01, 0x0d, 0xb8})))
			v.Put("user_ip6[3]", uint64(h.Order().Uint32([]byte{0, 0, 0, 2})))
		}
	}
	return nil
}

// fieldBytes lays the fields of a context out as the user ABI has them, without pointers.
func (h *Hooks) fieldBytes(v *net.View) []byte {
	b := make([]byte, v.Size)
	for i := range v.Fields {
		f := &v.Fields[i]
		if f.Kind != net.PlainField {
			continue
		}
		object.PutUint(h.Order(), b[f.Off:f.Off+f.Size], v.Value(f))
	}
	return b
}

// contextSocket is the socket a context is for: the one given, else a default one that later contexts of the kind share.
func (h *Hooks) contextSocket(c *Context, spec net.SockSpec) (*net.Socket, error) {
	if o := c.spec.Socket; o != nil {
		return h.SocketOf(o)
	}
	role := "sk"
	if c.spec.ProgType != uapi.ProgTypeSockOps {
		role += " (" + c.spec.Attach.String() + ")"
	}
	return h.DefaultSocket(role, spec), nil
}
