package scenario

import (
	"net/netip"
	"sync"

	"github.com/bpfrun/bpfrun/internal/kernel/model"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// maker creates an object for a tag from the keys that it knows; all other keys of the node are
// fields.
type maker struct {
	own   []string
	build func(b *builder, role string, n *grammar.Node) (*object.Object, error)
	// sets lists the fields that a key sets, which no other key may set to something else. It may
	// be nil.
	sets func(b *builder, key string, value *grammar.Node) []string
	// fill relates the object to others once all of them exist. It may be nil.
	fill func(b *builder, o *object.Object, n *grammar.Node) error
}

func (m maker) keys() []string { return m.own }

func defaultOf(typ string) maker {
	return maker{build: func(b *builder, role string, n *grammar.Node) (*object.Object, error) {
		return b.k.NewDefault(role, typ)
	}}
}

var (
	makersMade sync.Once
	madeMakers map[string]maker
)

// makers returns the makers by tag. They are made on first use, as making values asks for them.
func makers() map[string]maker {
	makersMade.Do(func() { madeMakers = newMakers() })
	return madeMakers
}

func newMakers() map[string]maker {
	return map[string]maker{
		"!file":    {own: []string{"path", "ino", "mode", "flags", "size", "dev"}, build: makeFile, sets: fieldsOf(fileFields)},
		"!dentry":  {own: []string{"path"}, build: makeDentry},
		"!sock":    {own: []string{"family", "protocol", "type", "state", "source", "dest", "sport", "dport", "reuseport"}, build: makeSock, sets: sockSets},
		"!conn":    {own: []string{"protocol", "source", "dest", "sport", "dport", "zone", "expires"}, build: makeConn, sets: fieldsOf(connFields)},
		"!flow":    {own: []string{"protocol", "source", "dest", "sport", "dport", "iif", "oif", "expires"}, build: makeFlow, sets: fieldsOf(flowFields)},
		"!task":    {own: []string{"children", "threads", "files", "cgroup"}, build: makeTask, fill: fillTask},
		"!skb":     defaultOf("sk_buff"),
		"!cgroup":  {own: []string{"path", "id"}, build: makeCgroup, sets: fieldsOf(cgroupFields)},
		"!mm":      {own: []string{"args", "env", "areas", "user"}, build: makeMM, sets: fieldsOf(mmFields), fill: fillMM},
		"!bprm":    {own: []string{"path"}, build: makeBprm, sets: fieldsOf(bprmFields)},
		"!inode":   defaultOf("inode"),
		"!pt_regs": {own: []string{"args", "ret", "ip", "sp"}, build: makeRegs, sets: regsSet},
	}
}

func makerNames() []string {
	names := []string{}
	for _, t := range tags {
		if _, ok := makers()[t.name]; ok {
			names = append(names, t.name)
		}
	}
	return names
}

// make creates an object by its tag, from the maker's own keys.
func (b *builder) make(role string, n *grammar.Node) (*object.Object, error) {
	m, ok := makers()[n.Tag]
	if !ok {
		return nil, n.Unknown("builder", n.Tag, makerNames())
	}
	if n.Kind != grammar.Mapping && n.Kind != grammar.Null {
		return nil, n.Errorf("%s: want a mapping, got %s", n.Tag, n.Describe())
	}
	return m.build(b, role, n)
}

// built creates a complete object inside a value.
func (b *builder) built(role string, n *grammar.Node) (*object.Object, error) {
	o, err := b.make(role, n)
	if err != nil {
		return nil, n.Placed(n.Tag, err)
	}
	return o, b.fillFrom(o, n)
}

// numbers decodes those integer keys of a maker that are present.
func decodeNumbers(n *grammar.Node, to map[string]*uint64) error {
	var wrong grammar.Mistakes
	for name, p := range to {
		v := n.Get(name)
		if v == nil {
			continue
		}
		x, err := v.Uint64(name)
		if wrong.Add(err) {
			*p = x
		}
	}
	return wrong.Err()
}

func makeFile(b *builder, role string, n *grammar.Node) (*object.Object, error) {
	var s model.FileSpec
	var wrong grammar.Mistakes
	if p := n.Get("path"); p != nil {
		path, err := absolute(p)
		wrong.Add(err)
		s.Path = path
	}
	wrong.Add(decodeNumbers(n, map[string]*uint64{"ino": &s.Ino, "mode": &s.Mode, "flags": &s.Flags, "size": &s.Size, "dev": &s.Dev}))
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	return b.k.NewFile(role, s)
}

func absolute(n *grammar.Node) (string, error) {
	path, err := n.NonEmpty("path")
	if err == nil && path[0] != '/' {
		err = n.Errorf("path: want an absolute path, got %s", grammar.Brief(path))
	}
	return path, err
}

func makeDentry(b *builder, role string, n *grammar.Node) (*object.Object, error) {
	path := "/"
	if p := n.Get("path"); p != nil {
		var err error
		if path, err = absolute(p); err != nil {
			return nil, err
		}
	}
	return b.k.NewDentry(role, path)
}

// socketWords are additional names for numbers in sockets, which have other meanings elsewhere.
var socketWords = sync.OnceValue(func() map[string]uint64 {
	return map[string]uint64{
		"IPPROTO_IP": 0, "IPPROTO_IPV6": 41, "IPPROTO_ICMP": 1, "IPPROTO_TCP": 6, "IPPROTO_UDP": 17, "tcp": 6, "udp": 17,
		"TCP_ESTABLISHED": 1, "TCP_SYN_SENT": 2, "TCP_SYN_RECV": 3, "TCP_FIN_WAIT1": 4, "TCP_FIN_WAIT2": 5, "TCP_TIME_WAIT": 6,
		"TCP_CLOSE": 7, "TCP_CLOSE_WAIT": 8, "TCP_LAST_ACK": 9, "TCP_LISTEN": 10, "TCP_CLOSING": 11,
	}
})

// sockFields are the fields that keys of !sock set; addresses are in one of two.
var sockFields = sync.OnceValue(func() map[string][]string {
	return map[string][]string{
		"family": {"__sk_common.skc_family"}, "protocol": {"sk_protocol"}, "type": {"sk_type"}, "state": {"__sk_common.skc_state"},
		"sport": {"__sk_common.skc_num"}, "dport": {"__sk_common.skc_dport"}, "reuseport": {"__sk_common.skc_reuseport"},
		"source": {"__sk_common.skc_rcv_saddr", "__sk_common.skc_v6_rcv_saddr"}, "dest": {"__sk_common.skc_daddr", "__sk_common.skc_v6_daddr"},
	}
})

func sockSets(_ *builder, key string, value *grammar.Node) []string {
	paths := sockFields()[key]
	if len(paths) < 2 {
		return paths
	}
	if a, err := netip.ParseAddr(value.Text); err == nil && a.Is6() {
		return paths[1:]
	}
	return paths[:1]
}

func makeSock(b *builder, role string, n *grammar.Node) (*object.Object, error) {
	var s net.SockSpec
	for _, f := range []struct {
		name    string
		highest int64
		to      func(uint16)
	}{
		{"family", 0xffff, func(v uint16) { s.Family = v }}, {"protocol", 0xffff, func(v uint16) { s.Protocol = v }},
		{"type", 0xffff, func(v uint16) { s.Type = v }}, {"state", 0xff, func(v uint16) { s.State = uint8(v) }},
		{"sport", 0xffff, func(v uint16) { s.SourcePort = v }}, {"dport", 0xffff, func(v uint16) { s.DestPort = v }},
	} {
		v := n.Get(f.name)
		if v == nil {
			continue
		}
		if w, ok := socketWords()[v.Text]; ok && v.Kind == grammar.Scalar {
			f.to(uint16(w))
			continue
		}
		x, err := v.Int(f.name, 0, f.highest)
		if err != nil {
			return nil, err
		}
		f.to(uint16(x))
	}
	for name, to := range map[string]*[]byte{"source": &s.Source, "dest": &s.Dest} {
		v := n.Get(name)
		if v == nil {
			continue
		}
		a, err := netip.ParseAddr(v.Text)
		if err != nil || v.Kind != grammar.Scalar {
			return nil, v.Errorf("%s: want an IP address, got %s", name, v.Describe())
		}
		*to = a.AsSlice()
		if a.Is6() && s.Family == 0 {
			s.Family = 10
		}
	}
	o, err := b.k.NewSock(role, s)
	if v := n.Get("reuseport"); v != nil && err == nil {
		shares, err := v.Bool("reuseport")
		if err != nil {
			return nil, err
		}
		if shares {
			return o, o.Set("__sk_common.skc_reuseport", 1)
		}
	}
	return o, err
}

// makeConn makes an entry of the table of connections.
func makeConn(b *builder, role string, n *grammar.Node) (*object.Object, error) {
	const lifetime = 432000 // seconds of an established TCP connection
	num := map[string]int{"zone": 0, "expires": lifetime}
	t, err := connTuple(n, "connection", num)
	if err != nil {
		return nil, err
	}
	return b.k.NewConnection(role, t, net.ConnZone{ID: uint16(num["zone"]), Dir: net.ZoneBothDirs}, b.expiry(num["expires"]))
}

// makeFlow makes an entry of the flow table, with its connection.
func makeFlow(b *builder, role string, n *grammar.Node) (*object.Object, error) {
	num := map[string]int{"iif": 1, "oif": 0, "expires": 30}
	t, err := connTuple(n, "flow", num)
	if err != nil {
		return nil, err
	}
	if num["oif"] == 0 {
		num["oif"] = num["iif"]
	}
	return b.k.NewFlow(role, t, uint32(num["iif"]), uint32(num["oif"]), b.expiry(num["expires"]))
}

// expiry returns the tick that is seconds from now.
func (b *builder) expiry(seconds int) uint32 {
	const never = 1<<31 - 1 // ticks
	clock := b.k.Clock()
	return uint32(clock.Jiffies()) + uint32(min(uint64(seconds)*clock.HZ, never))
}

// connTuple reads addresses, ports and protocol of a connection or flow, and the other numbers of
// num, which has their defaults.
func connTuple(n *grammar.Node, what string, num map[string]int) (t net.ConnTuple, err error) {
	const longest = 1<<31/1000 - 1 // seconds of any connection
	num["protocol"], num["sport"], num["dport"] = 6, 0, 0
	most := map[string]int{"protocol": 0xff, "expires": longest, "iif": 1<<31 - 1, "oif": 1<<31 - 1}
	var wrong grammar.Mistakes
	for name := range num {
		v := n.Get(name)
		if v == nil {
			continue
		}
		if w, ok := socketWords()[v.Text]; ok && v.Kind == grammar.Scalar && name == "protocol" {
			num[name] = int(w)
			continue
		}
		top, ok := most[name]
		if !ok {
			top = 0xffff
		}
		x, err := v.Int(name, 0, int64(top))
		if wrong.Add(err) {
			num[name] = x
		}
	}
	t.Protocol = uint8(num["protocol"])
	for name, to := range map[string]*netip.AddrPort{"source": &t.Source, "dest": &t.Dest} {
		v := n.Get(name)
		if v == nil {
			wrong.Add(n.Errorf("a %s needs source: and dest:, the addresses of its first packet", what))
			continue
		}
		a, err := addrOf(v, name)
		if wrong.Add(err) {
			*to = netip.AddrPortFrom(a, uint16(num[name[:1]+"port"]))
		}
	}
	if err := wrong.Err(); err != nil {
		return t, err
	}
	if t.Source.Addr().Is4() != t.Dest.Addr().Is4() {
		return t, n.Errorf("source: and dest: of a %s are both IPv4 or both IPv6 addresses", what)
	}
	return t, nil
}
