package scenario

import (
	"encoding/binary"
	"math"
	"math/big"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/progtype"
)

// The context: key of a run, for programs of the networking stack and of cgroups, and the network
// of kernel:.

var contextForm = &form{"context", "Inputs of networking and cgroup programs besides the packet. A key that does not fit the program's type is an error.", []member{
	{name: "sk", doc: "The socket: the $name of a !sock object; null for a packet without one.", shape: text},
	{name: "fields", doc: "Fields of the context by name (op, user_ip4, user_port, mark, major). Segments of a large packet are gso_size, gso_segs and wire_len. Addresses are written as usual, even for arrays of four words (user_ip6: 2001:db8::1); ports are plain numbers.", shape: mapOf(oneOf(integer, text))},
	{name: "frags", doc: "Fragments that follow the packet (its linear part): hex digits or @FILE each, at most a page.", shape: listOf(text)},
	{name: "cloned", doc: "The packet's bytes are shared with another sk_buff, so that a write copies them first.", shape: shapeOf(shapeBool)},
	{name: "ingress", doc: "The tc program sees incoming packets.", shape: shapeOf(shapeBool)},
	{name: "ip_summed", doc: "Checksum state from the network card: none, unnecessary (it verified them), complete (it summed the whole packet) or partial (it will complete the sum of an outgoing packet).", shape: text},
	{name: "tunnel", doc: "The tunnel the packet came through.", shape: formOf(tunnelForm)},
	{name: "xfrm", doc: "The XFRM interface (IPsec) the packet came through; a packet has this or a tunnel.", shape: formOf(xfrmForm)},
	{name: "received", doc: "Metadata from the network card for an XDP packet.", shape: formOf(receivedForm)},
	{name: "sockopt", doc: "The system call of a getsockopt or setsockopt program.", shape: formOf(sockoptForm)},
	{name: "sysctl", doc: "The access a sysctl program filters.", shape: formOf(sysctlForm)},
	{name: "device", doc: "The access a device program filters.", shape: formOf(deviceForm)},
}}

var receivedForm = &form{"received", "A packet's metadata from the network card; omitted fields are unknown.", []member{
	{name: "timestamp", doc: "Time of arrival, in nanoseconds.", shape: integer},
	{name: "hash", doc: "Flow hash.", shape: integer},
	{name: "hash_type", doc: "enum xdp_rss_hash_type.", shape: integer},
	{name: "vlan_proto", doc: "Protocol of a VLAN tag the card removed (0x8100).", shape: integer},
	{name: "vlan_tci", doc: "The tag.", shape: integer},
}}

var tunnelForm = &form{"tunnel", "The tunnel a packet came through.", []member{
	{name: "id", doc: "The tunnel's id (a VNI).", shape: integer},
	{name: "remote", doc: "The sender's address.", shape: text, required: true},
	{name: "local", doc: "The destination address.", shape: text},
	{name: "tos", doc: "The outer type of service.", shape: integer},
	{name: "ttl", doc: "The outer TTL.", shape: integer},
	{name: "options", doc: "Encapsulation options, as hex digits.", shape: text},
	{name: "sport", doc: "The source port of an encapsulation in UDP (FOU, GUE).", shape: integer},
	{name: "dport", doc: "Its destination port.", shape: integer},
}}

var xfrmForm = &form{"xfrm", "The XFRM interface a packet came through.", []member{
	{name: "if_id", doc: "The if_id of the state that the packet matched.", shape: integer},
	{name: "link", doc: "The index of the interface on which the packet was received.", shape: integer},
}}

var sockoptForm = &form{"sockopt", "A call of getsockopt or setsockopt.", []member{
	{name: "level", doc: "The level: a number, SOL_SOCKET, IPPROTO_IP, IPPROTO_TCP, IPPROTO_IPV6.", shape: oneOf(integer, text)},
	{name: "optname", doc: "The option's number.", shape: integer},
	{name: "optval", doc: "Its value: a number (an int), text, or !hex.", shape: oneOf(integer, text)},
	{name: "optlen", doc: "The length from user space (default: the length of the value).", shape: integer},
	{name: "retval", doc: "What the kernel's getsockopt returned.", shape: integer},
}}

