package schedule

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
	"github.com/bpfrun/bpfrun/loader"
)

// driver is the scheduler as the simulation sees it: programs on a machine.
type driver struct {
	ctx    context.Context
	m      *machine.Machine
	res    *Result
	config sched.Config
	progs  map[sched.Op]string
	names  map[sched.Op]sched.Op // of operations, where the scheduler's type has other ones
	cmasks cmasks
	bits   map[string]uint64 // of p->scx.flags, by enumerator
	base   uint64            // monotonic time at the start
	state  *helpers.Schedule
	tasks  []*task // by number
	args   map[string]*kernel.Object
}

// programError means that a program of the scheduler cannot run.
type programError struct {
	op, prog string
	status   machine.Status
	err      error
}

// Error names the operation, the program and the reason.
func (e *programError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("program %s (ops.%s) cannot run: it is %s", e.prog, e.op, e.status)
	}
	return fmt.Sprintf("program %s (ops.%s) cannot run: %v", e.prog, e.op, e.err)
}

// Unwrap returns the reason.
func (e *programError) Unwrap() error { return e.err }

// AbsentError means that the kernel has no sched_ext, or none with schedulers of this type.
type AbsentError struct{ Ops, Type string }

// Error names the type that is missing.
func (e *AbsentError) Error() string {
	since := "6.12"
	if e.Type == proto.SchedOpsCid {
		since = "7.2"
	}
	return fmt.Sprintf("scheduler %s: the kernel has no struct %s (Linux %s and later have it with CONFIG_SCHED_CLASS_EXT)", e.Ops, e.Type, since)
}

// belowError means that a scheduler is for the tasks of a cgroup, below the scheduler of all
// others.
type belowError struct{ cgroup uint64 }

// Error says what is not simulated.
func (e *belowError) Error() string {
	return fmt.Sprintf("not simulated: a scheduler below another one (sub_cgroup_id is %d); a schedule has one scheduler for all tasks", e.cgroup)
}

// stoppedError means that a program was stopped while the schedule ran.
type stoppedError struct {
	op  sched.Op
	res *machine.Result
}

// Error names the operation and the fault.
func (e *stoppedError) Error() string {
	where := "a timer's callback"
	if e.op != "" {
		where = "ops." + string(e.op) + "()"
	}
	return fmt.Sprintf("%s was stopped: %v", where, e.res.Fault)
}

// newDriver checks that the scheduler can be registered and its programs run.
func newDriver(ctx context.Context, m *machine.Machine, name string, res *Result) (*driver, error) {
	ops := linkedOps(m.Linked(), name)
	typ := typeOf(m.Linked().Object, name)
	switch {
	case ops == nil || ops.Absent:
		return nil, &AbsentError{name, typ}
	case ops.Err != nil:
		return nil, ops.Err
	}
	d := &driver{ctx: ctx, m: m, res: res, progs: map[sched.Op]string{}, names: map[sched.Op]sched.Op{}, bits: map[string]uint64{}, args: map[string]*kernel.Object{}}
	res.Progs = ops.Progs
	for _, op := range slices.Sorted(maps.Keys(ops.Progs)) {
		prog := ops.Progs[op]
		if status, err := m.ProgramStatus(prog); status != machine.StatusOK {
			return nil, &programError{op, prog, status, err}
		}
		name, _ := proto.SchedOp(typ, op)
		d.progs[sched.Op(name)] = prog
		if name != op {
			d.names[sched.Op(name)] = sched.Op(op)
		}
	}
	if err := d.readOps(ops); err != nil {
		return nil, err
	}
	if d.config.Cid = typ == proto.SchedOpsCid; d.config.Cid {
		return d, d.findArena()
	}
	return d, nil
}

// named gives operations the names that the scheduler's type has for them.
func (d *driver) named(r *sched.Result) *sched.Result {
	for op, name := range d.names {
		if n, ok := r.Calls[op]; ok {
			r.Calls[name] = n
			delete(r.Calls, op)
		}
		if r.Exit != nil && r.Exit.Op == op {
			r.Exit.Op = name
		}
	}
	return r
}

func linkedOps(l *loader.Linked, name string) *loader.LinkedStructOps {
	for _, s := range l.StructOps {
		if s.Map.Name == name {
			return s
		}
	}
	return nil
}

