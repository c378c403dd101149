package play

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/debug"
	"github.com/bpfrun/bpfrun/loader"
)

// Limits of what a step shows.
const (
	maxStack   = 512  // bytes of a frame
	maxEntries = 50   // elements of a map
	maxText    = 2000 // bytes of a value
)

// stepper holds the run that was stepped through last.
type stepper struct {
	key     string // object, kernel, program and packet
	session *debug.Session
	end     uint64 // instructions of the whole run
}

func (s *stepper) close() {
	if s != nil {
		s.session.Close()
	}
}

// Step is the answer to step: a run before its instruction number At, or at its end.
type Step struct {
	Program string `json:"program"`
	At      uint64 `json:"at"`
	End     uint64 `json:"end"`
	// State is running, ended or fault.
	State string `json:"state"`
	// Notes are what to know about the end of the run: the fault, the verdict.
	Notes     []string       `json:"notes"`
	Code      string         `json:"code"` // the program whose instruction is next
	PC        int            `json:"pc"`
	Insn      string         `json:"insn"`
	Frames    []StepFrame    `json:"frames"`
	Registers []StepRegister `json:"registers"`
	Stack     []StepWord     `json:"stack"`
	Locals    []StepValue    `json:"locals"`
	NoLocals  string         `json:"no_locals,omitempty"` // why there are none
	Maps      []StepMap      `json:"maps"`
	Packet    *Packet        `json:"packet,omitempty"`
	Events    []string       `json:"events"`
	Printed   []string       `json:"printed"`
}

// StepFrame is an active function, the innermost first.
type StepFrame struct {
	Function string `json:"function"`
	File     string `json:"file,omitempty"`
	Line     uint32 `json:"line,omitempty"`
	Text     string `json:"text,omitempty"`
}

// StepRegister is a register. Its value is hexadecimal.
type StepRegister struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Note  string `json:"note,omitempty"`
	Known bool   `json:"known"`
}

// StepWord is eight bytes of the stack, at r10 + Offset.
type StepWord struct {
	Offset int    `json:"offset"`
	Bytes  string `json:"bytes"` // in the order of addresses
	Note   string `json:"note,omitempty"`
}

// StepValue is a variable, with its value or why it has none.
type StepValue struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
	Error string `json:"error,omitempty"`
	Param bool   `json:"param,omitempty"`
}

// StepMap is a map with its elements.
type StepMap struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Entries int      `json:"entries"`
	Lines   []string `json:"lines"`
	More    int      `json:"more,omitempty"`
	Error   string   `json:"error,omitempty"`
}

func (p *Player) stepTo(ctx context.Context, m *Message) (any, error) {
	s, err := p.stepper(ctx, m)
	if err != nil {
		return nil, err
	}
	at := s.end
	if m.At >= 0 && uint64(m.At) < s.end {
		at = uint64(m.At)
	}
	stop, err := s.session.GoTo(ctx, at)
	if err != nil {
		p.dropStepper()
		return nil, err
	}
	if ctx.Err() != nil {
		p.dropStepper()
		return nil, ctx.Err()
	}
	return s.show(stop), nil
}

func (p *Player) dropStepper() {
	p.step.close()
	p.step = nil
}

// stepper returns the run that a message is about. A new one runs to its end first, so that its
// length is known.
func (p *Player) stepper(ctx context.Context, m *Message) (*stepper, error) {
	key := fmt.Sprintf("%q", []string{m.Object, m.Kernel, m.Program, m.Packet})
	if p.step != nil && p.step.key == key {
		return p.step, nil
	}
	p.dropStepper()
	o, l, _, err := p.linked(m, loader.LoadOptions{Optional: true})
	if err != nil {
		return nil, err
	}
	if _, ok := l.Program(m.Program); !ok {
		return nil, unknownProgram(m)
	}
	opt, err := p.options(o, m)
	if err != nil {
		return nil, err
	}
	s, err := debug.New(l, debug.Config{Machine: opt.Machine, Input: opt.Input, ELF: o.ELF()})
	if err != nil {
		return nil, err
	}
	p.step = &stepper{key: key, session: s}
	if _, err = s.StartContext(ctx, m.Program); err == nil {
		_, err = s.Continue(ctx)
	}
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err == nil && s.State() != debug.Ended {
		err = errors.New("the run did not end")
	}
	if err != nil {
		p.dropStepper()
		return nil, err
	}
	p.step.end = s.Pos()
	return p.step, nil
}

