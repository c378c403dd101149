package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/replay"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// decodePacket decodes the input packets of a run: packet or pcap.
func (f *File) decodePacket(r *Run, n *grammar.Node) error {
	r.PacketNode, r.PcapNode = n.Get("packet"), n.Get("pcap")
	switch {
	case r.PcapNode != nil && r.PacketNode == nil:
		name, err := r.PcapNode.NonEmpty("pcap")
		if err != nil {
			return err
		}
		r.Pcap = packet.Below(filepath.Dir(f.Path), name)
	case r.PacketNode != nil:
		if r.PacketNode.Kind != grammar.Scalar {
			return r.PacketNode.Errorf("packet: want an expression such as eth/ip/tcp, hex digits or @FILE, got %s", r.PacketNode.Describe())
		}
		var err error
		r.Packet, err = packet.Load(r.PacketNode.Text, filepath.Dir(f.Path))
		return packetError(r.PacketNode, "packet", err)
	}
	return nil
}

// packetError adds the node's position to an error of package packet.
func packetError(n *grammar.Node, what string, err error) error {
	if err == nil {
		return nil
	}
	e := &grammar.Error{Pos: n.Pos, Text: what + ": " + err.Error(), Err: err}
	var syntax *packet.SyntaxError
	var path *packet.PathError
	switch {
	case errors.As(err, &syntax):
		e.Text, e.Nearest = fmt.Sprintf("%s: %s at column %d of %s", what, syntax.Why, syntax.Col, grammar.Brief(n.Text)), syntax.Nearest
	case errors.As(err, &path):
		e.Text, e.Nearest = fmt.Sprintf("%s: %s", what, path.Why), path.Nearest
	}
	return e
}

// checkPacket returns an error for a packet that cannot be given to the program.
func (r *Runner) checkPacket(run *Run) error {
	lp, _ := r.m.Linked().Program(run.Prog)
	if run.PacketNode != nil {
		return packetError(run.PacketNode, "packet", machine.CheckPacket(lp.Program, len(run.Packet)))
	}
	if run.PcapNode == nil {
		return nil
	}
	file, err := packet.Open(run.Pcap)
	if err != nil {
		return packetError(run.PcapNode, "pcap", err)
	}
	return file.Close()
}