var sysctlForm = &form{"sysctl", "An access to a file of /proc/sys.", []member{
	{name: "name", doc: "The path below /proc/sys: net/ipv4/ip_forward.", shape: text, required: true},
	{name: "value", doc: "The current value.", shape: text},
	{name: "new", doc: "The value being written; omit it for a read.", shape: text},
}}

var deviceForm = &form{"device", "An access to a device file.", []member{
	{name: "type", doc: "block or char.", shape: text},
	{name: "access", doc: "Any of r (read), w (write), m (mknod).", shape: text},
	{name: "major", doc: "Its major number.", shape: integer},
	{name: "minor", doc: "Its minor number.", shape: integer},
}}

var networkForm = &form{"network", "Interfaces, routes and neighbours.", []member{
	{name: "devices", doc: "Interfaces (default: lo with index 1 and eth0 with index 2).", shape: listOf(formOf(netDeviceForm))},
	{name: "routes", doc: "Routes bpf_fib_lookup finds.", shape: listOf(formOf(routeForm))},
	{name: "neighbours", doc: "Hardware addresses of neighbours.", shape: listOf(formOf(neighbourForm))},
}}

var netDeviceForm = &form{"device of the network", "An interface.", []member{
	{name: "index", doc: "Its index.", shape: integer, required: true},
	{name: "name", doc: "Its name.", shape: text, required: true},
	{name: "mtu", doc: "Its MTU (default: 1500).", shape: integer},
	{name: "mac", doc: "Its hardware address.", shape: text},
}}

var routeForm = &form{"route", "An entry of a routing table.", []member{
	{name: "to", doc: "The destination: 10.0.0.0/8, 0.0.0.0/0, 2001:db8::/32.", shape: text, required: true},
	{name: "via", doc: "The gateway; omit it if the destination is on the link.", shape: text},
	{name: "dev", doc: "The interface, by name or index.", shape: oneOf(text, integer)},
	{name: "type", doc: "unicast (default), local, blackhole, unreachable or prohibit.", shape: text},
	{name: "src", doc: "The preferred source address.", shape: text},
	{name: "mtu", doc: "The MTU of the path.", shape: integer},
	{name: "metric", doc: "Among routes to the same prefix, the lowest metric wins.", shape: integer},
	{name: "table", doc: "The routing table; 254 is the main table.", shape: integer},
}}

var neighbourForm = &form{"neighbour", "A neighbour on a link.", []member{
	{name: "addr", doc: "Its address.", shape: text, required: true},
	{name: "mac", doc: "Its hardware address.", shape: text, required: true},
	{name: "dev", doc: "The interface, by name or index.", shape: oneOf(text, integer), required: true},
}}

