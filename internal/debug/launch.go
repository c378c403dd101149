package debug

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/bpfrun/bpfrun/internal/intest"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/scenario"
)

// launch owns the settings of the next run: program or case, input, context fields, packet.
type launch struct {
	*subject
	base     machine.Input // of programs that are not run as cases
	prog     string
	in       machine.Input
	fields   map[string]uint64 // set in the context
	cases    []Case
	caseName string           // the case started last, "" for a program
	together *scenario.Staged // of a case with programs on several CPUs
	packets  [][]byte         // of a capture
	packetNo int
}

// SetPacket sets the packet for later runs.
func (la *launch) SetPacket(p []byte) { la.in.Packet, la.packetNo = p, 0 }

// Packets returns the packets of the capture from which runs can choose.
func (la *launch) Packets() [][]byte { return la.packets }

// PacketNumber returns the number of the chosen packet, from 1; 0 for none.
func (la *launch) PacketNumber() int { return la.packetNo }

// SetPackets replaces the packets of the capture and chooses the first.
func (la *launch) SetPackets(list [][]byte) error {
	if len(list) == 0 {
		return errors.New("the capture has no packets")
	}
	la.packets = list
	return la.ChoosePacket(1)
}

// ChoosePacket chooses packet n of the capture, counted from 1, for later runs.
func (la *launch) ChoosePacket(n int) error {
	switch {
	case len(la.packets) == 0:
		return errors.New("no capture is open (start with --pcap FILE, or use: packet FILE)")
	case n < 1 || n > len(la.packets):
		return fmt.Errorf("no packet %d: the capture has %d", n, len(la.packets))
	}
	la.packetNo, la.in.Packet = n, la.packets[n-1]
	return nil
}

// Limits of the capture that a session keeps.
const (
	maxPackets      = 1 << 20
	maxPacketsBytes = 256 << 20
)

// ReadPackets reads the packets of a pcap or pcapng capture. A capture over the limits is
// truncated.
func ReadPackets(path string) ([][]byte, error) {
	r, err := packet.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out [][]byte
	for size := 0; len(out) < maxPackets && size < maxPacketsBytes; {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		out = append(out, bytes.Clone(p.Data))
		size += len(p.Data)
	}
	return out, nil
}

// LoadPacket builds a packet from user input: an expression, hex digits, @FILE or @CAPTURE#N.
func LoadPacket(text string) ([]byte, error) { return packet.Load(text, "") }

// PacketText describes a packet in one line.
func PacketText(p []byte) string { return packet.Describe(p, packet.Ethernet) }

// Program returns the name of the program started last, "" if none was.
func (la *launch) Program() string { return la.prog }

// DefaultProgram returns the program that Start uses for "": the first one that can be run.
func (la *launch) DefaultProgram() string {
	if la.prog != "" {
		return la.prog
	}
	for _, name := range la.m.Names() {
		if _, ok := la.m.ImageOf(name); ok {
			return name
		}
	}
	return ""
}

// SetInput replaces the input of later runs.
func (la *launch) SetInput(in machine.Input) { la.in = in }

// Input returns the input of programs.
func (la *launch) Input() machine.Input { return la.in }

// Case is a named run with its own setup, such as a run of a scenario.
type Case struct {
	Name, Prog string
	// Stage brings the machine into the state in which the run begins, and returns the run's input
	// and context fields.
	Stage func(ctx context.Context) (machine.Input, map[string]uint64, error)
	// StageAll is Stage for a run of programs on several CPUs; nil for others.
	StageAll func(ctx context.Context) (*scenario.Staged, error)
}

// Target is the machine and object that a session debugs.
type Target struct {
	Machine *machine.Machine
	// Cases are the runs that can be started by name, in addition to the programs.
	Cases []Case
}

// Cases returns the runs that can be started by name, in addition to the programs.
func (la *launch) Cases() []Case { return la.cases }

// findCase finds a run by name.
func (la *launch) findCase(name string) (*Case, bool) {
	for i := range la.cases {
		if c := &la.cases[i]; c.Name == name || name == "" && la.prog == "" {
			return c, true
		}
	}
	return nil, false
}

// chosen finds what to run: a case or a program. "" is the one started last, or the first.
func (la *launch) chosen(name string) (c *Case, prog string, err error) {
	if name == "" {
		name = la.caseName
	}
	if c, ok := la.findCase(name); ok {
		return c, c.Prog, nil
	}
	if name == "" {
		name = la.DefaultProgram()
	}
	names := la.m.Names()
	if slices.Contains(names, name) {
		return nil, name, nil
	}
	for _, c := range la.cases {
		names = append(names, c.Name)
	}
	return nil, "", &expr.UnknownError{What: "program", Name: name, Nearest: expr.Near(name, names)}
}

// stage prepares a run of a case or program.
func (la *launch) stage(ctx context.Context, c *Case, prog string) error {
	if c == nil {
		if la.caseName != "" { // drop the case's setup
			la.in, la.fields = la.base, nil
		}
		la.prog, la.caseName, la.together = prog, "", nil
		return nil
	}
	la.together = nil
	if c.StageAll != nil {
		st, err := c.StageAll(ctx)
		if err != nil {
			return err
		}
		la.prog, la.caseName, la.in, la.fields, la.together = st.Prog, c.Name, st.Input, st.Fields, st
		return nil
	}
	in, fields, err := c.Stage(ctx)
	if err != nil {
		return err
	}
	la.prog, la.caseName, la.in, la.fields = prog, c.Name, in, fields
	return nil
}

// ScenarioCases returns the runs of a scenario that is set up on a machine.
func ScenarioCases(r *scenario.Runner) []Case {
	var out []Case
	for _, run := range r.File().Runs {
		if run.Race != nil {
			out = append(out, Case{Name: run.Name, Prog: run.Prog, StageAll: func(ctx context.Context) (*scenario.Staged, error) { return r.Stage(ctx, run) }})
			continue
		}
		out = append(out, Case{Name: run.Name, Prog: run.Prog, Stage: func(ctx context.Context) (machine.Input, map[string]uint64, error) {
			st, err := r.Stage(ctx, run)
			if err != nil {
				return machine.Input{}, nil, err
			}
			return st.Input, st.Fields, nil
		}})
	}
	return out
}

// InsideCases returns the tests inside an object that is set up on a machine: the name of a test
// stands for the program that decides it, NAME/STAGE for each of its stages.
func InsideCases(r *intest.Runner) []Case {
	var out []Case
	for _, t := range r.Tests() {
		names := t.StageNames()
		add := func(name string, stage intest.Stage) {
			prog := t.Prog()
			if stage != "" {
				prog = t.Stages[stage].Name
			}
			out = append(out, Case{Name: name, Prog: prog, Stage: func(ctx context.Context) (machine.Input, map[string]uint64, error) {
				in, err := r.Stage(ctx, t, stage)
				return in, nil, err
			}})
		}
		add(t.Name, names[len(names)-1])
		for _, s := range names {
			if s != "" {
				add(t.Name+"/"+string(s), s)
			}
		}
	}
	return out
}