// replay runs the program on every packet of the run's capture.
func (r *Runner) replay(ctx context.Context, run *Run, p *prepared) (res *machine.Result, verdicts map[int32]int, err error) {
	if len(p.fields) > 0 {
		return nil, nil, run.PcapNode.Errorf("pcap: context fields cannot be set for the packets of a capture")
	}
	file, err := packet.Open(run.Pcap)
	if err != nil {
		return nil, nil, packetError(run.PcapNode, "pcap", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	play, res, err := r.m.Replay(run.Prog, p.in)
	if play == nil {
		if err != nil {
			err = run.failed(err)
		}
		return res, nil, err
	}
	play.KeepEvents = true
	verdicts = map[int32]int{}
	var fault *machine.Fault
	var trace []string
	player := replay.NewPlayer(play, file)
	err = func() error {
		var c packet.Captured
		for {
			late, err := player.Next(ctx, &c)
			var unreadable *replay.ReadError
			switch {
			case err == io.EOF && len(verdicts) == 0:
				return run.PcapNode.Errorf("pcap: %s has no packets", run.Pcap)
			case err == io.EOF:
				return nil
			case errors.As(err, &unreadable):
				return packetError(run.PcapNode, "pcap", unreadable.Err)
			case err != nil:
				return err
			case late != nil && late.Fault != nil:
				fault = late.Fault
				return nil
			}
			out, err := play.Run(ctx, c.Data)
			if err != nil {
				if ctx.Err() != nil {
					return err
				}
				return packetError(run.PcapNode, "pcap", fmt.Errorf("packet %d: %w", c.Number, err))
			}
			trace = append(trace, out.Trace...)
			if fault = out.Fault; fault != nil {
				return nil
			}
			verdicts[int32(uint32(out.Ret))]++
		}
	}()
	res = play.Close()
	if err != nil {
		return nil, nil, err
	}
	if res.Trace = trace; fault != nil {
		res.Status, res.Fault = machine.StatusFault, fault
	}
	return res, verdicts, nil
}

// counts compares the number of runs for each return value, by packet or length: one value for all
// of them, or a count for each value.
func (j *judge) counts(n *grammar.Node, what, each string) error {
	if n.Kind != grammar.Mapping {
		bare := *n
		want, err := j.retValue(&bare)
		if err != nil || j.Checking {
			return err
		}
		for _, v := range j.returned() {
			if v != int32(uint32(want)) {
				j.Expect(n.Pos, what, false, n.Text+" for every "+each, fmt.Sprintf("%s for %d", j.retText(uint64(uint32(v)), false), j.verdicts[v]))
				return nil
			}
		}
		j.Expect(n.Pos, what, true, "", "")
		return nil
	}
	named := map[int32]bool{}
	for _, p := range n.Pairs {
		v, err := j.retValue(p.Key)
		if err != nil {
			return err
		}
		want, err := p.Value.Int(what+"."+p.Key.Text, 0, 1<<40)
		if err != nil {
			return err
		}
		named[int32(uint32(v))] = true
		if !j.Checking {
			got := j.verdicts[int32(uint32(v))]
			j.Expect(p.Value.Pos, what+" "+p.Key.Text, got == want, itoa(want), itoa(got))
		}
	}
	for _, v := range j.returned() {
		if !named[v] {
			j.Expect(n.Pos, what, false, "only what is named", fmt.Sprintf("%s for %d", j.retText(uint64(uint32(v)), false), j.verdicts[v]))
		}
	}
	return nil
}

// returned lists the return values in ascending order.
func (j *judge) returned() []int32 {
	var out []int32
	for v := range j.verdicts {
		out = append(out, v)
	}
	slices.Sort(out)
	return out
}

// packet compares the packet after the run: fields by path, or all of it.
func (j *judge) packet(e *Expect) error {
	n := e.Packet
	switch {
	case n == nil:
		return nil
	case j.run.PcapNode != nil:
		return n.Errorf("packet: not possible with pcap; use ret: {VERDICT: N} to count verdicts")
	case n.Kind == grammar.Mapping:
		return j.packetFields(n, "")
	case n.Kind != grammar.Scalar:
		return n.Errorf("packet: want fields such as ip.ttl: 63, an expression, hex digits, or unchanged, got %s", n.Describe())
	}
	got := j.res.PacketOut
	want := j.res.PacketIn
	if n.Text != "unchanged" {
		var err error
		if want, err = packet.Load(n.Text, filepath.Dir(j.r.file.Path)); err != nil {
			return packetError(n, "packet", err)
		}
		if len(j.res.DataOut) == len(want) && len(got) != len(want) {
			got = j.res.DataOut // includes the metadata before the packet
		}
	}
	if j.Checking {
		return nil
	}
	changes := packet.Diff(want, got, packet.Ethernet)
	if len(changes) == 0 {
		j.Expect(n.Pos, "packet", true, "", "")
	}
	for _, c := range changes {
		what, was, is := "packet."+c.Path, c.Old, c.New
		switch c.Kind {
		case packet.LayerInserted:
			was, is = "no such layer", c.New
		case packet.LayerRemoved:
			is = "no such layer"
		case packet.SumBroken:
			was, is = c.New, c.Old
		}
		j.Expect(n.Pos, what, false, was, is)
	}
	return nil
}

// packetFields compares fields, named by path or nested.
func (j *judge) packetFields(n *grammar.Node, prefix string) error {
	for _, p := range n.Pairs {
		path := joinPath(prefix, p.Key.Text)
		if path == "len" {
			want, err := p.Value.Int("packet.len", 0, packet.MaxSize)
			if err != nil {
				return err
			}
			if !j.Checking {
				j.Expect(p.Value.Pos, "packet.len", want == len(j.res.PacketOut), itoa(want), itoa(len(j.res.PacketOut)))
			}
			continue
		}
		if err := packet.CheckPath(path); err != nil {
			return packetError(p.Key, "packet."+path, err)
		}
		if p.Value.Kind == grammar.Mapping && p.Value.Tag == "" {
			if err := j.packetFields(p.Value, path); err != nil {
				return err
			}
			continue
		}
		if err := j.packetField(path, p.Value); err != nil {
			return err
		}
	}
	return nil
}

func (j *judge) packetField(path string, n *grammar.Node) error {
	what := "packet." + path
	shape, err := packet.FieldNamed(path)
	if err != nil {
		return packetError(n, what, err)
	}
	if n.Kind == grammar.Sequence || n.Kind == grammar.Mapping {
		return n.Errorf("%s: want a value, got %s", what, n.Describe())
	}
	if n.Tag != "" && n.Tag != "!any" && grammar.Conditions[n.Tag] == nil && (n.Tag != "!hex" || shape.Format != packet.Bytes) {
		return n.Errorf("%s: %s does not fit here", what, n.Tag)
	}
	var want []byte
	judged := n.Kind != grammar.Null && n.Tag != "!any" && !j.sumWord(shape, n)
	if judged {
		if want, err = packetValue(shape, n); err != nil {
			return n.Errorf("%s: %v", what, err)
		}
	}
	if j.Checking {
		return nil
	}
	h := packet.Decode(j.res.PacketOut, packet.Ethernet)
	f, err := h.Field(j.res.PacketOut, path)
	if err != nil {
		j.Expect(n.Pos, what, n.Kind == grammar.Null, n.Describe(), "no such bytes: the packet is "+h.String())
		return nil
	}
	got := f.Raw(j.res.PacketOut)
	switch {
	case n.Kind == grammar.Null:
		j.Expect(n.Pos, what, false, "nothing", f.Text(j.res.PacketOut))
	case !judged && n.Tag != "!any":
		j.expectSum(n, what, h, f)
	case !judged:
		j.Expect(n.Pos, what, true, "", "")
	default:
		ok := slices.Equal(got, want)
		if cond := grammar.Conditions[n.Tag]; cond != nil {
			ok = cond(slices.Compare(got, want))
		}
		j.Expect(n.Pos, what, ok, strings.TrimSpace(n.Tag+" "+n.Text), f.Text(j.res.PacketOut))
	}
	return nil
}

// packetValue encodes the expected value of a field. Bytes need no quotes of their own.
func packetValue(f packet.Field, n *grammar.Node) ([]byte, error) {
	if f.Format != packet.Bytes {
		return f.Parse(n.Text)
	}
	if n.Tag == "!hex" {
		return n.Hex("value")
	}
	if strings.HasPrefix(n.Text, "0x") || strings.HasPrefix(n.Text, "'") {
		return f.Parse(n.Text)
	}
	return []byte(n.Text), nil
}

// Words for the state of a checksum.
const sumRight, sumWrong = "right", "wrong"

func (j *judge) sumWord(f packet.Field, n *grammar.Node) bool {
	return f.Format == packet.Checksum && (n.Text == sumRight || n.Text == sumWrong)
}

// expectSum checks whether a checksum is right or wrong.
func (j *judge) expectSum(n *grammar.Node, what string, h packet.Headers, f packet.Field) {
	layer, _, _ := strings.Cut(f.Path(), ".")
	for i, l := range h.Layers {
		if l.Path() != layer {
			continue
		}
		state, want := h.Sum(j.res.PacketOut, i)
		ok := state == packet.SumRight
		if n.Text == sumWrong {
			ok = state == packet.SumWrong
		}
		j.Expect(n.Pos, what, ok, fmt.Sprintf("%s (%#x)", n.Text, want), f.Text(j.res.PacketOut))
	}
}