// netContext decodes the context: key of a run for its program.
func (r *Runner) netContext(run *Run) (kernel.NetSpec, error) {
	var s kernel.NetSpec
	n := run.Context
	if n == nil {
		return s, nil
	}
	var wrong mistakes
	if wrong.add(n.fields(contextForm)); n.Kind != Mapping {
		return s, wrong.err()
	}
	lp, _ := r.m.Linked().Program(run.Prog)
	type step struct {
		key   string
		fits  bool
		apply func(*Node) error
	}
	takes := progtype.Of(lp.Type).Takes
	for _, st := range []step{
		{"sk", takes.Has(progtype.TakesSocket), func(v *Node) error { return r.contextSocket(v, &s) }},
		{"fields", true, func(v *Node) (err error) { s.Fields, err = r.contextFields(v); return err }},
		{"frags", takes.Has(progtype.TakesFrags), func(v *Node) error { return r.frags(v, &s) }},
		{"cloned", takes.Has(progtype.TakesSkb), func(v *Node) (err error) { s.Cloned, err = v.bool("cloned"); return err }},
		{"ingress", takes.Has(progtype.TakesSkb), func(v *Node) (err error) { s.Ingress, err = v.bool("ingress"); return err }},
		{"ip_summed", takes.Has(progtype.TakesSkb), func(v *Node) (err error) { s.Summed, err = v.summed(); return err }},
		{"tunnel", takes.Has(progtype.TakesSkb), func(v *Node) error { return v.tunnel(&s) }},
		{"xfrm", takes.Has(progtype.TakesSkb), func(v *Node) error { return v.xfrm(&s) }},
		{"received", takes.Has(progtype.TakesXDP), func(v *Node) error { return v.received(&s) }},
		{"sockopt", takes.Has(progtype.TakesSockopt), func(v *Node) error { return r.sockopt(v, &s) }},
		{"sysctl", takes.Has(progtype.TakesSysctl), func(v *Node) error { return v.sysctl(&s) }},
		{"device", takes.Has(progtype.TakesDevice), func(v *Node) error { return v.device(&s) }},
	} {
		v := n.Get(st.key)
		if v == nil {
			continue
		}
		if !st.fits {
			wrong.add(v.errorf("context.%s: programs of type %v have no such input", st.key, lp.Type))
			continue
		}
		wrong.add(st.apply(v))
	}
	return s, wrong.err()
}

func (n *Node) bool(what string) (bool, error) {
	if n.Kind == Scalar && (n.Text == "true" || n.Text == "false") {
		return n.Text == "true", nil
	}
	return false, n.errorf("%s: want true or false, got %s", what, n.describe())
}

// summedWords are the words for values of skb->ip_summed.
var summedWords = []string{kernel.SummedNone: "none", kernel.SummedUnnecessary: "unnecessary", kernel.SummedComplete: "complete", kernel.SummedPartial: "partial"}

func (n *Node) summed() (kernel.Summed, error) {
	i := slices.Index(summedWords, n.Text)
	if n.Kind != Scalar || i < 0 {
		return 0, n.unknown("value of ip_summed", n.Text, summedWords)
	}
	return kernel.Summed(i), nil
}

func (r *Runner) contextSocket(v *Node, s *kernel.NetSpec) error {
	if v.Kind == Null {
		s.NoSocket = true
		return nil
	}
	if !isRef(v) {
		return v.errorf("sk: want the $name of a !sock object or null, got %s", v.describe())
	}
	o, err := r.b.ref(v)
	if err != nil {
		return err
	}
	if _, err := r.m.Kernel().SocketOf(o); err != nil {
		return v.wrap("sk", err)
	}
	s.Socket = o
	return nil
}

