package kernel

import (
	"strings"

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
	h := addrHook{family: afInet}
	switch {
	case strings.HasSuffix(name, "unix") || strings.Contains(name, "unix_"):
		h.family = afUnix
	case strings.Contains(name, "inet6") || strings.Contains(name, "udp6"):
		h.family = afInet6
	}
	h.sendmsg = strings.Contains(name, "sendmsg")
	h.dgram = h.sendmsg || strings.Contains(name, "recvmsg")
	h.local = strings.Contains(name, "bind") || strings.Contains(name, "getsockname")
	return h
}

// sockAddrContext makes a bpf_sock_addr: the address of a bind, connect, sendmsg, recvmsg, getpeername or getsockname.
func (k *Kernel) sockAddrContext(c *Context) error {
	h := addrHookOf(c.spec.Attach)
	spec := SockSpec{Family: uint16(h.family), State: tcpClose}
	if h.dgram {
		spec.Protocol, spec.Type = ipprotoUDP, sockDgram
	}
	if h.family == afUnix {
		spec.Protocol = 0
	}
	s, err := k.contextSocket(c, spec)
	if err != nil {
		return err
	}
	v := &uapiView{k: k, typ: "bpf_sock_addr", who: c.spec.Attach.String(), size: sockAddrSize, fields: sockAddrFields, sock: s}
	v.may = func(f *uapiField, write bool) bool {
		switch skbGroup(f.name) {
		case "user_ip4":
			return h.family == afInet
		case "user_ip6":
			return h.family == afInet6
		case "msg_src_ip4":
			return h.sendmsg && h.family == afInet
		case "msg_src_ip6":
			return h.sendmsg && h.family == afInet6
		case "user_port":
			return true
		}
		return !write
	}
	v.out = func(v *uapiView) []byte { return k.fieldBytes(v) }
	if err := c.attach(v); err != nil {
		return err
	}
	// The peer is that of the default packet; a socket's own address is left to the kernel.
	v.put("user_family", h.family)
	if h.family == afUnix {
		return nil
	}
	if !h.local {
		v.put("user_ip4", uint64(k.order().Uint32([]byte{198, 51, 100, 2})))
		v.put("user_port", uint64(k.order().Uint16([]byte{0, 80})))
	}
	if h.family == afInet6 {
		v.put("user_ip4", 0)
		if !h.local { // 2001:db8::2
			v.put("user_ip6[0]", uint64(k.order().Uint32([]byte{0x20, 0x01, 0x0d, 0xb8})))
			v.put("user_ip6[3]", uint64(k.order().Uint32([]byte{0, 0, 0, 2})))
		}
	}
	return nil
}

// fieldBytes lays the fields of a context out as the user ABI has them, without pointers.
func (k *Kernel) fieldBytes(v *uapiView) []byte {
	b := make([]byte, v.size)
	for i := range v.fields {
		f := &v.fields[i]
		if f.kind != plainField {
			continue
		}
		putUint(k.order(), b[f.off:f.off+f.size], v.value(f))
	}
	return b
}

// contextSocket is the socket a context is for: the one given, else a default one that later contexts of the kind share.
func (k *Kernel) contextSocket(c *Context, spec SockSpec) (*Socket, error) {
	if o := c.spec.Socket; o != nil {
		return k.SocketOf(o)
	}
	role := "sk"
	if c.spec.ProgType != uapi.ProgTypeSockOps {
		role += " (" + c.spec.Attach.String() + ")"
	}
	if s := k.byName[role]; s != nil {
		if s.obj != nil {
			s.read()
		}
		return s, nil
	}
	s := &Socket{k: k, role: role}
	if o, err := k.NewSock(role, spec); err == nil {
		s = k.socketOf(o)
	} else {
		s.plain(spec)
		k.sockets = append(k.sockets, s)
	}
	if k.byName == nil {
		k.byName = map[string]*Socket{}
	}
	k.byName[role] = s
	return s, nil
}

// plain gives a socket without struct sock the values of a description.
func (s *Socket) plain(spec SockSpec) {
	or := func(v, otherwise uint64) uint64 {
		if v == 0 {
			return otherwise
		}
		return v
	}
	s.vals[sockFamily], s.vals[sockState] = or(uint64(spec.Family), afInet), or(uint64(spec.State), tcpEstablished)
	s.vals[sockType] = or(uint64(spec.Type), sockStream)
	if spec.Family != afUnix {
		s.vals[sockProtocol] = or(uint64(spec.Protocol), ipprotoTCP)
	}
	s.vals[sockRxQueue] = 0xffffffff
	s.vals[sockCookie] = 1 + s.k.hash(s.role, "cookie")%(1<<16)
	s.was = s.vals
}
