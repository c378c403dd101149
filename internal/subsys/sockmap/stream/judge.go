package stream

import (
	"strconv"

	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/scene"
	"github.com/bpfrun/bpfrun/internal/subsys/sockmap"
)

// judge compares what became of the bytes of sockets with the expectations.
type judge struct{ *grammar.Checks }

// Judge implements [scene.Run].
func (s *planned) Judge(c *grammar.Checks, set *scene.Setting, expect scene.Expected, sim drive.Simulation) error {
	j := &judge{c}
	moved, ok := sim.(*Moved)
	if !ok {
		moved = &Moved{}
	}
	results := map[string]sockmap.Result{}
	for _, r := range moved.Sockets {
		results[r.Name] = r
	}
	var wrong grammar.Mistakes
	wrong.Add(j.sends(expect("sends"), moved.Sends))
	pairs, err := expect("sockets").Members("sockets")
	wrong.Add(err)
	for _, p := range pairs {
		name := p.Key.Text
		if _, ok := set.Named(name, tagSock); !ok {
			wrong.Add(p.Key.Unknown("socket", name, set.ObjectNames()))
			continue
		}
		if err := p.Value.Fields(expectForm); !wrong.Add(err) {
			continue
		}
		for _, m := range p.Value.Pairs {
			wrong.Add(j.socket(results[name], m.Key.Text, m.Value))
		}
	}
	return wrong.Err()
}

// socket compares one member of what is expected of a socket.
func (j *judge) socket(r sockmap.Result, member string, n *grammar.Node) error {
	what := "sockets." + r.Name + "." + member
	switch member {
	case "received":
		return j.bytesEqual(n, what, r.Received)
	case "sent":
		return j.bytesEqual(n, what, r.Sent)
	case "dropped":
		return j.Number(n, what, func() float64 { return float64(r.Dropped) })
	case "waiting":
		return j.Number(n, what, func() float64 { return float64(r.Waiting) })
	case "error":
		return j.Results([]*grammar.Node{n}, n, what, []int{r.Err})
	}
	if n.Kind != grammar.Sequence {
		return n.Errorf("%s: want a list of lengths, got %s", member, n.Describe())
	}
	return j.Results(n.Items, n, what, r.Messages)
}

// bytesEqual compares bytes.
func (j *judge) bytesEqual(n *grammar.Node, what string, got []byte) error {
	want, err := textBytes(n, what)
	if err != nil || j.Checking {
		return err
	}
	j.Expect(n.Pos, what, string(want) == string(got), strconv.Quote(string(want)), strconv.Quote(string(got)))
	return nil
}

// sends compares what calls of sendmsg returned.
func (j *judge) sends(n *grammar.Node, got []int) error {
	if n == nil {
		return nil
	}
	if n.Kind != grammar.Sequence {
		return n.Errorf("sends: want a list such as [5, -EACCES], got %s", n.Describe())
	}
	return j.Results(n.Items, n, "sends", got)
}
