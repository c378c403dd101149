package machine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// point is a function of a program: the slot at which it begins.
type point struct {
	p     *program
	start int
}

// trampoline is what is attached to a function of a program: an extension that runs in its place,
// or programs that run at its entry and at its return, in the order of their attachment
// (kernel/bpf/trampoline.c).
type trampoline struct {
	by          *program
	entry, exit []tracer
}

type tracer struct {
	p      *program
	cookie uint64
}

// trampolines are those of the machine's programs. Attachments are made between runs, and snapshots
// do not include them.
type trampolines struct {
	at    map[point]*trampoline
	enter func(point) vm.HelperFunc
	busy  []*program // tracing programs that run: none runs within itself
}

// Attachment attaches a program to a function of another.
type Attachment struct {
	// Program is an extension, or a program of type fentry or fexit.
	Program string
	// Target is the program that has the function; Start is the slot at which that begins, 0 for
	// the program itself.
	Target string
	Start  int
	Cookie uint64
}

// Errors of [Machine.Attach].
var (
	// ErrTrampoline: a function has an extension, or programs that trace it, not both (EBUSY).
	ErrTrampoline = errors.New("the function already has an extension or programs that trace it")
	// ErrTracers: more than [MaxTracers] programs trace the function (E2BIG).
	ErrTracers = errors.New("too many programs trace the function")
	// ErrNoFunction: no function of the target begins there.
	ErrNoFunction = errors.New("no such function")
	// ErrNotAttachable: programs of the type do not attach to functions of programs.
	ErrNotAttachable = errors.New("programs of this type do not attach to functions of programs")
)

// Attach makes a program run in place of a function of another (extensions), or with each of its
// calls (bpf_trampoline_link_prog). No run may be active.
func (m *Machine) Attach(a Attachment) error {
	p, at, err := m.attachable(a)
	if err != nil {
		return err
	}
	t := m.attached.at[at]
	if t == nil {
		t = &trampoline{}
	}
	row := progtype.Of(p.lp.Type)
	kind := row.Attached(p.lp.Attach)
	switch {
	case t.by != nil, row.Target == progtype.OtherProgram && len(t.entry)+len(t.exit) > 0:
		return ErrTrampoline
	case row.Target == progtype.OtherProgram:
		t.by = p
	case len(t.entry)+len(t.exit) >= MaxTracers(since.Of(m.linked.Target.Version).Rules()):
		return ErrTracers
	case kind == nil || p.lp.SectionFlags.Has(progtype.Session) || row.TargetOf(p.lp.Attach) != progtype.Function || kind.Modifies:
		return ErrNotAttachable
	case kind.Return:
		t.exit = append(t.exit, tracer{p, a.Cookie})
	default:
		t.entry = append(t.entry, tracer{p, a.Cookie})
	}
	if m.attached.at == nil {
		m.attached.at = map[point]*trampoline{}
	}
	m.attached.at[at] = t
	return m.relower(at.p)
}

// attachAll attaches the object's programs that extend or trace others of it.
func (m *Machine) attachAll() error {
	for p := range m.programs.All() {
		t := p.lp.AttachProg
		if t == nil || p.img == nil {
			continue
		}
		if err := m.Attach(Attachment{Program: p.lp.Name, Target: t.Name, Start: p.lp.AttachStart}); err != nil {
			return fmt.Errorf("attaching program %s to function %s of program %s: %w", p.lp.Name, p.lp.AttachTo, t.Name, err)
		}
	}
	return nil
}

// Detach undoes [Machine.Attach]; it does nothing for what is not attached.
func (m *Machine) Detach(a Attachment) error {
	p, at, err := m.attachable(a)
	if err != nil {
		return nil //nolint:nilerr // nothing is attached that does not exist
	}
	t := m.attached.at[at]
	if t == nil {
		return nil
	}
	if t.by == p {
		t.by = nil
	}
	for _, list := range []*[]tracer{&t.entry, &t.exit} {
		if i := slices.IndexFunc(*list, func(x tracer) bool { return x.p == p }); i >= 0 {
			*list = slices.Delete(*list, i, i+1)
		}
	}
	if t.by == nil && len(t.entry)+len(t.exit) == 0 {
		delete(m.attached.at, at)
	}
	return m.relower(at.p)
}

// MaxTracers is how many programs may trace a function (BPF_MAX_TRAMP_LINKS, until Linux 5.11
// BPF_MAX_TRAMP_PROGS with 40).
func MaxTracers(rules *since.Set) int {
	if rules.Has(since.Tracers38) {
		return uapi.MaxTrampLinks
	}
	return 40
}

