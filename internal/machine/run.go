package machine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// slice is the number of instructions between two checks whether a run was cancelled.
const slice = 4 << 20

// Input is the input of a run. The zero value gives the default context of the program's type.
type Input struct {
	// CPU that the program runs on.
	CPU int
	// Packet replaces the default packet of programs that get one.
	Packet []byte
	// Context replaces the bytes of the context, if the type allows it.
	Context []byte
	// Args overrides arguments of the hook, or fields of a tracepoint's record, by name; "ret" is
	// the return value. Values are those of [hook.ContextSpec].
	Args map[string]any
	// Values overrides arguments by position; it has precedence.
	Values []any
	// Current is the task that the program runs in; nil is the CPU's current task.
	Current *object.Object
	// Net is what a program of the networking stack or a cgroup gets besides its packet.
	Net hook.NetSpec
	// Hook overrides what the program declares it is attached to; nil does not.
	Hook *Hook
	// Cookie is the cookie that user space attached the program with.
	Cookie uint64
	// USDT are the arguments of a USDT probe as its note has them ("-4@%edi 8@-16(%rbp)"): where
	// libbpf's maps say they are. Without it they are constants in these maps.
	USDT *string
	// CgroupStorage identifies the value that bpf_get_local_storage returns; 0 is that of the
	// current task's cgroup.
	CgroupStorage uint64
	// Elements overrides what an iterator visits: the arguments of each call by name. Map is the
	// map whose elements it visits.
	Elements []map[string]any
	Map      string
	// MapDef is the same map by its definition, for names that are not unique.
	MapDef *loader.Map
	// Overrides replaces calls of helpers and kfuncs by name.
	Overrides map[string]Override
	// Settle is simulated time that passes after the program: callbacks of timers and work items
	// that become due are part of the run.
	Settle time.Duration
	// IgnoreUnset does not record reads of stack bytes that were never written.
	IgnoreUnset bool
	// NoChanges does not list what the run changes in maps, which takes longer the more they have.
	NoChanges bool
	// FailedChanges lists them only if the run does not succeed: nobody asks for others.
	FailedChanges bool
	// Holds are addresses of objects to which arguments hold a reference: the program must release
	// it. Gives means that the program's result, if it is not 0, is a reference that it held.
	Holds []uint64
	Gives bool
	// Trace receives the executed instructions one by one; nil runs at full speed.
	Trace Tracer

	// passed is the call that a tracing program runs for.
	passed *hook.Passed
	// interrupts means that it may begin on a CPU in the middle of another run.
	interrupts bool
	// sameContext continues with the context that the previous run left.
	sameContext bool
}

// Tracer receives every instruction of a traced run.
type Tracer interface {
	// Step is called after the instruction at pc of p; before and after are r0 to r10.
	Step(p *loader.LinkedProgram, pc, depth int, before, after *[11]uint64)
}

// Run runs a program once with a fresh context. For a program that cannot run, the Result has the
// reason as its status and error. The error of Run is for wrong input: an unknown program or CPU,
// or a context that cannot be created.
func (m *Machine) Run(ctx context.Context, name string, in Input) (*Result, error) {
	s, res, err := m.Begin(name, in)
	if s == nil {
		return res, err
	}
	defer s.Leave()
	if err := s.Execute(ctx, in.Trace); err != nil {
		return nil, err
	}
	return s.Finish(), nil
}

func (m *Machine) begin(p *program, c *hook.Context, res *Result, overrides map[string]Override) {
	m.run = &runState{result: res, prog: p, warned: map[string]bool{}, overrides: overrides}
	r := m.newRun(p)
	r.FuncIP, r.FuncArgs, r.FuncReturns = c.FuncAddr, c.Slots, c.Returns
	r.Context = c
	if c.Packet != nil {
		r.Packet = c.Packet.Whole
	}
	m.env.Run, m.env.Local = r, p.types()
	m.noteArgs(c.Args)
	m.thread.Recover = m.recoverPolicy(p)
	m.thread.SetContext(c.Addr, c.Words())
	m.kernel.SetSink(m.access)
	if !loadsKernel(p) {
		m.kernel.ForbidLoads()
	}
}

