package machine

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/loader"
)

// An Observer is told of the runs of programs on a machine. It may read the machine, and changes
// nothing.
type Observer interface {
	// Begun is called when the program is at its first instruction.
	Begun(p *loader.LinkedProgram, c *hook.Context)
	// Ended is called after the program returned; not after a fault. What it sent is still in its
	// buffers, and elements that it deleted are accessible.
	Ended(p *loader.LinkedProgram, c *hook.Context, ret uint64)
}

// Observe makes o the observer of all further runs, nil for none. Programs that run because another
// one does, as those attached to its functions, belong to its run; runs of a [Loop] are not
// observed.
func (m *Machine) Observe(o Observer) { m.observer = o }

// Ignore silences findings of all further runs, besides those of [Config.Ignore].
func (m *Machine) Ignore(list ...finding.Ignore) { m.cfg.Ignore = slices.Concat(m.cfg.Ignore, list) }

// Ignored lists what silences findings.
func (m *Machine) Ignored() []finding.Ignore { return m.cfg.Ignore }

// begun tells the observer of a run.
func (s *Session) begun() {
	if o := s.m.observer; o != nil && s.in.passed == nil && !s.unobserved {
		o.Begun(s.p.lp, s.ctx)
	}
}

// ended tells it that the run is at its end.
func (s *Session) ended() {
	o, t := s.m.observer, s.m.thread
	if o == nil || s.in.passed != nil || s.unobserved || t.Fault() != nil {
		return
	}
	ret := t.Ret()
	if s.late.begun {
		ret = s.late.ret
	}
	o.Ended(s.p.lp, s.ctx, ret)
}
