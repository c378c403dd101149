package kernel

import (
	"strings"

	"github.com/bpfrun/bpfrun/kernel/object"
	"github.com/bpfrun/bpfrun/uapi"
)

// sockAddrSize is sizeof(struct bpf_sock_addr).
const sockAddrSize = 72

// sockAddrFields are the fields of struct bpf_sock_addr (sock_addr_is_valid_access).
var sockAddrFields = func() []uapiField {
	fields := []uapiField{
		{name: "user_family", off: 0, size: 4}, {name: "user_ip4", off: 4, size: 4, narrow: true}, {name: "user_port", off: 24, size: 4, narrow: true},
		sockField("family", 28, 4, sockFamily), sockField("type", 32, 4, sockType), sockField("protocol", 36, 4, sockProtocol),
		{name: "msg_src_ip4", off: 40, size: 4, narrow: true},
		{name: "sk", off: 64, size: 8, kind: wideField, from: selectedSocket},
	}
	for i := range uint16(4) {
		n := string(rune('0' + i))
		fields = append(fields, uapiField{name: "user_ip6[" + n + "]", off: 8 + 4*i, size: 4, narrow: true, pair: true},
			uapiField{name: "msg_src_ip6[" + n + "]", off: 44 + 4*i, size: 4, narrow: true, pair: true})
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
	spec := SockSpec{Family: uint16(hook.family), State: tcpClose}
	if hook.dgram {
		spec.Protocol, spec.Type = ipprotoUDP, sockDgram
	}
	if hook.family == uapi.AFUnix {
		spec.Protocol = 0
	}
	s, err := h.contextSocket(c, spec)
	if err != nil {
		return err
	}
	v := &uapiView{k: h.Host, typ: "bpf_sock_addr", who: c.spec.Attach.String(), size: sockAddrSize, fields: sockAddrFields, sock: s}
	v.may = func(f *uapiField, write bool) bool {
		switch skbGroup(f.name) {
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
	v.out = func(v *uapiView) []byte { return h.fieldBytes(v) }
	if err := c.attach(v); err != nil {
		return err
	}
	// The peer is that of the default packet; a socket's own address is left to the kernel.
	v.put("user_family", hook.family)
	if hook.family == uapi.AFUnix {
		return nil
	}
	if !hook.local {
		v.put("user_ip4", uint64(h.Order().Uint32([]byte{198, 51, 100, 2})))
		v.put("user_port", uint64(h.Order().Uint16([]byte{0, 80})))
	}
	if hook.family == uapi.AFInet6 {
		v.put("user_ip4", 0)
		if !hook.local { // 2001:db8::2
			v.put("user_ip6[0]", uint64(h.Order().Uint32([]byte{0x20, 0x01, 0x0d, 0xb8})))
			v.put("user_ip6[3]", uint64(h.Order().Uint32([]byte{0, 0, 0, 2})))
		}
	}
	return nil
}

// fieldBytes lays the fields of a context out as the user ABI has them, without pointers.
func (h *Hooks) fieldBytes(v *uapiView) []byte {
	b := make([]byte, v.size)
	for i := range v.fields {
		f := &v.fields[i]
		if f.kind != plainField {
			continue
		}
		object.PutUint(h.Order(), b[f.off:f.off+f.size], v.value(f))
	}
	return b
}

// contextSocket is the socket a context is for: the one given, else a default one that later contexts of the kind share.
func (h *Hooks) contextSocket(c *Context, spec SockSpec) (*Socket, error) {
	if o := c.spec.Socket; o != nil {
		return h.SocketOf(o)
	}
	role := "sk"
	if c.spec.ProgType != uapi.ProgTypeSockOps {
		role += " (" + c.spec.Attach.String() + ")"
	}
	return h.defaultSocket(role, spec), nil
}
