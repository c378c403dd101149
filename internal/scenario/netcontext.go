package scenario

import (
	"encoding/binary"
	"math"
	"math/big"
	"net"
	"net/netip"
	"slices"
	"strings"

	khook "github.com/bpfrun/bpfrun/internal/kernel/hook"
	knet "github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// The context: key of a run, for programs of the networking stack and of cgroups, and the network
// of kernel:.

var contextForm = &grammar.Form{Name: "context", Doc: "Inputs of networking and cgroup programs besides the packet. A key that does not fit the program's type is an error.", Members: []grammar.Member{
	{Name: "sk", Doc: "The socket: the $name of a !sock object; null for a packet without one.", Shape: grammar.Text},
	{Name: "message", Doc: "The bytes that the socket of an sk_msg program sends: text or !hex.", Shape: grammar.Text},
	{Name: "fields", Doc: "Fields of the context by name (op, user_ip4, user_port, mark, major). Segments of a large packet are gso_size, gso_segs and wire_len. Addresses are written as usual, even for arrays of four words (user_ip6: 2001:db8::1); ports are plain numbers.", Shape: grammar.MapOf(grammar.OneOf(grammar.Integer, grammar.Text))},
	{Name: "frags", Doc: "Fragments that follow the packet (its linear part): hex digits or @FILE each, at most a page.", Shape: grammar.ListOf(grammar.Text)},
	{Name: "cloned", Doc: "The packet's bytes are shared with another sk_buff, so that a write copies them first.", Shape: grammar.ShapeOf(grammar.ShapeBool)},
	{Name: "ingress", Doc: "The tc program sees incoming packets.", Shape: grammar.ShapeOf(grammar.ShapeBool)},
	{Name: "ip_summed", Doc: "Checksum state from the network card: none, unnecessary (it verified them), complete (it summed the whole packet) or partial (it will complete the sum of an outgoing packet).", Shape: grammar.Text},
	{Name: "tunnel", Doc: "The tunnel the packet came through.", Shape: grammar.FormOf(tunnelForm)},
	{Name: "xfrm", Doc: "The XFRM interface (IPsec) the packet came through; a packet has this or a tunnel.", Shape: grammar.FormOf(xfrmForm)},
	{Name: "received", Doc: "Metadata from the network card for an XDP packet.", Shape: grammar.FormOf(receivedForm)},
	{Name: "sockopt", Doc: "The system call of a getsockopt or setsockopt program.", Shape: grammar.FormOf(sockoptForm)},
	{Name: "sysctl", Doc: "The access a sysctl program filters.", Shape: grammar.FormOf(sysctlForm)},
	{Name: "device", Doc: "The access a device program filters.", Shape: grammar.FormOf(deviceForm)},
}}

var receivedForm = &grammar.Form{Name: "received", Doc: "A packet's metadata from the network card; omitted fields are unknown.", Members: []grammar.Member{
	{Name: "timestamp", Doc: "Time of arrival, in nanoseconds.", Shape: grammar.Integer},
	{Name: "hash", Doc: "Flow hash.", Shape: grammar.Integer},
	{Name: "hash_type", Doc: "enum xdp_rss_hash_type.", Shape: grammar.Integer},
	{Name: "vlan_proto", Doc: "Protocol of a VLAN tag the card removed (0x8100).", Shape: grammar.Integer},
	{Name: "vlan_tci", Doc: "The tag.", Shape: grammar.Integer},
}}

var tunnelForm = &grammar.Form{Name: "tunnel", Doc: "The tunnel a packet came through.", Members: []grammar.Member{
	{Name: "id", Doc: "The tunnel's id (a VNI).", Shape: grammar.Integer},
	{Name: "remote", Doc: "The sender's address.", Shape: grammar.Text, Required: true},
	{Name: "local", Doc: "The destination address.", Shape: grammar.Text},
	{Name: "tos", Doc: "The outer type of service.", Shape: grammar.Integer},
	{Name: "ttl", Doc: "The outer TTL.", Shape: grammar.Integer},
	{Name: "options", Doc: "Encapsulation options, as hex digits.", Shape: grammar.Text},
	{Name: "sport", Doc: "The source port of an encapsulation in UDP (FOU, GUE).", Shape: grammar.Integer},
	{Name: "dport", Doc: "Its destination port.", Shape: grammar.Integer},
}}

var xfrmForm = &grammar.Form{Name: "xfrm", Doc: "The XFRM interface a packet came through.", Members: []grammar.Member{
	{Name: "if_id", Doc: "The if_id of the state that the packet matched.", Shape: grammar.Integer},
	{Name: "link", Doc: "The index of the interface on which the packet was received.", Shape: grammar.Integer},
}}

var sockoptForm = &grammar.Form{Name: "sockopt", Doc: "A call of getsockopt or setsockopt.", Members: []grammar.Member{
	{Name: "level", Doc: "The level: a number, SOL_SOCKET, IPPROTO_IP, IPPROTO_TCP, IPPROTO_IPV6.", Shape: grammar.OneOf(grammar.Integer, grammar.Text)},
	{Name: "optname", Doc: "The option's number.", Shape: grammar.Integer},
	{Name: "optval", Doc: "Its value: a number (an int), text, or !hex.", Shape: grammar.OneOf(grammar.Integer, grammar.Text)},
	{Name: "optlen", Doc: "The length from user space (default: the length of the value).", Shape: grammar.Integer},
	{Name: "retval", Doc: "What the kernel's getsockopt returned.", Shape: grammar.Integer},
}}

var sysctlForm = &grammar.Form{Name: "sysctl", Doc: "An access to a file of /proc/sys.", Members: []grammar.Member{
	{Name: "name", Doc: "The path below /proc/sys: net/ipv4/ip_forward.", Shape: grammar.Text, Required: true},
	{Name: "value", Doc: "The current value.", Shape: grammar.Text},
	{Name: "new", Doc: "The value being written; omit it for a read.", Shape: grammar.Text},
}}

var deviceForm = &grammar.Form{Name: "device", Doc: "An access to a device file.", Members: []grammar.Member{
	{Name: "type", Doc: "block or char.", Shape: grammar.Text},
	{Name: "access", Doc: "Any of r (read), w (write), m (mknod).", Shape: grammar.Text},
	{Name: "major", Doc: "Its major number.", Shape: grammar.Integer},
	{Name: "minor", Doc: "Its minor number.", Shape: grammar.Integer},
}}

var networkForm = &grammar.Form{Name: "network", Doc: "Interfaces, routes and neighbours.", Members: []grammar.Member{
	{Name: "devices", Doc: "Interfaces (default: lo with index 1 and eth0 with index 2).", Shape: grammar.ListOf(grammar.FormOf(netDeviceForm))},
	{Name: "routes", Doc: "Routes bpf_fib_lookup finds.", Shape: grammar.ListOf(grammar.FormOf(routeForm))},
	{Name: "neighbours", Doc: "Hardware addresses of neighbours.", Shape: grammar.ListOf(grammar.FormOf(neighbourForm))},
}}

var netDeviceForm = &grammar.Form{Name: "device of the network", Doc: "An interface.", Members: []grammar.Member{
	{Name: "index", Doc: "Its index.", Shape: grammar.Integer, Required: true},
	{Name: "name", Doc: "Its name.", Shape: grammar.Text, Required: true},
	{Name: "mtu", Doc: "Its MTU (default: 1500).", Shape: grammar.Integer},
	{Name: "mac", Doc: "Its hardware address.", Shape: grammar.Text},
}}

var routeForm = &grammar.Form{Name: "route", Doc: "An entry of a routing table.", Members: []grammar.Member{
	{Name: "to", Doc: "The destination: 10.0.0.0/8, 0.0.0.0/0, 2001:db8::/32.", Shape: grammar.Text, Required: true},
	{Name: "via", Doc: "The gateway; omit it if the destination is on the link.", Shape: grammar.Text},
	{Name: "dev", Doc: "The interface, by name or index.", Shape: grammar.OneOf(grammar.Text, grammar.Integer)},
	{Name: "type", Doc: "unicast (default), local, blackhole, unreachable or prohibit.", Shape: grammar.Text},
	{Name: "src", Doc: "The preferred source address.", Shape: grammar.Text},
	{Name: "mtu", Doc: "The MTU of the path.", Shape: grammar.Integer},
	{Name: "metric", Doc: "Among routes to the same prefix, the lowest metric wins.", Shape: grammar.Integer},
	{Name: "table", Doc: "The routing table; 254 is the main table.", Shape: grammar.Integer},
}}

var neighbourForm = &grammar.Form{Name: "neighbour", Doc: "A neighbour on a link.", Members: []grammar.Member{
	{Name: "addr", Doc: "Its address.", Shape: grammar.Text, Required: true},
	{Name: "mac", Doc: "Its hardware address.", Shape: grammar.Text, Required: true},
	{Name: "dev", Doc: "The interface, by name or index.", Shape: grammar.OneOf(grammar.Text, grammar.Integer), Required: true},
}}

// netContext decodes the context: key of a run for its program.
func (r *Runner) netContext(run *Run) (khook.NetSpec, error) {
	var s khook.NetSpec
	n := run.Context
	if n == nil {
		return s, nil
	}
	var wrong grammar.Mistakes
	if wrong.Add(n.Fields(contextForm)); n.Kind != grammar.Mapping {
		return s, wrong.Err()
	}
	lp, _ := r.m.Linked().Program(run.Prog)
	type step struct {
		key   string
		fits  bool
		apply func(*grammar.Node) error
	}
	takes := progtype.Of(lp.Type).Takes
	for _, st := range []step{
		{"sk", takes.Has(progtype.TakesSocket), func(v *grammar.Node) error { return r.contextSocket(v, &s) }},
		{"message", takes.Has(progtype.TakesMessage), func(v *grammar.Node) (err error) { s.Message, err = message(v); return err }},
		{"fields", true, func(v *grammar.Node) (err error) { s.Fields, err = r.contextFields(v); return err }},
		{"frags", takes.Has(progtype.TakesFrags), func(v *grammar.Node) error { return r.frags(v, &s) }},
		{"cloned", takes.Has(progtype.TakesSkb), func(v *grammar.Node) (err error) { s.Cloned, err = v.Bool("cloned"); return err }},
		{"ingress", takes.Has(progtype.TakesSkb), func(v *grammar.Node) (err error) { s.Ingress, err = v.Bool("ingress"); return err }},
		{"ip_summed", takes.Has(progtype.TakesSkb), func(v *grammar.Node) (err error) { s.Summed, err = summedOf(v); return err }},
		{"tunnel", takes.Has(progtype.TakesSkb), func(v *grammar.Node) error { return decodeTunnel(v, &s) }},
		{"xfrm", takes.Has(progtype.TakesSkb), func(v *grammar.Node) error { return decodeXfrm(v, &s) }},
		{"received", takes.Has(progtype.TakesXDP), func(v *grammar.Node) error { return decodeReceived(v, &s) }},
		{"sockopt", takes.Has(progtype.TakesSockopt), func(v *grammar.Node) error { return r.sockopt(v, &s) }},
		{"sysctl", takes.Has(progtype.TakesSysctl), func(v *grammar.Node) error { return decodeSysctl(v, &s) }},
		{"device", takes.Has(progtype.TakesDevice), func(v *grammar.Node) error { return decodeDevice(v, &s) }},
	} {
		v := n.Get(st.key)
		if v == nil {
			continue
		}
		if !st.fits {
			wrong.Add(v.Errorf("context.%s: programs of type %v have no such input", st.key, lp.Type))
			continue
		}
		wrong.Add(st.apply(v))
	}
	return s, wrong.Err()
}

// summedWords are the words for values of skb->ip_summed.
var summedWords = []string{khook.SummedNone: "none", khook.SummedUnnecessary: "unnecessary", khook.SummedComplete: "complete", khook.SummedPartial: "partial"}

func summedOf(n *grammar.Node) (khook.Summed, error) {
	i := slices.Index(summedWords, n.Text)
	if n.Kind != grammar.Scalar || i < 0 {
		return 0, n.Unknown("value of ip_summed", n.Text, summedWords)
	}
	return khook.Summed(i), nil
}

func (r *Runner) contextSocket(v *grammar.Node, s *khook.NetSpec) error {
	if v.Kind == grammar.Null {
		s.NoSocket = true
		return nil
	}
	if !isRef(v) {
		return v.Errorf("sk: want the $name of a !sock object or null, got %s", v.Describe())
	}
	o, err := r.b.ref(v)
	if err != nil {
		return err
	}
	if _, err := r.m.Kernel().SocketOf(o); err != nil {
		return v.Wrap("sk", err)
	}
	s.Socket = o
	return nil
}

// contextFields decodes the values of fields; an IPv6 address is four words of an array.
func (r *Runner) contextFields(n *grammar.Node) (map[string]uint64, error) {
	pairs, err := n.Members("fields")
	if err != nil {
		return nil, err
	}
	order := r.m.Memory().ByteOrder()
	out := map[string]uint64{}
	var wrong grammar.Mistakes
	for _, p := range pairs {
		name, v := p.Key.Text, p.Value
		if a, err := netip.ParseAddr(v.Text); err == nil && v.Kind == grammar.Scalar {
			b := a.AsSlice()
			if len(b) == 4 {
				out[name] = uint64(order.Uint32(b))
				continue
			}
			for i := range 4 {
				out[name+"["+itoa(i)+"]"] = uint64(order.Uint32(b[4*i:]))
			}
			continue
		}
		x, err := r.contextNumber(name, v)
		if !wrong.Add(err) {
			continue
		}
		if progtype.NetworkOrder(name) == "port" {
			if _, stored := r.b.network(v); stored {
				out[name] = x
				continue
			}
			if x > 0xffff {
				wrong.Add(v.Errorf("%s: %d is not a port", name, x))
				continue
			}
			x = uint64(order.Uint16(binary.BigEndian.AppendUint16(nil, uint16(x))))
		}
		out[name] = x
	}
	return out, wrong.Err()
}

// contextNumber decodes a number, a word for a socket constant, or an enumerator of the kernel.
func (r *Runner) contextNumber(what string, v *grammar.Node) (uint64, error) {
	if v.Kind == grammar.Scalar {
		if w, ok := socketWords()[v.Text]; ok {
			return w, nil
		}
		if x, ok := r.b.network(v); ok {
			return x, nil
		}
		if spec := r.m.Kernel().BTF(); spec != nil {
			if x, ok := spec.EnumValue("", v.Text); ok {
				return x, nil
			}
		}
		if spec := r.m.Linked().Object.BTF; spec != nil {
			if x, ok := spec.EnumValue("", v.Text); ok {
				return x, nil
			}
		}
	}
	return v.Uint64(what)
}

// message decodes the bytes that a socket sends. The kernel asks no program about none of them.
func message(n *grammar.Node) ([]byte, error) {
	b, err := []byte(n.Text), error(nil)
	switch {
	case n.Tag == "!hex":
		b, err = n.Hex("message")
	case n.Kind != grammar.Scalar || n.Tag != "":
		return nil, n.Errorf("message: want text or !hex, got %s", n.Describe())
	}
	if err == nil && len(b) == 0 {
		return nil, n.Errorf("message: want at least one byte: programs do not see empty messages")
	}
	return b, err
}

func (r *Runner) frags(v *grammar.Node, s *khook.NetSpec) error {
	if v.Kind != grammar.Sequence {
		return v.Errorf("frags: want a list of hex digits or @FILE, got %s", v.Describe())
	}
	var wrong grammar.Mistakes
	for _, item := range v.Items {
		b, err := r.file.bytes("frags", item)
		wrong.Add(err)
		s.Frags = append(s.Frags, b)
	}
	return wrong.Err()
}

func decodeTunnel(n *grammar.Node, s *khook.NetSpec) (err error) {
	if err := n.Fields(tunnelForm); err != nil {
		return err
	}
	const key, options = 0x04, 0x0800 // TUNNEL_KEY, TUNNEL_GENEVE_OPT
	var id, tos, ttl, sport, dport uint64
	if err := decodeNumbers(n, map[string]*uint64{"id": &id, "tos": &tos, "ttl": &ttl, "sport": &sport, "dport": &dport}); err != nil {
		return err
	}
	if sport > 0xffff || dport > 0xffff {
		return n.Errorf("tunnel: want ports of at most 65535, got %d and %d", sport, dport)
	}
	t := &khook.Tunnel{ID: uint32(id), TOS: uint8(tos), TTL: uint8(ttl), Flags: key, SourcePort: uint16(sport), DestPort: uint16(dport)}
	if t.Remote, err = addrOf(n.Get("remote"), "remote"); err != nil {
		return err
	}
	t.Local = netip.IPv4Unspecified()
	if t.Remote.Is6() {
		t.Local = netip.IPv6Unspecified()
	}
	if v := n.Get("local"); v != nil {
		if t.Local, err = addrOf(v, "local"); err != nil {
			return err
		}
		if t.Local.Is6() != t.Remote.Is6() {
			return v.Errorf("local: want an address of the same family as remote, got %s", v.Describe())
		}
	}
	if v := n.Get("options"); v != nil {
		if t.Options, err = v.Hex("options"); err != nil {
			return err
		}
		t.Flags |= options
	}
	s.Tunnel = t
	return nil
}

func decodeXfrm(n *grammar.Node, s *khook.NetSpec) error {
	if err := n.Fields(xfrmForm); err != nil {
		return err
	}
	if s.Tunnel != nil {
		return n.Errorf("xfrm: the packet came through a tunnel (tunnel:): leave one of the two out")
	}
	var id, link uint64
	if err := decodeNumbers(n, map[string]*uint64{"if_id": &id, "link": &link}); err != nil {
		return err
	}
	s.Xfrm = &khook.Xfrm{ID: uint32(id), Link: int32(uint32(link))}
	return nil
}

func decodeReceived(n *grammar.Node, s *khook.NetSpec) error {
	if err := n.Fields(receivedForm); err != nil {
		return err
	}
	var ts, hash, typ, proto, tci uint64
	if err := decodeNumbers(n, map[string]*uint64{"timestamp": &ts, "hash": &hash, "hash_type": &typ, "vlan_proto": &proto, "vlan_tci": &tci}); err != nil {
		return err
	}
	s.Received = &khook.Received{Timestamp: ts, Hash: uint32(hash), HashType: uint32(typ), VLANProto: uint16(proto), VLANTCI: uint16(tci)}
	return nil
}

func (r *Runner) sockopt(n *grammar.Node, s *khook.NetSpec) error {
	if err := n.Fields(sockoptForm); err != nil {
		return err
	}
	o := &khook.Sockopt{}
	var wrong grammar.Mistakes
	for _, f := range []struct {
		name string
		to   *int32
	}{{"level", &o.Level}, {"optname", &o.Name}, {"optlen", &o.Len}, {"retval", &o.Retval}} {
		v := n.Get(f.name)
		if v == nil {
			continue
		}
		x, err := r.contextNumber(f.name, v)
		if wrong.Add(err) && (int64(x) > math.MaxUint32 || int64(x) < math.MinInt32) {
			wrong.Add(v.Errorf("%s: %s does not fit into 32 bits", f.name, v.Text))
		}
		*f.to = int32(uint32(x))
	}
	if v := n.Get("optval"); v != nil {
		x, err := plainValue(v)
		if wrong.Add(err); err != nil {
			return wrong.Err()
		}
		switch x := x.(type) {
		case []byte:
			o.Value = x
		case string:
			o.Value = []byte(x)
		case *big.Int:
			u, err := v.Uint64("optval")
			wrong.Add(err)
			o.Value = make([]byte, 4)
			r.m.Memory().ByteOrder().PutUint32(o.Value, uint32(u))
		default:
			wrong.Add(v.Errorf("optval: want a number, text or !hex, got %s", v.Describe()))
		}
	}
	s.Sockopt = o
	return wrong.Err()
}

func decodeSysctl(n *grammar.Node, s *khook.NetSpec) error {
	if err := n.Fields(sysctlForm); err != nil {
		return err
	}
	name, err := n.Get("name").NonEmpty("name")
	if err != nil {
		return err
	}
	o := &khook.Sysctl{Name: name}
	if v := n.Get("value"); v != nil {
		o.Value = []byte(v.Text)
	}
	if v := n.Get("new"); v != nil {
		o.Write, o.New = true, []byte(v.Text)
	}
	s.Sysctl = o
	return nil
}

func decodeDevice(n *grammar.Node, s *khook.NetSpec) error {
	if err := n.Fields(deviceForm); err != nil {
		return err
	}
	major, minor, kind, access := uint64(1), uint64(3), uint64(2), uint64(0)
	if err := decodeNumbers(n, map[string]*uint64{"major": &major, "minor": &minor}); err != nil {
		return err
	}
	const majors, minors = 1 << 12, 1 << 20 // MAJOR, MINOR (linux/kdev_t.h)
	switch {
	case major >= majors:
		return n.Get("major").Errorf("major: want a number below %d, got %s", majors, n.Get("major").Describe())
	case minor >= minors:
		return n.Get("minor").Errorf("minor: want a number below %d, got %s", minors, n.Get("minor").Describe())
	}
	if v := n.Get("type"); v != nil {
		switch v.Text {
		case "block":
			kind = 1
		case "char":
		default:
			return v.Errorf("type: want block or char, got %s", v.Describe())
		}
	}
	letters := "r"
	if v := n.Get("access"); v != nil {
		letters = v.Text
	}
	for _, c := range letters {
		i := strings.IndexRune("mrw", c)
		if i < 0 {
			return n.Get("access").Errorf("access: want any of r, w and m, got %s", grammar.Brief(letters))
		}
		access |= 1 << i
	}
	if s.Fields == nil {
		s.Fields = map[string]uint64{}
	}
	s.Fields["access_type"], s.Fields["major"], s.Fields["minor"] = access<<16|kind, major, minor
	return nil
}

// setNetwork configures the machine's network as in the file.
func (r *Runner) setNetwork() error {
	n := r.file.Kernel.Network
	if n == nil {
		return nil
	}
	if err := n.Fields(networkForm); err != nil {
		return err
	}
	k := r.m.Kernel()
	w := knet.Network{Devices: k.Devices()}
	if v := n.Get("devices"); v != nil {
		w.Devices = nil
		if err := eachForm(v, netDeviceForm, func(d *grammar.Node) error {
			dev, err := netDevice(d)
			w.Devices = append(w.Devices, dev)
			return err
		}); err != nil {
			return err
		}
	}
	k.SetNetwork(w)
	var wrong grammar.Mistakes
	if v := n.Get("routes"); v != nil {
		wrong.Add(eachForm(v, routeForm, func(e *grammar.Node) error {
			route, err := r.route(e)
			w.Routes = append(w.Routes, route)
			return err
		}))
	}
	if v := n.Get("neighbours"); v != nil {
		wrong.Add(eachForm(v, neighbourForm, func(e *grammar.Node) error {
			nb, err := r.neighbour(e)
			w.Neighbours = append(w.Neighbours, nb)
			return err
		}))
	}
	k.SetNetwork(w)
	return wrong.Err()
}

// eachForm calls do for each item of a list; each item must be a mapping of the form.
func eachForm(n *grammar.Node, f *grammar.Form, do func(*grammar.Node) error) error {
	if n.Kind != grammar.Sequence {
		return n.Errorf("want a list, got %s", n.Describe())
	}
	var wrong grammar.Mistakes
	for _, item := range n.Items {
		if wrong.Add(item.Fields(f)) {
			wrong.Add(do(item))
		}
	}
	return wrong.Err()
}

func netDevice(n *grammar.Node) (d knet.Device, err error) {
	index, mtu := uint64(0), uint64(1500)
	if err := decodeNumbers(n, map[string]*uint64{"index": &index, "mtu": &mtu}); err != nil {
		return d, err
	}
	d = knet.Device{Index: uint32(index), Name: n.Get("name").Text, MTU: int(min(mtu, 1<<20)), Loopback: n.Get("name").Text == "lo"}
	if v := n.Get("mac"); v != nil {
		d.Hardware, err = macOf(v)
	}
	return d, err
}

func macOf(n *grammar.Node) (m [6]byte, err error) {
	hw, e := net.ParseMAC(n.Text)
	if e != nil || len(hw) != len(m) {
		return m, n.Errorf("mac: want a hardware address such as 02:00:00:00:00:01, got %s", n.Describe())
	}
	return [6]byte(hw), nil
}

func addrOf(n *grammar.Node, what string) (netip.Addr, error) {
	a, err := netip.ParseAddr(n.Text)
	if err != nil || n.Kind != grammar.Scalar {
		return a, n.Errorf("%s: want an IP address, got %s", what, n.Describe())
	}
	return a, nil
}

// deviceIndex finds the index of an interface by name or index.
func (r *Runner) deviceIndex(n *grammar.Node) (uint32, error) {
	var names []string
	for _, d := range r.m.Kernel().Devices() {
		if d.Name == n.Text || itoa(int(d.Index)) == n.Text {
			return d.Index, nil
		}
		names = append(names, d.Name)
	}
	return 0, n.Unknown("interface", n.Text, names)
}

func (r *Runner) route(n *grammar.Node) (e knet.Route, err error) {
	to := n.Get("to")
	if e.Dest, err = netip.ParsePrefix(to.Text); err != nil {
		return e, to.Errorf("to: want a prefix such as 10.0.0.0/8, got %s", to.Describe())
	}
	if v := n.Get("type"); v != nil {
		types := map[string]knet.RouteType{"unicast": knet.RouteUnicast, "local": knet.RouteLocal, "blackhole": knet.RouteBlackhole, "unreachable": knet.RouteUnreachable, "prohibit": knet.RouteProhibit}
		t, ok := types[v.Text]
		if !ok {
			return e, v.Unknown("type of route", v.Text, []string{"unicast", "local", "blackhole", "unreachable", "prohibit"})
		}
		e.Type = t
	}
	if v := n.Get("via"); v != nil {
		if e.Gateway, err = addrOf(v, "via"); err != nil {
			return e, err
		}
	}
	if v := n.Get("src"); v != nil {
		if e.Source, err = addrOf(v, "src"); err != nil {
			return e, err
		}
	}
	var mtu, metric, table uint64
	if err := decodeNumbers(n, map[string]*uint64{"mtu": &mtu, "metric": &metric, "table": &table}); err != nil {
		return e, err
	}
	e.MTU, e.Metric, e.Table = int(min(mtu, 1<<20)), uint32(metric), uint32(table)
	if v := n.Get("dev"); v != nil {
		e.Device, err = r.deviceIndex(v)
	} else if e.Type == knet.RouteUnicast {
		err = n.Errorf("a unicast route needs dev:, the outgoing interface")
	}
	return e, err
}

func (r *Runner) neighbour(n *grammar.Node) (e knet.Neighbour, err error) {
	if e.Addr, err = addrOf(n.Get("addr"), "addr"); err != nil {
		return e, err
	}
	if e.MAC, err = macOf(n.Get("mac")); err != nil {
		return e, err
	}
	e.Device, err = r.deviceIndex(n.Get("dev"))
	return e, err
}

// openSockets makes the file's sockets, connections and flows visible to lookups.
func (b *builder) openSockets() error {
	for _, name := range b.names {
		n, o := b.defs[name].Value, b.objects[name]
		if o == nil {
			continue // creating it failed
		}
		var err error
		switch n.Tag {
		case "!sock":
			err = b.k.OpenSocket(o)
		case "!conn":
			err = b.k.OpenConnection(o, uint32(b.k.Clock().Jiffies()))
		case "!flow":
			err = b.k.OpenFlow(o, uint32(b.k.Clock().Jiffies()))
		}
		if err != nil {
			return n.Wrap("object "+name, err)
		}
	}
	return nil
}

// sock returns the socket that an element of a sockmap refers to.
func (t *table) sock(n *grammar.Node) (*knet.Socket, error) {
	if !isRef(n) {
		return nil, n.Errorf("map %s: want the $name of a !sock object, got %s", t.def.Name, n.Describe())
	}
	o, err := t.v.ref(n)
	if err != nil {
		return nil, err
	}
	s, err := t.v.k.SocketOf(o)
	if err != nil {
		return nil, n.Wrap("map "+t.def.Name, err)
	}
	return s, nil
}

// withContext applies the context: key of a run to an input.
func (r *Runner) withContext(run *Run, in *machine.Input) error {
	spec, err := r.netContext(run)
	if err != nil {
		return err
	}
	in.Net = spec
	return nil
}