// atInsn returns the current instruction.
func (m *Machine) atInsn() (*vm.Image, int) { return m.thread.Image(), m.thread.PC() }

// newRun creates the record of a run, which replaces that of the previous run.
func (m *Machine) newRun(p *program) *helpers.Run {
	if m.env.Run != nil {
		m.env.Run.Release()
	}
	return m.record(p)
}

// record creates the record of a run or of a callback.
func (m *Machine) record(p *program) *helpers.Run {
	r := helpers.NewRun(p.typ, p.lp.Attach)
	r.Host, r.OnLimit, r.Held.Here = &m.host, m.mapEnv.OnLimit, m.here
	return r
}

// checkHeld makes references that the program did not release a fault.
func (m *Machine) checkHeld() {
	if things := m.env.Run.Held.Things(); len(things) > 0 {
		h := &things[0]
		text := h.Leaked()
		if p, ok := owner(h.Image); ok {
			text += fmt.Sprintf(", which it %s at %s", h.Began(), p.place(h.PC))
		}
		m.thread.Abort(&vm.Fault{Kind: vm.LeakedReference, Text: text})
	}
}

// abandon releases what a stopped program held of things shared with other programs: a lock still
// taken, a record that would block every later one. The kernel would not have loaded that program,
// so it must not affect the others.
func (m *Machine) abandon() {
	for _, h := range m.env.Run.Held.Things() {
		if h.Kind == held.SpinLock {
			_ = m.mem.StoreField(h.Addr, 4, 0) // a lock in freed memory needs no release
		}
	}
	for b := range m.maps.All() {
		if r, ok := b.m.(maps.RingBuffer); ok {
			for _, addr := range r.Open() {
				if !m.opened(addr) {
					_ = r.Discard(addr, 0)
				}
			}
		}
	}
}

// finish collects what the run did.
func (m *Machine) finish(p *program, c *hook.Context, before map[*boundMap][]element, in *Input) {
	res := m.run.result
	m.kernel.SetSink(nil)
	res.Ran, res.Untyped, res.To = true, c.Untyped, m.kernel.Clock().Mono()
	res.Ret, res.Insns = m.thread.Ret(), m.thread.Insns()
	m.calls.take(res.Helpers)
	if f := m.thread.Fault(); f != nil {
		res.Status, res.Fault = statusOf(f), m.explain(f)
		if f.Kind == vm.Memory && beyondArguments(f, c) {
			res.Status, res.Fault.Hint = StatusRefused, argumentsHint(m.linked.Target.Name, c)
		}
		m.abandon()
	}
	res.Trace, res.Effects = m.env.Run.Trace, m.env.Run.Events
	if !m.underWay() { // programs on other CPUs may use deleted elements and hold records
		m.mapEnv.EndRun()
		res.Events, res.Sent = m.takeSent()
	}
	if v := m.env.Run.Socket; v != (helpers.SocketVerdict{}) {
		res.Socket = &v
	}
	res.Changes = m.changes(before, in.FailedChanges && res.Status == StatusOK)
	res.DataOut, res.CtxOut = c.Out(), c.CtxOut()
	res.PacketIn, res.PacketOut = c.FrameIn(), slices.Clone(c.Frame())
	m.endLeaks(p, c)
	res.Findings = append(res.Findings, brokenPacket(p, res)...)
	res.Findings = append(res.Findings, m.limits(p)...)
	res.Findings = finding.Without(res.Findings, m.cfg.Ignore)
	if !m.cfg.Uncovered {
		res.Coverage = m.coverage.of(p)
		m.tellCovered()
	}
	for _, err := range []error{m.mapEnv.Err(), m.kernel.Err()} {
		if err != nil {
			m.run.warn(err.Error())
		}
	}
	m.run = nil
}