// show describes where the session is.
func (s *stepper) show(stop *debug.Stop) *Step {
	d := s.session
	here := d.Here()
	out := &Step{Program: d.Program(), At: d.Pos(), End: s.end, State: "running", Notes: []string{}, Frames: []StepFrame{}, Registers: []StepRegister{},
		Stack: []StepWord{}, Locals: []StepValue{}, Maps: []StepMap{}, Events: cut(d.Events()), Printed: cut(d.Printed())}
	if here.Prog != nil {
		out.Code, out.PC, out.Insn = here.Prog.Name, here.PC, here.Insn()
	}
	if d.State() == debug.Ended {
		out.State = "ended"
		if res := d.Result(); res != nil && res.Fault != nil {
			out.State = "fault"
			out.Notes = append(out.Notes, res.Fault.Error())
		} else if res != nil {
			text := fmt.Sprintf("returned %d (%#x)", int64(res.Ret), res.Ret)
			if v := d.Verdict(); v != "" {
				text += ", " + v
			}
			out.Notes = append(out.Notes, text)
		}
	}
	out.Notes = append(out.Notes, stop.Notes...)
	s.frames(out)
	s.values(out)
	s.maps(out)
	if _, data, ok := d.PacketNow(); ok {
		out.Packet = newPacket(data, d.PacketStart())
	}
	return out
}

// frames adds functions, registers and the stack of the innermost one.
func (s *stepper) frames(out *Step) {
	d := s.session
	frames, err := d.Frames()
	if err != nil {
		return
	}
	for _, f := range frames {
		sf := StepFrame{Function: f.Func, File: f.File, Line: f.Line}
		if line, ok := f.Place.Line(); ok {
			sf.Text = d.SourceLineText(line)
		}
		out.Frames = append(out.Frames, sf)
	}
	regs, err := d.Registers()
	if err != nil {
		return
	}
	for _, r := range regs {
		out.Registers = append(out.Registers, StepRegister{Name: r.Name, Value: fmt.Sprintf("%#x", r.Value), Note: r.Note, Known: r.Known})
	}
	if len(frames) == 0 {
		return
	}
	const word = 8
	started := false
	for off := maxStack; off >= word; off -= word {
		addr := frames[0].FP - uint64(off)
		data, err := d.ReadMemory(addr, word)
		if err != nil || len(data) < word {
			continue
		}
		v := d.Uint(data)
		if started = started || v != 0; started { // the part in use
			out.Stack = append(out.Stack, StepWord{Offset: -off, Bytes: hex.EncodeToString(data), Note: d.AddressName(v)})
		}
	}
}

// values adds the variables that are visible.
func (s *stepper) values(out *Step) {
	d := s.session
	locals, err := d.Locals()
	if err != nil {
		out.NoLocals = err.Error()
		return
	}
	for _, l := range locals {
		v := StepValue{Name: l.Name, Param: l.Param}
		if l.Err != nil {
			v.Error = l.Err.Error()
		} else {
			v.Value = d.ShortText(l.Value, maxText)
		}
		out.Locals = append(out.Locals, v)
	}
}

// maps adds the maps with their first elements.
func (s *stepper) maps(out *Step) {
	d := s.session
	for _, info := range d.Maps() {
		m := StepMap{Name: info.Name, Type: info.Type, Entries: info.Entries, Lines: []string{}}
		if info.Err != nil {
			m.Error = info.Err.Error()
		} else if v, err := d.Eval(info.Name); err == nil && v.IsMap() {
			m.Lines, m.More = d.MapEntries(v, maxEntries)
			m.Lines = cut(m.Lines)
		}
		out.Maps = append(out.Maps, m)
	}
}

// cut limits the length of lines and their number.
func cut(lines []string) []string {
	out := make([]string, 0, min(len(lines), maxEntries))
	for _, l := range lines[:min(len(lines), maxEntries)] {
		if len(l) > maxText {
			l = l[:maxText] + "..."
		}
		out = append(out, l)
	}
	return out
}
