package helpers

import (
	"encoding/binary"
	"net/netip"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var tunnelHelpers = []row{
	{ID: uapi.FuncSkbGetTunnelKey, Do: onSkb(skbGetTunnelKey), Note: "the key the program set, else that of the scenario"},
	{ID: uapi.FuncSkbSetTunnelKey, Do: onSkb(skbSetTunnelKey), Note: "recorded as an event"},
	{ID: uapi.FuncSkbGetTunnelOpt, Do: onSkb(skbGetTunnelOpt), Note: "the options the program set, else those of the scenario"},
	{ID: uapi.FuncSkbSetTunnelOpt, Do: onSkb(skbSetTunnelOpt)},
}

// Offsets into struct bpf_tunnel_key (include/uapi/linux/bpf.h).
const (
	tunnelRemote = 4
	tunnelTOS    = 20
	tunnelTTL    = 21
	tunnelExt    = 22 // tunnel_flags in results
	tunnelLabel  = 24
	tunnelLocal  = 28
	tunnelSize   = 44
	maxTunnelOpt = 255
)

// tunnelKey is the tunnel information attached to a packet, as struct bpf_tunnel_key.
type tunnelKey struct {
	raw  [tunnelSize]byte
	ipv6 bool
	// flags are TUNNEL_* bits in the kernel's order (include/uapi/linux/if_tunnel.h).
	flags uint16
	sent  bool    // IP_TUNNEL_INFO_TX: the program set the key, for a packet that leaves
	ports [4]byte // of an encapsulation in UDP: source and destination
}

// arrivedBy returns the key of a packet that came through a tunnel: the remote sender is its
// source, whereas for sent packets the source is local.
func arrivedBy(order binary.ByteOrder, t *hook.Tunnel) *tunnelKey {
	k := &tunnelKey{ipv6: t.Remote.Is6(), flags: t.Flags}
	order.PutUint32(k.raw[:], t.ID)
	for at, a := range map[int]netip.Addr{tunnelRemote: t.Local, tunnelLocal: t.Remote} {
		b := a.AsSlice()
		if len(b) == 4 { // a number
			order.PutUint32(k.raw[at:], binary.BigEndian.Uint32(b))
			continue
		}
		copy(k.raw[at:at+16], b)
	}
	k.raw[tunnelTOS], k.raw[tunnelTTL] = t.TOS, t.TTL
	putBE16(k.ports[:], t.SourcePort)
	putBE16(k.ports[2:], t.DestPort)
	return k
}

// Tunnel flags that bpf_skb_get_tunnel_key can report.
const (
	tunCsum         = 0x01
	tunKey          = 0x04
	tunSeq          = 0x08
	tunDontFragment = 0x0100
	tunNoCache      = 0x2000
	tunOptions      = 0xd800 // Geneve, VXLAN, ERSPAN, GTP options present
)

// tunnelLength reports whether a program built for a shorter struct may use the helper.
func tunnelLength(n uint64) bool {
	switch n {
	case tunnelSize, tunnelLocal, tunnelLabel, tunnelExt, 8:
		return true
	}
	return false
}

func skbGetTunnelKey(c *Call, s *skb) (uint64, *vm.Action) {
	n, key := c.Args[2]&0xffffffff, s.st.tunnel
	wantFlags := c.Args[3]&uapi.TunnelFlags != 0
	if key == nil || c.Args[3]&^uint64(uapi.TunnelIPv6|uapi.TunnelFlags) != 0 {
		return c.zeroed(1, uapi.EINVAL)
	}
	v6 := c.Args[3]&uapi.TunnelIPv6 != 0
	if v6 != key.ipv6 {
		return c.zeroed(1, uapi.EPROTO)
	}
	if !tunnelLength(n) || n == 8 && v6 {
		return c.zeroed(1, uapi.EINVAL)
	}
	out := key.raw
	clear(out[tunnelExt:tunnelLabel])
	// For an arriving packet the source is the remote end; the kernel does not check the direction.
	copy(out[tunnelRemote:tunnelTOS], key.raw[tunnelLocal:])
	copy(out[tunnelLocal:], key.raw[tunnelRemote:tunnelTOS])
	if wantFlags {
		putBE16(out[tunnelExt:], key.flags)
	}
	return 0, c.guest.Write(c.Args[1], out[:n])
}

func skbSetTunnelKey(c *Call, s *skb) (uint64, *vm.Action) {
	n, flags := c.Args[2]&0xffffffff, c.Args[3]
	data := c.In(1)
	if flags&^uint64(uapi.TunnelIPv6|uapi.TunnelZeroCsumTx|uapi.TunnelDontFragment|uapi.TunnelSeqNumber|uapi.TunnelNoKey) != 0 || !tunnelLength(n) {
		return errnoRet(uapi.EINVAL), nil
	}
	k := &tunnelKey{ipv6: flags&uapi.TunnelIPv6 != 0, sent: true}
	copy(k.raw[:], data)
	if !k.ipv6 && c.guest.Order().Uint32(k.raw[tunnelLabel:]) != 0 || be16(k.raw[tunnelExt:]) != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	k.flags = tunKey | tunCsum | tunNoCache
	if flags&uapi.TunnelDontFragment != 0 {
		k.flags |= tunDontFragment
	}
	if flags&uapi.TunnelZeroCsumTx != 0 {
		k.flags &^= tunCsum
	}
	if flags&uapi.TunnelSeqNumber != 0 {
		k.flags |= tunSeq
	}
	if flags&uapi.TunnelNoKey != 0 {
		k.flags &^= tunKey
	}
	if !k.ipv6 {
		clear(k.raw[tunnelRemote+4 : tunnelTOS])
		clear(k.raw[tunnelLocal+4:])
	}
	s.st.tunnel, s.st.tunnelOpts, s.st.xfrm = k, nil, nil
	return 0, c.Run.emit(Event{Kind: TunnelKey, Number: uint64(c.guest.Order().Uint32(k.raw[:])), Data: append([]byte(nil), data...)})
}

func skbGetTunnelOpt(c *Call, s *skb) (uint64, *vm.Action) {
	n := c.Args[2] & 0xffffffff
	if s.st.tunnel == nil || len(s.st.tunnelOpts) == 0 {
		return c.zeroed(1, uapi.ENOENT)
	}
	if n < uint64(len(s.st.tunnelOpts)) {
		return c.zeroed(1, uapi.ENOMEM)
	}
	out := c.Out(1)
	clear(out)
	copy(out, s.st.tunnelOpts)
	return uint64(len(s.st.tunnelOpts)), c.guest.Write(c.Args[1], out)
}

func skbSetTunnelOpt(c *Call, s *skb) (uint64, *vm.Action) {
	n := c.Args[2] & 0xffffffff
	data := c.In(1)
	switch {
	case s.st.tunnel == nil || n%4 != 0:
		return errnoRet(uapi.EINVAL), nil
	case n > maxTunnelOpt:
		return errnoRet(uapi.ENOMEM), nil
	}
	s.st.tunnelOpts = append([]byte(nil), data...)
	s.st.tunnel.flags |= tunOptions
	return 0, nil
}