// attachable finds the program and the function.
func (m *Machine) attachable(a Attachment) (*program, point, error) {
	p, tgt := m.byName[a.Program], m.byName[a.Target]
	switch {
	case p == nil:
		return nil, point{}, fmt.Errorf("%w: %s", ErrNoProgram, a.Program)
	case tgt == nil:
		return nil, point{}, fmt.Errorf("%w: %s", ErrNoProgram, a.Target)
	case a.Start != 0 && functionAt(tgt.lp, a.Start) == nil:
		return nil, point{}, fmt.Errorf("%w in program %s at instruction %d", ErrNoFunction, a.Target, a.Start)
	}
	return p, point{tgt, a.Start}, nil
}

// functionAt returns the function of a program that begins at a slot, or nil.
func functionAt(lp *loader.LinkedProgram, start int) *loader.Func {
	if i := slices.IndexFunc(lp.Funcs, func(f loader.Func) bool { return f.Start == start }); i >= 0 {
		return &lp.Funcs[i]
	}
	return nil
}

// relower makes the code of a program again, with calls of what is attached to its functions.
func (m *Machine) relower(p *program) error {
	if p.img == nil {
		return nil // it cannot run: ProgramError has the reason
	}
	img, err := m.lower(p)
	if err != nil {
		return err
	}
	p.img = img
	m.unlink()
	return nil
}

// unlink makes the engine look at the programs of arrays again: its links lead to the code of a
// program's former image.
func (m *Machine) unlink() {
	for b := range m.maps.All() {
		if array, ok := b.m.(maps.ProgArray); ok {
			clear(array.Links())
		}
	}
}

// entry returns the program whose code runs for a program: itself, or the extension that replaces
// it.
func (ts *trampolines) entry(p *program) *program {
	if t := ts.at[point{p, 0}]; t != nil && t.by != nil && t.by.img != nil {
		return t.by
	}
	return p
}

// traces reports whether programs trace functions of others.
func (ts *trampolines) traces() bool {
	for _, t := range ts.at {
		if len(t.entry)+len(t.exit) > 0 {
			return true
		}
	}
	return false
}

// divert returns the function that calls what is attached to a function of a program, nil if
// nothing is.
func (ts *trampolines) divert(p *program, start int) *vm.Func {
	at := point{p, start}
	if ts.at[at] == nil {
		return nil
	}
	return &vm.Func{Name: "trampoline", Fn: ts.enter(at)}
}

// resolve returns the function that runs for a call: the last of a row of extensions, and what
// traces that.
func (ts *trampolines) resolve(at point) (point, *trampoline) {
	t := ts.at[at]
	if t != nil && t.by != nil && t.by.img != nil {
		at = point{t.by, 0}
		t = ts.at[at]
	}
	return at, t
}

// passing is a call of a traced function: at its entry, or after it returned.
type passing struct {
	at       point
	args     [5]uint64
	returned bool
	ret      uint64
}

// Reasons for which a thread stops at calls of traced functions. The session runs the tracing
// programs then.
const tracing = "tracing"

// enterFunction returns what calls of a function do that something is attached to.
func (m *Machine) enterFunction(f point) vm.HelperFunc {
	return func(t *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
		at, tr := m.attached.resolve(f)
		if tr != nil && len(tr.entry) > 0 && !m.run.passed {
			m.run.passing = &passing{at: at, args: *args}
			return 0, vm.WaitAction(tracing)
		}
		m.run.passed = false
		return 0, t.Invoke(at.p.img.FuncAddr(at.start), *args, leaving{m, at, *args, at.p != f.p, t.Insns()})
	}
}

// maxTraced limits the results of traced and extended functions that a run keeps.
const maxTraced = 64

// extended adds the result of a program that ran in the middle of the run.
func (st *runState) extended(res *Result) {
	if len(st.result.Traced) >= maxTraced {
		st.warn(fmt.Sprintf("more than %d calls of functions that programs trace or replace: later ones are not listed", maxTraced))
		return
	}
	st.result.Traced = append(st.result.Traced, res)
}

// coverageOf returns the coverage of a program, if it is recorded.
func (m *Machine) coverageOf(p *program) Coverage {
	if m.cfg.Uncovered {
		return Coverage{}
	}
	return m.coverage.of(p)
}

// leaving continues a call of a function that something is attached to after it has returned.
type leaving struct {
	m    *Machine
	at   point
	args [5]uint64
	// extension means that an extension ran; began is the number of instructions executed before
	// it.
	extension bool
	began     uint64
}

// Resume implements [vm.Continuation].
func (l leaving) Resume(t *vm.Thread, ret uint64) (uint64, *vm.Action) {
	if l.extension {
		l.m.run.extended(&Result{
			Program: l.at.p.lp.Name, Status: StatusOK, Ran: true, Ret: ret, Insns: t.Insns() - l.began, Helpers: map[string]int{}, CPU: t.CPU,
			Coverage: l.m.coverageOf(l.at.p),
		})
	}
	if tr := l.m.attached.at[l.at]; tr == nil || len(tr.exit) == 0 {
		return ret, nil
	}
	l.m.run.passing = &passing{at: l.at, args: l.args, returned: true, ret: ret}
	return ret, vm.StopAction(tracing)
}
