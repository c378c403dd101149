package kernel

import (
	"fmt"

	"github.com/bpfrun/bpfrun/uapi"
)

// skLookupSize is sizeof(struct bpf_sk_lookup).
const skLookupSize = 72

// skLookupFields are the fields of struct bpf_sk_lookup (sk_lookup_is_valid_access).
var skLookupFields = func() []uapiField {
	fields := []uapiField{
		{name: "sk", off: 0, size: 8, kind: wideField, from: selectedSocket},
		{name: "family", off: 8, size: 4, narrow: true}, {name: "protocol", off: 12, size: 4, narrow: true},
		{name: "remote_ip4", off: 16, size: 4, narrow: true},
		{name: "remote_port", off: 36, size: 2, narrow: true, loose: true}, {name: "padding", off: 38, size: 2, narrow: true},
		{name: "local_ip4", off: 40, size: 4, narrow: true}, {name: "local_port", off: 60, size: 4, narrow: true},
		{name: "ingress_ifindex", off: 64, size: 4, narrow: true},
	}
	for i := range uint16(4) {
		n := string(rune('0' + i))
		fields = append(fields, uapiField{name: "remote_ip6[" + n + "]", off: 20 + 4*i, size: 4, narrow: true},
			uapiField{name: "local_ip6[" + n + "]", off: 44 + 4*i, size: 4, narrow: true})
	}
	return fields
}()

// skLookupContext makes a bpf_sk_lookup: of the bytes a test run takes (bpf_prog_test_run_sk_lookup), or of the default
// packet's addresses.
func (h *Hooks) skLookupContext(c *Context) error {
	in := c.spec.Bytes
	full := make([]byte, skLookupSize)
	le := h.Order()
	if len(in) > 0 {
		copy(full, in)
		if err := h.skLookupIn(full, in); err != nil {
			return err
		}
	} else {
		p := h.packetBytes(c)
		if len(p) < ethHeader+24 || p[ethHeader]>>4 != 4 {
			p = DefaultPacket()
		}
		ip := p[ethHeader:]
		le.PutUint32(full[8:], uapi.AFInet)
		le.PutUint32(full[12:], uint32(ip[9]))
		copy(full[16:], ip[12:16])
		copy(full[36:], ip[20:22])
		copy(full[40:], ip[16:20])
		le.PutUint32(full[60:], uint32(ip[22])<<8|uint32(ip[23]))
		le.PutUint32(full[64:], loopbackIndex)
	}
	v := &uapiView{k: h.Host, typ: "bpf_sk_lookup", who: c.spec.ProgType.String(), size: skLookupSize, fields: skLookupFields, may: readsOnly}
	v.out = func(v *uapiView) []byte {
		b := append([]byte(nil), full...)
		clear(b[:8])
		if v.sock != nil {
			le.PutUint64(b, v.sock.Cookie())
		}
		return b
	}
	if err := c.attach(v); err != nil {
		return err
	}
	family := le.Uint32(full[8:])
	for i := range v.fields {
		f := &v.fields[i]
		switch {
		case f.from != nil || f.name == "padding":
		// The other family's addresses do not exist.
		case skbGroup(f.name) == "remote_ip6" || skbGroup(f.name) == "local_ip6":
			if family == uapi.AFInet6 {
				v.setValue(f, uint64(le.Uint32(full[f.off:])))
			}
		case f.name == "remote_ip4" || f.name == "local_ip4":
			if family == uapi.AFInet {
				v.setValue(f, uint64(le.Uint32(full[f.off:])))
			}
		case f.size == 2:
			v.setValue(f, uint64(le.Uint16(full[f.off:])))
		default:
			v.setValue(f, uint64(le.Uint32(full[f.off:])))
		}
	}
	return nil
}

// skLookupIn judges the context a test run is given.
func (h *Hooks) skLookupIn(full, in []byte) error {
	le := h.Order()
	const sk, family, localPort, end = 0, 8, 60, 64
	switch {
	case le.Uint64(full[sk:]) != 0:
		return fmt.Errorf("kernel: ctx_in of bpf_sk_lookup sets sk: %w", uapi.EINVAL)
	case len(in) > end && !zeroBytes(in[end:]):
		return fmt.Errorf("kernel: ctx_in of bpf_sk_lookup sets bytes behind local_port: %w", uapi.EINVAL)
	case le.Uint32(full[localPort:]) > 0xffff:
		return fmt.Errorf("kernel: local_port %d: %w", le.Uint32(full[localPort:]), uapi.ERANGE)
	case le.Uint32(full[family:]) != uapi.AFInet && le.Uint32(full[family:]) != uapi.AFInet6:
		return fmt.Errorf("kernel: family %d: %w", le.Uint32(full[family:]), uapi.EAFNOSUPPORT)
	}
	return nil
}

// Select is bpf_sk_assign of an sk_lookup program; nil selects no socket.
func (c *Context) Select(s *Socket, flags uint64) uapi.Errno {
	v := c.view
	switch {
	case flags&^uint64(uapi.SkLookupReplace|uapi.SkLookupNoReuseport) != 0:
		return uapi.EINVAL
	case s != nil && s.Refcounted():
		return uapi.ESOCKTNOSUPPORT
	case s != nil && s.Protocol() == ipprotoTCP && s.State() != tcpListen, s != nil && s.Protocol() == ipprotoUDP && s.State() != tcpClose:
		return uapi.ESOCKTNOSUPPORT
	case s != nil && uint64(s.Protocol()) != v.get("protocol"):
		return uapi.EPROTOTYPE
	case s != nil && uint64(s.Family()) != v.get("family") && (s.Family() == uapi.AFInet || s.IPv6Only()):
		return uapi.EAFNOSUPPORT
	case v.sock != nil && flags&uapi.SkLookupReplace == 0:
		return uapi.EEXIST
	}
	v.sock = s
	return 0
}
