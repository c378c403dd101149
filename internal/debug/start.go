package debug

import (
	"context"
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/bpfrun/bpfrun/internal/debug/scopes"
	"github.com/bpfrun/bpfrun/loader"
)

// NewOn creates a session on a machine, which [Session.Close] closes. Config's Machine is the
// configuration that the machine was set up with.
func NewOn(t Target, cfg Config) (*Session, error) {
	s := compose(cfg)
	if len(cfg.ELF) > 0 {
		s.dwarf, s.dwarfErr = scopes.Read(cfg.ELF)
	}
	if err := s.install(t); err != nil {
		t.Machine.Close()
		return nil, err
	}
	return s, nil
}

// install makes the session drive a machine.
func (s *Session) install(t Target) error {
	var types *btf.Spec
	if s.dwarf != nil {
		types = s.dwarf.Spec
	}
	if err := s.Use(t.Machine, types); err != nil {
		return err
	}
	s.m, s.linked, s.cases = t.Machine, t.Machine.Linked(), t.Cases
	s.code, s.sources = map[*loader.LinkedProgram]*code{}, map[string]source{}
	s.start, s.edits, s.marks, s.ways, s.hits = nil, nil, nil, nil, nil
	s.end, s.done = 0, 0
	s.clearLanes()
	s.fresh = s.m.Snapshot()
	s.m.Memory().OnWatch = s.onWatch
	s.useLines()
	return nil
}

// point is a position in a run that is valid on every kernel: the n-th visit to an instruction.
type point struct {
	prog  string // the linked program of the instruction
	pc    int
	visit int
	ended bool
}

// pointHere counts how often the run has reached the next instruction.
func (s *Session) pointHere(ctx context.Context) (point, error) {
	if s.state == Ended {
		return point{ended: true}, nil
	}
	t := s.m.Thread()
	here := s.place(t.Image(), t.PC())
	if here.Prog == nil {
		return point{}, ErrIdle
	}
	p := point{prog: here.Prog.Name, pc: here.PC}
	n, err := s.visits(ctx, here, s.Pos())
	p.visit = n
	return p, err
}

// visits counts how often an instruction was reached up to a position. It leaves the session at
// that position.
func (s *Session) visits(ctx context.Context, at Place, pos uint64) (int, error) {
	if err := s.goTo(ctx, 0); err != nil {
		return 0, err
	}
	n, err := 0, error(nil)
	err = s.visit(ctx, at, func() bool {
		if s.Pos() <= pos {
			n++
		}
		return s.Pos() >= pos
	})
	if err == nil {
		err = s.goTo(ctx, pos)
	}
	return n, err
}

// visit executes from the current position and calls f whenever an instruction is reached, until f
// returns true. Breakpoints and watchpoints are ignored.
func (s *Session) visit(ctx context.Context, at Place, f func() bool) error {
	to, ok := s.spot(at)
	if !ok {
		return nil
	}
	breaks := s.breaks
	s.breaks = nil
	disarm := s.arm([]Place{at})
	defer func() {
		disarm()
		s.breaks = breaks
		s.hits = s.hits[:0]
	}()
	t := s.m.Thread()
	for s.state == Running {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.applyEdits()
		if t.Image() == to.img && t.PC() == to.pc && f() {
			return nil
		}
		s.exec(min(s.untilEdit(), chunk))
	}
	return nil
}

// SwitchKernel runs the object on another kernel, from the start of the run to the corresponding
// point: the same visit to the same instruction. Breakpoints are resolved again; edits, checkpoints
// and watchpoints end with the old run. If the program cannot be run there, the session stays on
// the new kernel without a run, and the error explains why.
func (s *Session) SwitchKernel(ctx context.Context, name string) (*Stop, error) {
	if s.cfg.Kernel == nil {
		return nil, errors.New("this session cannot load other kernels")
	}
	s.Unlook()
	if s.several {
		return nil, errors.New("programs run on several CPUs: only one can go to the same point on another kernel (reset drops them)")
	}
	var at point
	running := s.state != Idle
	if running {
		var err error
		if at, err = s.pointHere(ctx); err != nil {
			return nil, err
		}
	}
	t, err := s.cfg.Kernel(ctx, name)
	if err != nil {
		return nil, err
	}
	was, edits := s.m, len(s.edits)
	s.leave()
	if err := s.install(t); err != nil {
		t.Machine.Close()
		return nil, err
	}
	was.Close()
	notes := s.carryOver(edits)
	if !running {
		return &Stop{Reason: Arrived, Notes: notes}, nil
	}
	prog := s.prog
	if s.caseName != "" {
		prog = s.caseName
	}
	if _, err := s.StartContext(ctx, prog); err != nil {
		return nil, err
	}
	if err := s.goToPoint(ctx, at); err != nil {
		return nil, err
	}
	st := s.stopped(Arrived)
	if s.state == Ended {
		st = s.stopped(s.endReason())
		if !at.ended {
			notes = append(notes, fmt.Sprintf("On %s the run never reaches insn %d of %s for the %s time.", s.linked.Target.Name, at.pc, at.prog, ordinal(at.visit)))
		}
	}
	st.Notes = notes
	return st, nil
}

// carryOver applies the user's settings to the new machine and returns notes on those that were
// dropped.
func (s *Session) carryOver(edits int) []string {
	var notes []string
	for _, v := range s.history {
		if v.Kind == expr.InMemory || v.Kind == expr.InRegister {
			v.Kind = expr.Computed // the value stays, but its location is gone
		}
	}
	for _, b := range s.breaks {
		places, note, err := s.Locate(b.Spec)
		if err != nil {
			b.Places, b.Enabled = nil, false
			notes = append(notes, fmt.Sprintf("Breakpoint %d was disabled: %v", b.ID, err))
			continue
		}
		b.Places, b.Note, b.Hits = places, note, 0
	}
	if n := len(s.watches); n > 0 {
		notes = append(notes, fmt.Sprintf("Watchpoints removed with the old run: %d.", n))
		s.watches = nil
	}
	if edits > 0 {
		notes = append(notes, fmt.Sprintf("Changes dropped with the old run: %d.", edits))
	}
	return notes
}

// goToPoint runs to a point recorded on another kernel.
func (s *Session) goToPoint(ctx context.Context, p point) error {
	if p.ended {
		return s.advance(ctx, ^uint64(0))
	}
	lp, ok := s.linked.Program(p.prog)
	if !ok {
		return s.advance(ctx, ^uint64(0))
	}
	n := 0
	return s.visit(ctx, Place{lp, p.pc}, func() bool {
		n++
		return n == p.visit
	})
}

func ordinal(n int) string {
	switch {
	case n%100 >= 11 && n%100 <= 13:
	case n%10 == 1:
		return fmt.Sprintf("%dst", n)
	case n%10 == 2:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3:
		return fmt.Sprintf("%drd", n)
	}
	return fmt.Sprintf("%dth", n)
}
