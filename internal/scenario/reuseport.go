package scenario

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// shared puts a socket into a reuseport_sockarray, under the conditions of
// reuseport_array_update_check.
func (t *table) shared(b maps.RefArray, index uint32, n *grammar.Node) error {
	s, err := t.sock(n)
	if err != nil {
		return err
	}
	family, protocol := s.Family(), s.Protocol()
	switch {
	case protocol != ipprotoTCP && protocol != ipprotoUDP, family != uapi.AFInet && family != uapi.AFInet6:
		return n.Errorf("map %s: %s is neither a TCP nor a UDP socket (ENOTSUPP)", t.def.Name, n.Text)
	case !s.Grouped():
		return n.Errorf("map %s: %s must share its port (reuseport: true, sport) and be a UDP socket or a listening one (state: TCP_LISTEN) (EINVAL)", t.def.Name, n.Text)
	}
	return t.errno(n, b.SetRef(index, s))
}

const (
	ipprotoTCP = 6
	ipprotoUDP = 17

	tcpEstablished = 1
)

// group is the group of sockets at which the packet of a run arrives: that of the context's socket,
// in the order in which they joined it.
type group struct {
	names   []string
	sockets []*net.Socket
}

// groupOf returns that group. The sockets join in the order of the file.
func (r *Runner) groupOf(run *Run, at *grammar.Node) (*group, error) {
	if lp, _ := r.m.Linked().Program(run.Prog); lp == nil || progtype.Of(lp.Type).Layer != progtype.Transport { // sk_reuseport alone
		return nil, at.Errorf("receiver: program %s chooses no socket; those of type sk_reuseport do", run.Prog)
	}
	p := r.input[run]
	if p == nil || p.in.Net.Socket == nil {
		return nil, at.Errorf("receiver: say with context: {sk: $SOCKET} at which sockets the packet arrives: those that share the address of this one")
	}
	own, err := r.m.Kernel().SocketOf(p.in.Net.Socket)
	if err != nil {
		return nil, at.Wrap("receiver", err)
	}
	if !own.Grouped() {
		return nil, at.Errorf("receiver: the socket of the context must share its port (reuseport: true, sport) and be a UDP socket or a listening one (state: TCP_LISTEN)")
	}
	g := &group{}
	for _, name := range r.b.names {
		o := r.b.objects[name]
		if o == nil || r.b.defs[name].Value.Tag != "!sock" {
			continue
		}
		s, err := r.m.Kernel().SocketOf(o)
		if err != nil {
			return nil, at.Wrap("receiver", err)
		}
		if s.SharesPort(own) {
			g.names, g.sockets = append(g.names, name), append(g.sockets, s)
		}
	}
	return g, nil
}

// receives returns the name of the socket that gets the packet, "" for none: the one that the
// program selected, none unless it returned SK_PASS (bpf_run_sk_reuseport), and without a selection
// one by the hash of the flow.
func (g *group) receives(res *machine.Result, hash uint32) string {
	const skPass = 1
	if uint32(res.Ret) != skPass {
		return ""
	}
	if v := res.Socket; v != nil && v.Target != nil {
		if i := slices.Index(g.sockets, v.Target); i >= 0 {
			return g.names[i]
		}
		return "a socket without a name"
	}
	return g.byHash(hash)
}

// byHash is reuseport_select_sock_by_hash: connected sockets get no packets of other flows.
func (g *group) byHash(hash uint32) string {
	n := len(g.sockets)
	first := int(uint64(hash) * uint64(n) >> 32) // reciprocal_scale
	for i := range n {
		if at := (first + i) % n; g.sockets[at].State() != tcpEstablished {
			return g.names[at]
		}
	}
	return ""
}

// receiver compares the socket that gets the packet with the expectation.
func (j *judge) receiver(e *Expect) error {
	n := e.Receiver
	if n == nil {
		return nil
	}
	if j.run.PacketNode == nil {
		return n.Errorf("receiver: the run has no packet")
	}
	if p := j.r.input[j.run]; p != nil && p.cannot != nil {
		return nil
	}
	g, err := j.r.groupOf(j.run, n)
	if err != nil {
		return err
	}
	want := ""
	if n.Kind != grammar.Null {
		if want, err = n.NonEmpty("receiver"); err != nil {
			return err
		}
		if !slices.Contains(g.names, want) {
			return n.Unknown("socket that shares the port", want, g.names)
		}
	}
	if j.Checking {
		return nil
	}
	got := g.receives(j.res, j.r.m.Kernel().FlowHash(beyondLink(j.run.Packet)))
	j.Expect(n.Pos, "receiver", want == got, orNone(want), orNone(got))
	return nil
}

// linkHeader is the length of an Ethernet header.
const linkHeader = 14

// beyondLink returns a packet without its Ethernet header.
func beyondLink(p []byte) []byte { return p[min(linkHeader, len(p)):] }

func orNone(name string) string {
	if name == "" {
		return "none"
	}
	return name
}
