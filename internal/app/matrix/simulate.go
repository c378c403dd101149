package matrix

import (
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/subsys/hid/device"
	"github.com/bpfrun/bpfrun/internal/subsys/qdisc/traffic"
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
	"github.com/bpfrun/bpfrun/internal/subsys/sched/schedule"
	"github.com/bpfrun/bpfrun/loader"
)

// simulated is what a simulation did with a program that only it can call.
type simulated struct {
	status machine.Status
	why    string // if it did not run, or not to its end
	// calls is how often it was called; did are the effects of the whole simulation, for a
	// comparison between kernels.
	calls int
	did   []string
}

// simulations runs what the programs of an object are for: schedulers with the default tasks,
// queueing disciplines with the default traffic, and programs of HID devices on a default device.
// It returns what became of each program, by name.
func (r *runner) simulations(m *machine.Machine) map[string]simulated {
	out := map[string]simulated{}
	obj := m.Linked().Object
	start := m.Snapshot()
	for _, ops := range schedule.Schedulers(obj) {
		if m.Kernel().CPUs() <= sched.MaxCPUs {
			r.scheduled(m, ops, out)
			m.Restore(start)
		}
	}
	for _, ops := range traffic.Disciplines(obj) {
		r.queued(m, ops, out)
		m.Restore(start)
	}
	if slices.ContainsFunc(device.Programs(m.Linked()), func(p string) bool { _, ok := m.Entry(p); return ok }) {
		r.onDevice(m, out)
		m.Restore(start)
	}
	return out
}

func (r *runner) scheduled(m *machine.Machine, ops string, out map[string]simulated) {
	spec := schedule.Default(m.Kernel().CPUs())
	spec.Ops, spec.HZ = ops, int(m.Kernel().Clock().HZ)
	res, err := schedule.Run(r.ctx, m, spec)
	if err != nil {
		return // interrupted
	}
	s := simulated{status: res.Status}
	if res.Err != nil {
		s.why = res.Err.Error()
	}
	if e := res.Exit; e != nil {
		if s.did = append(s.did, "the scheduler ended: "+e.Reason()); e.Kind >= sched.ExitError && s.status == machine.StatusOK {
			s.status, s.why = machine.StatusFault, "the scheduler ended: "+e.Reason()+" "+e.Message
		}
	}
	for op, prog := range res.Progs {
		n := 0
		if res.Result != nil {
			n = res.Calls[sched.Op(op)]
		}
		s.add(m, out, prog, op, n)
	}
}

func (r *runner) queued(m *machine.Machine, ops string, out map[string]simulated) {
	spec := traffic.Default()
	spec.Ops = ops
	res, err := traffic.Run(r.ctx, m, spec)
	if err != nil {
		return // interrupted
	}
	s := simulated{status: res.Status}
	switch {
	case res.Err != nil:
		s.why = res.Err.Error()
	case len(res.Leaked) > 0:
		s.status, s.why = machine.StatusFault, fmt.Sprintf("%d packets leaked", len(res.Leaked))
	case res.Stalled:
		s.status, s.why = machine.StatusFault, "the queue stalled"
	}
	for op, prog := range res.Progs {
		n := 0
		if res.Result != nil {
			for called, times := range res.Calls {
				if string(called) == op {
					n = times
				}
			}
		}
		s.add(m, out, prog, op, n)
	}
}

func (r *runner) onDevice(m *machine.Machine, out map[string]simulated) {
	h, err := device.Default(r.ctx, m)
	if err != nil {
		return // interrupted, or there is no such device: the programs run alone
	}
	for _, res := range h.Results {
		lp, ok := m.Linked().Program(res.Program)
		if !ok || progtype.Of(lp.Type).Target != progtype.OpsMember {
			continue // it runs alone, also on kernels without such devices
		}
		s := out[res.Program]
		if s.status == "" || s.status == machine.StatusOK {
			s.status, s.why = res.Status, ""
			if res.Fault != nil {
				s.why = faultText(res.Fault)
			}
		}
		s.calls++
		s.did = append(s.did, fmt.Sprintf("call %d returned %d", s.calls, int32(uint32(res.Ret))))
		out[res.Program] = s
	}
}

// add notes what became of one program of a simulation, which may have a reason of its own for not
// running.
func (s simulated) add(m *machine.Machine, out map[string]simulated, prog, op string, calls int) {
	if status, err := m.ProgramStatus(prog); status != machine.StatusOK {
		s.status, s.why = status, ""
		if err != nil {
			s.why = err.Error()
		}
	}
	s.calls = calls
	s.did = append(slices.Clone(s.did), fmt.Sprintf("%s was called %d times", op, calls))
	out[prog] = s
}

// runSimulated gives a cell what a simulation did with its program.
func (c *draft) runSimulated(m *machine.Machine, lp *loader.LinkedProgram, s simulated) *outcome {
	if s.why != "" {
		c.explain("%s", s.why)
	}
	switch s.status {
	case machine.StatusOK:
		c.Result = RunOK
		o := newOutcome(m, &machine.Result{Program: lp.Name, Status: s.status, Ran: true})
		o.effects = s.did
		return o
	case machine.StatusFault:
		c.Result = RunFault
	case machine.StatusNotSimulated:
		c.Result = RunNotSimulated
	case machine.StatusAbsent:
		c.Load = LoadAbsent
	case machine.StatusRefused:
		c.Result = RunNone // it did not run: the verdict of the program that is refused says why
	}
	return nil
}
