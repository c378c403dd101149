package device

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/hid"
	"github.com/bpfrun/bpfrun/internal/subsys/scene"
)

// judge compares what became of a device with the expectations.
type judge struct {
	*grammar.Checks
	hid *HID
}

// Judge implements [scene.Run].
func (s *Planned) Judge(c *grammar.Checks, _ *scene.Setting, expect scene.Expected, sim drive.Simulation) error {
	n := expect("hid")
	if n == nil {
		return nil
	}
	if err := n.Fields(expectForm); err != nil {
		return err
	}
	h, ok := sim.(*HID)
	if !ok {
		return nil
	}
	j := &judge{c, h}
	var wrong grammar.Mistakes
	for _, step := range []func(*grammar.Node) error{j.descriptor, j.reports, j.input, j.requests, j.answers} {
		wrong.Add(step(n))
	}
	if a := n.Get("accepted"); a != nil {
		got := fmt.Sprint(j.hid.Accepted)
		j.Expect(a.Pos, "hid.accepted", a.Text == got, a.Text, got)
	}
	return wrong.Err()
}

func hexText(b []byte) string { return strings.TrimSpace(fmt.Sprintf("% x", b)) }

func (j *judge) descriptor(n *grammar.Node) error {
	d := n.Get("descriptor")
	if d == nil {
		return nil
	}
	want := j.hid.Info.Descriptor
	if d.Text != "unchanged" {
		b, err := d.Hex("descriptor")
		if err != nil {
			return err
		}
		want = b
	}
	j.Expect(d.Pos, "hid.descriptor", slices.Equal(want, j.hid.Fixed), hexText(want), hexText(j.hid.Fixed))
	return nil
}

func (j *judge) reports(n *grammar.Node) error {
	pairs, err := n.Get("reports").Members("reports")
	if err != nil {
		return err
	}
	for _, p := range pairs {
		got := "none"
		if j.hid.Parsed == nil {
			got = j.hid.ParseError.Error()
		} else {
			for _, r := range j.hid.Parsed.Reports {
				if fmt.Sprintf("%v %d", r.Type, r.ID) == p.Key.Text {
					got = strconv.Itoa(r.Len())
				}
			}
		}
		want := p.Value.Text
		if p.Value.Kind == grammar.Null {
			want = "none"
		}
		j.Expect(p.Value.Pos, "hid.reports."+p.Key.Text, want == got, want, got)
	}
	return nil
}

func (j *judge) input(n *grammar.Node) error {
	list := n.Get("input")
	if list == nil {
		return nil
	}
	j.Length(list, "hid.input", len(j.hid.Deliveries))
	var wrong grammar.Mistakes
	for i, item := range list.Items {
		if i >= len(j.hid.Deliveries) {
			break
		}
		d, what := j.hid.Deliveries[i], fmt.Sprintf("hid.input[%d]", i)
		got := "dropped: " + d.Why
		if d.Out != nil {
			got = hexText(d.Out)
		}
		switch {
		case item.Kind == grammar.Mapping:
			j.values(item, what, d, got)
		case item.Text == "dropped":
			j.Expect(item.Pos, what, d.Out == nil, "dropped", got)
		default:
			want, err := item.Hex(what)
			if wrong.Add(err) {
				j.Expect(item.Pos, what, d.Out != nil && slices.Equal(want, d.Out), hexText(want), got)
			}
		}
	}
	return wrong.Err()
}

// values compares fields of a delivered report.
func (j *judge) values(item *grammar.Node, what string, d hid.Delivery, all string) {
	var rep *hid.Report
	if d.Out != nil {
		rep = j.hid.Parsed.Report(d.Type, d.Out)
	}
	for _, p := range item.Pairs {
		got := all
		if rep != nil && p.Key.Text == "id" {
			got = strconv.Itoa(int(rep.ID))
		} else if rep != nil {
			v, err := rep.Get(d.Out, p.Key.Text)
			if got = fmt.Sprint(v); err != nil {
				got = err.Error()
			}
		}
		want := p.Value.Text
		if v, ok := grammar.Number(want); ok {
			want = v.String()
		}
		j.Expect(p.Value.Pos, what+"."+p.Key.Text, want == got, want, got)
	}
}

func (j *judge) requests(n *grammar.Node) error {
	list := n.Get("requests")
	if list == nil {
		return nil
	}
	j.Length(list, "hid.requests", len(j.hid.Device.Requests))
	for i, item := range list.Items {
		if i >= len(j.hid.Device.Requests) {
			break
		}
		q := j.hid.Device.Requests[i]
		got := fmt.Sprintf("%s %v %s", q.Kind, q.Type, hexText(q.Data))
		j.Expect(item.Pos, fmt.Sprintf("hid.requests[%d]", i), item.Text == got, item.Text, got)
	}
	return nil
}

func (j *judge) answers(n *grammar.Node) error {
	list := n.Get("answers")
	if list == nil {
		return nil
	}
	j.Length(list, "hid.answers", len(j.hid.Answers))
	var wrong grammar.Mistakes
	for i, item := range list.Items {
		if i >= len(j.hid.Answers) {
			break
		}
		a, what := j.hid.Answers[i], fmt.Sprintf("hid.answers[%d]", i)
		got := fmt.Sprint(a.Ret)
		switch {
		case strings.HasPrefix(item.Text, "-E"):
			e, err := item.Errno(what)
			if wrong.Add(err) {
				j.Expect(item.Pos, what, a.Ret == -int32(e), fmt.Sprint(-int32(e)), got)
			}
		case a.Data != nil && a.Ret > 0:
			want, err := item.Hex(what)
			if wrong.Add(err) {
				j.Expect(item.Pos, what, slices.Equal(want, a.Data), hexText(want), hexText(a.Data))
			}
		default:
			j.Expect(item.Pos, what, item.Text == got, item.Text, got)
		}
	}
	return wrong.Err()
}
