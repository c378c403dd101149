package play

import (
	"context"

	"github.com/bpfrun/bpfrun/internal/debug"
)

// Origin is the answer to why: a value, a step in its history, or its beginning.
type Origin struct {
	// At is the number of instructions executed before the step.
	At   uint64 `json:"at"`
	Text string `json:"text"`
	// Code and PC are the instruction of the step; a beginning has none, and Code is "".
	Code string   `json:"code,omitempty"`
	PC   int      `json:"pc,omitempty"`
	File string   `json:"file,omitempty"`
	Line uint32   `json:"line,omitempty"`
	From []Origin `json:"from"`
}

// why tells where a value came from that a run has at a point.
func (p *Player) why(ctx context.Context, m *Message) (any, error) {
	if m.Value == "" || len(m.Value) > maxName {
		return nil, &LimitError{What: "the value", Got: len(m.Value), Most: maxName}
	}
	if _, err := p.stepTo(ctx, m); err != nil {
		return nil, err
	}
	o, err := p.step.session.Why(ctx, m.Value)
	if err != nil {
		if ctx.Err() != nil {
			p.dropStepper() // it may be anywhere
		}
		return nil, err
	}
	return p.step.origin(o), nil
}

// origin describes an origin and all before it, of which there are at most as many as package debug
// follows.
func (s *stepper) origin(o *debug.Origin) Origin {
	out := Origin{At: o.Pos, Text: o.Text, From: []Origin{}}
	if len(out.Text) > maxText {
		out.Text = out.Text[:maxText] + "..."
	}
	if o.Place.Prog != nil {
		out.Code, out.PC = o.Place.Prog.Name, o.Place.PC
		if line, ok := o.Place.Line(); ok {
			out.File, out.Line = line.File, line.Line
		}
	}
	for _, from := range o.From {
		out.From = append(out.From, s.origin(from))
	}
	return out
}