// contextFields decodes the values of fields; an IPv6 address is four words of an array.
func (r *Runner) contextFields(n *Node) (map[string]uint64, error) {
	pairs, err := n.pairs("fields")
	if err != nil {
		return nil, err
	}
	order := r.m.Memory().ByteOrder()
	out := map[string]uint64{}
	var wrong mistakes
	for _, p := range pairs {
		name, v := p.Key.Text, p.Value
		if a, err := netip.ParseAddr(v.Text); err == nil && v.Kind == Scalar {
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
		if !wrong.add(err) {
			continue
		}
		if progtype.NetworkOrder(name) == "port" {
			if _, stored := r.b.network(v); stored {
				out[name] = x
				continue
			}
			if x > 0xffff {
				wrong.add(v.errorf("%s: %d is not a port", name, x))
				continue
			}
			x = uint64(order.Uint16(binary.BigEndian.AppendUint16(nil, uint16(x))))
		}
		out[name] = x
	}
	return out, wrong.err()
}

// contextNumber decodes a number, a word for a socket constant, or an enumerator of the kernel.
func (r *Runner) contextNumber(what string, v *Node) (uint64, error) {
	if v.Kind == Scalar {
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
	return v.uint64(what)
}

func (r *Runner) frags(v *Node, s *kernel.NetSpec) error {
	if v.Kind != Sequence {
		return v.errorf("frags: want a list of hex digits or @FILE, got %s", v.describe())
	}
	var wrong mistakes
	for _, item := range v.Items {
		b, err := r.file.bytes("frags", item)
		wrong.add(err)
		s.Frags = append(s.Frags, b)
	}
	return wrong.err()
}

func (n *Node) tunnel(s *kernel.NetSpec) (err error) {
	if err := n.fields(tunnelForm); err != nil {
		return err
	}
	const key, options = 0x04, 0x0800 // TUNNEL_KEY, TUNNEL_GENEVE_OPT
	var id, tos, ttl, sport, dport uint64
	if err := n.numbers(map[string]*uint64{"id": &id, "tos": &tos, "ttl": &ttl, "sport": &sport, "dport": &dport}); err != nil {
		return err
	}
	if sport > 0xffff || dport > 0xffff {
		return n.errorf("tunnel: want ports of at most 65535, got %d and %d", sport, dport)
	}
	t := &kernel.Tunnel{ID: uint32(id), TOS: uint8(tos), TTL: uint8(ttl), Flags: key, SourcePort: uint16(sport), DestPort: uint16(dport)}
	if t.Remote, err = n.Get("remote").addr("remote"); err != nil {
		return err
	}
	t.Local = netip.IPv4Unspecified()
	if t.Remote.Is6() {
		t.Local = netip.IPv6Unspecified()
	}
	if v := n.Get("local"); v != nil {
		if t.Local, err = v.addr("local"); err != nil {
			return err
		}
		if t.Local.Is6() != t.Remote.Is6() {
			return v.errorf("local: want an address of the same family as remote, got %s", v.describe())
		}
	}
	if v := n.Get("options"); v != nil {
		if t.Options, err = v.hex("options"); err != nil {
			return err
		}
		t.Flags |= options
	}
	s.Tunnel = t
	return nil
}

func (n *Node) xfrm(s *kernel.NetSpec) error {
	if err := n.fields(xfrmForm); err != nil {
		return err
	}
	if s.Tunnel != nil {
		return n.errorf("xfrm: the packet came through a tunnel (tunnel:): leave one of the two out")
	}
	var id, link uint64
	if err := n.numbers(map[string]*uint64{"if_id": &id, "link": &link}); err != nil {
		return err
	}
	s.Xfrm = &kernel.Xfrm{ID: uint32(id), Link: int32(uint32(link))}
	return nil
}

func (n *Node) received(s *kernel.NetSpec) error {
	if err := n.fields(receivedForm); err != nil {
		return err
	}
	var ts, hash, typ, proto, tci uint64
	if err := n.numbers(map[string]*uint64{"timestamp": &ts, "hash": &hash, "hash_type": &typ, "vlan_proto": &proto, "vlan_tci": &tci}); err != nil {
		return err
	}
	s.Received = &kernel.Received{Timestamp: ts, Hash: uint32(hash), HashType: uint32(typ), VLANProto: uint16(proto), VLANTCI: uint16(tci)}
	return nil
}

func (r *Runner) sockopt(n *Node, s *kernel.NetSpec) error {
	if err := n.fields(sockoptForm); err != nil {
		return err
	}
	o := &kernel.Sockopt{}
	var wrong mistakes
	for _, f := range []struct {
		name string
		to   *int32
	}{{"level", &o.Level}, {"optname", &o.Name}, {"optlen", &o.Len}, {"retval", &o.Retval}} {
		v := n.Get(f.name)
		if v == nil {
			continue
		}
		x, err := r.contextNumber(f.name, v)
		if wrong.add(err) && (int64(x) > math.MaxUint32 || int64(x) < math.MinInt32) {
			wrong.add(v.errorf("%s: %s does not fit into 32 bits", f.name, v.Text))
		}
		*f.to = int32(uint32(x))
	}
	if v := n.Get("optval"); v != nil {
		x, err := v.plain()
		if wrong.add(err); err != nil {
			return wrong.err()
		}
		switch x := x.(type) {
		case []byte:
			o.Value = x
		case string:
			o.Value = []byte(x)
		case *big.Int:
			u, err := v.uint64("optval")
			wrong.add(err)
			o.Value = make([]byte, 4)
			r.m.Memory().ByteOrder().PutUint32(o.Value, uint32(u))
		default:
			wrong.add(v.errorf("optval: want a number, text or !hex, got %s", v.describe()))
		}
	}
	s.Sockopt = o
	return wrong.err()
}

func (n *Node) sysctl(s *kernel.NetSpec) error {
	if err := n.fields(sysctlForm); err != nil {
		return err
	}
	name, err := n.Get("name").text("name")
	if err != nil {
		return err
	}
	o := &kernel.Sysctl{Name: name}
	if v := n.Get("value"); v != nil {
		o.Value = []byte(v.Text)
	}
	if v := n.Get("new"); v != nil {
		o.Write, o.New = true, []byte(v.Text)
	}
	s.Sysctl = o
	return nil
}

func (n *Node) device(s *kernel.NetSpec) error {
	if err := n.fields(deviceForm); err != nil {
		return err
	}
	major, minor, kind, access := uint64(1), uint64(3), uint64(2), uint64(0)
	if err := n.numbers(map[string]*uint64{"major": &major, "minor": &minor}); err != nil {
		return err
	}
	const majors, minors = 1 << 12, 1 << 20 // MAJOR, MINOR (linux/kdev_t.h)
	switch {
	case major >= majors:
		return n.Get("major").errorf("major: want a number below %d, got %s", majors, n.Get("major").describe())
	case minor >= minors:
		return n.Get("minor").errorf("minor: want a number below %d, got %s", minors, n.Get("minor").describe())
	}
	if v := n.Get("type"); v != nil {
		switch v.Text {
		case "block":
			kind = 1
		case "char":
		default:
			return v.errorf("type: want block or char, got %s", v.describe())
		}
	}
	letters := "r"
	if v := n.Get("access"); v != nil {
		letters = v.Text
	}
	for _, c := range letters {
		i := strings.IndexRune("mrw", c)
		if i < 0 {
			return n.Get("access").errorf("access: want any of r, w and m, got %s", brief(letters))
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
	if err := n.fields(networkForm); err != nil {
		return err
	}
	k := r.m.Kernel()
	w := kernel.Network{Devices: k.Devices()}
	if v := n.Get("devices"); v != nil {
		w.Devices = nil
		if err := v.eachForm(netDeviceForm, func(d *Node) error {
			dev, err := netDevice(d)
			w.Devices = append(w.Devices, dev)
			return err
		}); err != nil {
			return err
		}
	}
	k.SetNetwork(w)
	var wrong mistakes
	if v := n.Get("routes"); v != nil {
		wrong.add(v.eachForm(routeForm, func(e *Node) error {
			route, err := r.route(e)
			w.Routes = append(w.Routes, route)
			return err
		}))
	}
	if v := n.Get("neighbours"); v != nil {
		wrong.add(v.eachForm(neighbourForm, func(e *Node) error {
			nb, err := r.neighbour(e)
			w.Neighbours = append(w.Neighbours, nb)
			return err
		}))
	}
	k.SetNetwork(w)
	return wrong.err()
}

// eachForm calls do for each item of a list; each item must be a mapping of the form.
func (n *Node) eachForm(f *form, do func(*Node) error) error {
	if n.Kind != Sequence {
		return n.errorf("want a list, got %s", n.describe())
	}
	var wrong mistakes
	for _, item := range n.Items {
		if wrong.add(item.fields(f)) {
			wrong.add(do(item))
		}
	}
	return wrong.err()
}

func netDevice(n *Node) (d kernel.Device, err error) {
	index, mtu := uint64(0), uint64(1500)
	if err := n.numbers(map[string]*uint64{"index": &index, "mtu": &mtu}); err != nil {
		return d, err
	}
	d = kernel.Device{Index: uint32(index), Name: n.Get("name").Text, MTU: int(min(mtu, 1<<20)), Loopback: n.Get("name").Text == "lo"}
	if v := n.Get("mac"); v != nil {
		d.Hardware, err = v.mac()
	}
	return d, err
}

func (n *Node) mac() (m [6]byte, err error) {
	hw, e := net.ParseMAC(n.Text)
	if e != nil || len(hw) != len(m) {
		return m, n.errorf("mac: want a hardware address such as 02:00:00:00:00:01, got %s", n.describe())
	}
	return [6]byte(hw), nil
}

func (n *Node) addr(what string) (netip.Addr, error) {
	a, err := netip.ParseAddr(n.Text)
	if err != nil || n.Kind != Scalar {
		return a, n.errorf("%s: want an IP address, got %s", what, n.describe())
	}
	return a, nil
}

// deviceIndex finds the index of an interface by name or index.
func (r *Runner) deviceIndex(n *Node) (uint32, error) {
	var names []string
	for _, d := range r.m.Kernel().Devices() {
		if d.Name == n.Text || itoa(int(d.Index)) == n.Text {
			return d.Index, nil
		}
		names = append(names, d.Name)
	}
	return 0, n.unknown("interface", n.Text, names)
}

func (r *Runner) route(n *Node) (e kernel.Route, err error) {
	to := n.Get("to")
	if e.Dest, err = netip.ParsePrefix(to.Text); err != nil {
		return e, to.errorf("to: want a prefix such as 10.0.0.0/8, got %s", to.describe())
	}
	if v := n.Get("type"); v != nil {
		types := map[string]kernel.RouteType{"unicast": kernel.RouteUnicast, "local": kernel.RouteLocal, "blackhole": kernel.RouteBlackhole, "unreachable": kernel.RouteUnreachable, "prohibit": kernel.RouteProhibit}
		t, ok := types[v.Text]
		if !ok {
			return e, v.unknown("type of route", v.Text, []string{"unicast", "local", "blackhole", "unreachable", "prohibit"})
		}
		e.Type = t
	}
	if v := n.Get("via"); v != nil {
		if e.Gateway, err = v.addr("via"); err != nil {
			return e, err
		}
	}
	if v := n.Get("src"); v != nil {
		if e.Source, err = v.addr("src"); err != nil {
			return e, err
		}
	}
	var mtu, metric, table uint64
	if err := n.numbers(map[string]*uint64{"mtu": &mtu, "metric": &metric, "table": &table}); err != nil {
		return e, err
	}
	e.MTU, e.Metric, e.Table = int(min(mtu, 1<<20)), uint32(metric), uint32(table)
	if v := n.Get("dev"); v != nil {
		e.Device, err = r.deviceIndex(v)
	} else if e.Type == kernel.RouteUnicast {
		err = n.errorf("a unicast route needs dev:, the outgoing interface")
	}
	return e, err
}

func (r *Runner) neighbour(n *Node) (e kernel.Neighbour, err error) {
	if e.Addr, err = n.Get("addr").addr("addr"); err != nil {
		return e, err
	}
	if e.MAC, err = n.Get("mac").mac(); err != nil {
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
			return n.wrap("object "+name, err)
		}
	}
	return nil
}

// sock returns the socket that an element of a sockmap refers to.
func (t *table) sock(n *Node) (*kernel.Socket, error) {
	if !isRef(n) {
		return nil, n.errorf("map %s: want the $name of a !sock object, got %s", t.def.Name, n.describe())
	}
	o, err := t.v.ref(n)
	if err != nil {
		return nil, err
	}
	s, err := t.v.k.SocketOf(o)
	if err != nil {
		return nil, n.wrap("map "+t.def.Name, err)
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
