package stream

import (
	"errors"
	"slices"

	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/scene"
	"github.com/bpfrun/bpfrun/internal/subsys/sockmap"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// planned are bytes that move through sockmaps, of a scenario file.
type planned struct {
	attach []grammar.Pair
	peers  []grammar.Pair
	steps  []step
}

// step is a segment that arrives at a socket, or a call of sendmsg.
type step struct {
	socket *grammar.Node
	send   bool
	data   []byte
}

// decode decodes the sockets of a run.
func decode(n *grammar.Node, _ scene.File) (scene.Run, error) {
	s := &planned{}
	var wrong grammar.Mistakes
	if wrong.Add(n.Fields(runForm)); n.Kind != grammar.Mapping {
		return s, wrong.Err()
	}
	var err error
	s.attach, err = n.Get("attach").Members("attach")
	wrong.Add(err)
	s.peers, err = n.Get("peers").Members("peers")
	wrong.Add(err)
	steps := n.Get("steps")
	if steps == nil {
		return s, wrong.Err()
	}
	if steps.Kind != grammar.Sequence {
		wrong.Add(steps.Errorf("steps: want a list, got %s", steps.Describe()))
		return s, wrong.Err()
	}
	for _, item := range steps.Items {
		if err := item.Fields(stepForm); !wrong.Add(err) {
			continue
		}
		to, from := item.Get("to"), item.Get("from")
		if (to == nil) == (from == nil) {
			wrong.Add(item.Errorf("want one of to (a segment arrives) and from (the socket sends)"))
			continue
		}
		data, err := textBytes(item.Get("data"), "data")
		if wrong.Add(err) && len(data) > sockmap.MaxBytes {
			wrong.Add(item.Get("data").Errorf("data: %d bytes; a step has at most %d", len(data), sockmap.MaxBytes))
		}
		next := step{socket: to, data: data}
		if from != nil {
			next.socket, next.send = from, true
		}
		s.steps = append(s.steps, next)
	}
	return s, wrong.Err()
}

// textBytes decodes text or !hex.
func textBytes(n *grammar.Node, what string) ([]byte, error) {
	if n.Tag == "!hex" {
		return n.Hex(what)
	}
	if n.Kind != grammar.Scalar || n.Tag != "" {
		return nil, n.Errorf("%s: want text or !hex, got %s", what, n.Describe())
	}
	return []byte(n.Text), nil
}

// socketProgs are the programs that sockmaps can have.
func socketProgs(obj *loader.Object) []string {
	var names []string
	for _, p := range obj.Programs {
		if progtype.SockMapPartOf(p.Type, p.Attach) != progtype.NoPart {
			names = append(names, p.Name)
		}
	}
	return names
}

// tagSock is that of the file's sockets.
const tagSock = "!sock"

var errNoPrograms = errors.New("sockets: the object has no sk_skb and no sk_msg program")

// Choose implements [scene.Run].
func (s *planned) Choose(obj *loader.Object) (prog, name string, err error) {
	names := socketProgs(obj)
	if len(names) == 0 {
		return "", "", errNoPrograms
	}
	return names[0], "sockets", nil
}

// progBit is the kind of a program that a sockmap has, 0 for one of another type.
func progBit(lp *loader.LinkedProgram) int {
	return map[progtype.SockMapPart]int{
		progtype.PartParser: sockmap.Parser, progtype.PartStreamVerdict: sockmap.StreamVerdict, progtype.PartVerdict: sockmap.Verdict, progtype.PartMessage: sockmap.Message,
	}[progtype.SockMapPartOf(lp.Type, lp.Attach)]
}

// attachedProgs returns the programs of each sockmap by kind (sock_map_prog_update).
func (s *planned) attachedProgs(set *scene.Setting) (map[string]map[int]string, error) {
	var tables []string
	for _, def := range set.Machine.Linked().Maps {
		if def.Type == uapi.MapTypeSockmap || def.Type == uapi.MapTypeSockhash {
			tables = append(tables, def.Name)
		}
	}
	out := map[string]map[int]string{}
	add := func(at *grammar.Node, table, prog string) error {
		lp, ok := set.Machine.Linked().Program(prog)
		if !ok {
			return at.Unknown("program", prog, socketProgs(set.Machine.Linked().Object))
		}
		bit := progBit(lp)
		had := out[table]
		switch {
		case bit == 0:
			return at.Errorf("attach: program %s (%s) is no parser and no verdict of a sockmap: sk_skb/stream_parser, sk_skb/stream_verdict, sk_skb/verdict or sk_msg", prog, lp.Section)
		case had[bit] != "":
			return at.Errorf("attach: map %s has two programs of one kind, %s and %s: give attach: {MAP: [PROGRAM, ...]}", table, had[bit], prog)
		case bit == sockmap.Verdict && had[sockmap.StreamVerdict] != "", bit == sockmap.StreamVerdict && had[sockmap.Verdict] != "":
			return at.Errorf("attach: the kernel refuses a stream_verdict and a verdict program on one map (EBUSY)")
		}
		if had == nil {
			out[table] = map[int]string{}
		}
		out[table][bit] = prog
		return nil
	}
	var wrong grammar.Mistakes
	if s.attach == nil {
		if len(tables) != 1 {
			return nil, set.Node.Errorf("sockets: the object has %d sockmaps and sockhashes; say with attach: {MAP: [PROGRAM, ...]} which programs they have", len(tables))
		}
		for _, prog := range socketProgs(set.Machine.Linked().Object) {
			wrong.Add(add(set.Node, tables[0], prog))
		}
		return out, wrong.Err()
	}
	for _, p := range s.attach {
		if !slices.Contains(tables, p.Key.Text) {
			wrong.Add(p.Key.Unknown("sockmap", p.Key.Text, tables))
			continue
		}
		if p.Value.Kind != grammar.Sequence {
			wrong.Add(p.Value.Errorf("attach: want a list of programs, got %s", p.Value.Describe()))
			continue
		}
		for _, item := range p.Value.Items {
			wrong.Add(add(item, p.Key.Text, item.Text))
		}
	}
	return out, wrong.Err()
}
