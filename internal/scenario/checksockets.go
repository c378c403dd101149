package scenario

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/sockmap"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

func asNotRun(err error, to **notRunError) bool { return errors.As(err, to) }

// moved compares what became of the bytes of sockets with the expectations.
func (j *judge) moved(e *Expect) error {
	if j.run.Sockets == nil {
		switch {
		case e.Sends != nil:
			return e.Sends.Errorf("sends: the run has no sockets")
		case len(e.Sockets) > 0:
			return e.Sockets[0].Key.Errorf("sockets: the run has no sockets")
		}
		return nil
	}
	var wrong grammar.Mistakes
	wrong.Add(j.sends(e.Sends))
	results := map[string]sockmap.Result{}
	if !j.Checking {
		for _, r := range j.sockets.sim.Results() {
			results[r.Name] = r
		}
	}
	for _, p := range e.Sockets {
		name := p.Key.Text
		if d, ok := j.r.b.defs[name]; !ok || d.Value.Tag != "!sock" {
			wrong.Add(p.Key.Unknown("socket", name, j.r.b.names))
			continue
		}
		if err := p.Value.Fields(expectSocketForm); !wrong.Add(err) {
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
		return j.results([]*grammar.Node{n}, n, what, []int{r.Err})
	}
	if n.Kind != grammar.Sequence {
		return n.Errorf("%s: want a list of lengths, got %s", member, n.Describe())
	}
	return j.results(n.Items, n, what, r.Messages)
}

// bytesEqual compares bytes.
func (j *judge) bytesEqual(n *grammar.Node, what string, got []byte) error {
	want, err := someBytes(n, what)
	if err != nil || j.Checking {
		return err
	}
	j.Expect(n.Pos, what, string(want) == string(got), strconv.Quote(string(want)), strconv.Quote(string(got)))
	return nil
}

// sends compares what calls of sendmsg returned.
func (j *judge) sends(n *grammar.Node) error {
	if n == nil {
		return nil
	}
	if n.Kind != grammar.Sequence {
		return n.Errorf("sends: want a list such as [5, -EACCES], got %s", n.Describe())
	}
	var got []int
	if !j.Checking {
		got = j.sockets.sends
	}
	return j.results(n.Items, n, "sends", got)
}

// results compares a list of numbers and errors.
func (j *judge) results(want []*grammar.Node, at *grammar.Node, what string, got []int) error {
	var list []string
	for _, item := range want {
		v, err := item.Result(what)
		if err != nil {
			return err
		}
		list = append(list, resultText(int(int64(v))))
	}
	if j.Checking {
		return nil
	}
	var have []string
	for _, v := range got {
		have = append(have, resultText(v))
	}
	w, g := strings.Join(list, ", "), strings.Join(have, ", ")
	j.Expect(at.Pos, what, w == g, w, g)
	return nil
}

// resultText names a result: 5, -EACCES.
func resultText(v int) string {
	if v < 0 && v > -4096 {
		return "-" + uapi.Errno(-v).Name()
	}
	return fmt.Sprint(v)
}