// The longest timeout (SCX_WATCHDOG_MAX_TIMEOUT), and the largest batch: a kernel has no memory for
// larger ones, as it allocates them for each CPU.
const (
	maxTimeout = 30_000
	maxBatch   = 1 << 16
)

// readOps reads the numbers of the struct (bpf_scx_init_member).
func (d *driver) readOps(ops *loader.LinkedStructOps) error {
	spec := d.m.Linked().Target.BTF
	num := func(member string) uint64 { // integers only
		f, err := spec.ResolvePath(ops.KernType, member)
		if err != nil {
			return 0
		}
		n, err := spec.Sizeof(f.Type)
		off := int64(f.Offset())
		if err != nil || n < 0 || n > 8 || off+n > int64(len(ops.Data)) {
			return 0
		}
		b := make([]byte, 8)
		copy(b, ops.Data[off:off+n])
		return d.m.Memory().ByteOrder().Uint64(b)
	}
	c := &d.config
	c.Values = sched.ValuesOf(func(name string) (uint64, bool) {
		_, v, ok := spec.FindEnumerator(name)
		return v, ok
	})
	_, c.Values.Cids = spec.FindID(btf.KindStruct, proto.SchedOpsCid)
	c.Flags = sched.OpsFlags(num("flags"))
	timeout := num("timeout_ms")
	switch {
	case c.Flags&^c.Values.AllFlags != 0:
		return fmt.Errorf("flags %#x are unknown", uint64(c.Flags&^c.Values.AllFlags))
	case timeout > maxTimeout:
		return fmt.Errorf("timeout_ms of %d is more than %d", timeout, maxTimeout)
	}
	if id := num("sub_cgroup_id"); id > 1 {
		return &belowError{id}
	}
	c.Timeout = time.Duration(timeout) * time.Millisecond
	if batch := num("dispatch_max_batch"); batch > maxBatch {
		return fmt.Errorf("dispatch_max_batch of %d is more than %d", batch, maxBatch)
	}
	c.Batch = int(num("dispatch_max_batch"))
	d.res.Name = string(nameOf(spec, ops))
	if d.res.Name == "" {
		return errors.New("it has no name")
	}
	return nil
}

// nameOf reads the member name, a string.
func nameOf(spec *btf.Spec, ops *loader.LinkedStructOps) []byte {
	f, err := spec.ResolvePath(ops.KernType, "name")
	off := int(f.Offset())
	if err != nil || off > len(ops.Data) {
		return nil
	}
	name, _, _ := bytes.Cut(ops.Data[off:], []byte{0})
	return name
}

// Has reports whether a program implements an operation.
func (d *driver) Has(op sched.Op) bool { return d.progs[op] != "" }

// Call runs an operation's program.
func (d *driver) Call(cpu int, op sched.Op, args []any) (int64, error) {
	d.reach(d.state.Now())
	values, err := d.values(cpu, args)
	if err != nil {
		return 0, err
	}
	res, err := d.m.Run(d.ctx, d.progs[op], machine.Input{CPU: cpu, Values: values, Current: d.current(cpu), IgnoreUnset: true})
	if err != nil {
		return 0, err
	}
	d.collect(res)
	if !res.Ran || res.Fault != nil {
		return 0, &stoppedError{op, res}
	}
	return int64(res.Ret), nil
}

// maxTrace limits the lines that are kept.
const maxTrace = 10_000

func (d *driver) collect(res *machine.Result) {
	d.res.Insns += res.Insns
	room := min(maxTrace-len(d.res.Trace), len(res.Trace))
	d.res.Trace = append(d.res.Trace, res.Trace[:room]...)
	d.res.DroppedTrace += len(res.Trace) - room
}

// reach sets the machine's clocks to a point of simulated time.
func (d *driver) reach(now uint64) {
	clock := d.m.Kernel().Clock()
	if at := d.base + now; at > clock.Mono() {
		clock.Advance(at - clock.Mono())
	}
}

// Pass lets timers and work items fire that are due before the next event.
func (d *driver) Pass(ctx context.Context, now, until uint64) (uint64, error) {
	at, ok := d.m.NextDue()
	if !ok || at > d.base+until {
		return until, nil
	}
	at = max(at, d.base+now)
	d.reach(at - d.base)
	d.state.SetNow(at - d.base)
	res, err := d.m.Settle(ctx, 0)
	if err != nil {
		return now, err
	}
	d.collect(res)
	if res.Fault != nil {
		return now, &stoppedError{"", res}
	}
	return at - d.base, nil
}
