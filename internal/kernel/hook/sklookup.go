package hook

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// skLookupSize is sizeof(struct bpf_sk_lookup).
const skLookupSize = 72

var skLookupFields = fieldsOf(uapi.ProgTypeSkLookup, func() map[string]net.Source {
	return map[string]net.Source{"sk": {Kind: net.WideField, From: net.Selected}}
})

// skLookupContext creates a bpf_sk_lookup: from the bytes passed to a test run
// (bpf_prog_test_run_sk_lookup), or from the default packet's addresses.
func (h *Hooks) skLookupContext(c *Context) error {
	in := c.spec.Bytes
	full := make([]byte, skLookupSize)
	le := h.Order()
	if len(in) > 0 {
		copy(full, in)
		if err := h.skLookupIn(in); err != nil {
			return err
		}
	} else {
		p := h.packetBytes(c)
		if len(p) < net.EthHeader+24 || p[net.EthHeader]>>4 != 4 {
			p = net.DefaultPacket()
		}
		ip := p[net.EthHeader:]
		le.PutUint32(full[8:], uapi.AFInet)
		le.PutUint32(full[12:], uint32(ip[9]))
		copy(full[16:], ip[12:16])
		copy(full[36:], ip[20:22])
		copy(full[40:], ip[16:20])
		le.PutUint32(full[60:], uint32(ip[22])<<8|uint32(ip[23]))
		le.PutUint32(full[64:], net.LoopbackIndex)
	}
	v := h.newView(c, skLookupFields, c.spec.ProgType.String())
	v.Out = func(v *net.View) []byte {
		b := append([]byte(nil), full...)
		clear(b[:8])
		if v.Socket != nil {
			le.PutUint64(b, v.Socket.Cookie())
		}
		return b
	}
	if err := c.attach(v); err != nil {
		return err
	}
	family := uint32(le.Uint16(full[8:]))
	for i := range v.Fields {
		f := &v.Fields[i]
		switch {
		case f.From != nil || f.Name == "padding":
		// The other family's addresses do not exist.
		case strings.HasPrefix(f.Name, "remote_ip6[") || strings.HasPrefix(f.Name, "local_ip6["):
			if family == uapi.AFInet6 {
				v.SetValue(f, uint64(le.Uint32(full[f.Off:])))
			}
		case f.Name == "remote_ip4" || f.Name == "local_ip4":
			if family == uapi.AFInet {
				v.SetValue(f, uint64(le.Uint32(full[f.Off:])))
			}
		case f.Name == "family" || f.Name == "protocol": // the kernel takes 16 bits
			v.SetValue(f, uint64(uint16(le.Uint32(full[f.Off:]))))
		case f.Size == 2:
			v.SetValue(f, uint64(le.Uint16(full[f.Off:])))
		default:
			v.SetValue(f, uint64(le.Uint32(full[f.Off:])))
		}
	}
	return nil
}

// skLookupIn checks the context passed to a test run.
func (h *Hooks) skLookupIn(in []byte) error {
	le := h.Order()
	const sk, family, localPort, end = 0, 8, 60, 64
	switch af := uint32(uint16(le.Uint32(in[family:]))); {
	case le.Uint64(in[sk:]) != 0:
		return fmt.Errorf("kernel: ctx_in of bpf_sk_lookup sets sk: %w", uapi.EINVAL)
	case !net.ZeroBytes(in[end:]):
		return fmt.Errorf("kernel: ctx_in of bpf_sk_lookup sets bytes after local_port: %w", uapi.EINVAL)
	case le.Uint32(in[localPort:]) > 0xffff:
		return fmt.Errorf("kernel: local_port %d: %w", le.Uint32(in[localPort:]), uapi.ERANGE)
	case af != uapi.AFInet && af != uapi.AFInet6:
		return fmt.Errorf("kernel: family %d: %w", af, uapi.EAFNOSUPPORT)
	}
	return nil
}

// Select implements bpf_sk_assign for an sk_lookup program; nil selects no socket.
func (c *Context) Select(s *net.Socket, flags uint64) uapi.Errno {
	v := c.view
	switch {
	case flags&^uint64(uapi.SkLookupReplace|uapi.SkLookupNoReuseport) != 0:
		return uapi.EINVAL
	case s != nil && s.Refcounted():
		return uapi.ESOCKTNOSUPPORT
	case s != nil && s.Protocol() == net.ProtoTCP && s.State() != net.TCPListen, s != nil && s.Protocol() == net.ProtoUDP && s.State() != net.TCPClose:
		return uapi.ESOCKTNOSUPPORT
	case s != nil && uint64(s.Protocol()) != v.Get("protocol"):
		return uapi.EPROTOTYPE
	case s != nil && uint64(s.Family()) != v.Get("family") && (s.Family() == uapi.AFInet || s.IPv6Only()):
		return uapi.EAFNOSUPPORT
	case v.Socket != nil && flags&uapi.SkLookupReplace == 0:
		return uapi.EEXIST
	}
	v.Socket = s
	return 0
}
