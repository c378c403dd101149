package schedule

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
	"github.com/bpfrun/bpfrun/loader"
)

// driver is the scheduler as the simulation sees it: programs on a machine.
type driver struct {
	*drive.Driver
	res    *Result
	config sched.Config
	names  map[sched.Op]string // of operations, where the scheduler's type has other ones
	cmasks cmasks
	bits   map[string]uint64 // of p->scx.flags, by enumerator
	state  *helpers.Schedule
	tasks  []*task                   // by number
	sets   map[string]*object.Object // css_sets by the path of the cgroup
	args   map[string]*object.Object
	calls  drive.Calls // of Spec
}

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

// newDriver checks that the scheduler can be registered and its programs run.
func newDriver(ctx context.Context, m *machine.Machine, res *Result) (*driver, error) {
	typ := kind().TypeOf(m.Linked().Object, res.Ops)
	base, err := drive.New(ctx, m, kind(), &res.Outcome, &AbsentError{res.Ops, typ})
	d := &driver{Driver: base, res: res, names: map[sched.Op]string{}, bits: map[string]uint64{}, args: map[string]*object.Object{}}
	if err != nil {
		return d, err
	}
	for op := range d.Progs() {
		if name, _ := proto.SchedOp(typ, op); name != op {
			d.names[sched.Op(name)] = op
		}
	}
	if err := d.readOps(); err != nil {
		return d, err
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
			r.Calls[sched.Op(name)] = n
			delete(r.Calls, op)
		}
		if r.Exit != nil && r.Exit.Op == op {
			r.Exit.Op = sched.Op(name)
		}
	}
	return r
}

// The longest timeout (SCX_WATCHDOG_MAX_TIMEOUT), and the largest batch: a kernel has no memory for
// larger ones, as it allocates them for each CPU.
const (
	maxTimeout = 30_000
	maxBatch   = 1 << 16
)

// readOps reads the numbers of the struct (bpf_scx_init_member).
func (d *driver) readOps() error {
	spec, ops := d.M.Linked().Target.BTF, d.Ops
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
		return d.M.Memory().ByteOrder().Uint64(b)
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
		return drive.Is(machine.StatusNotSimulated, &belowError{id})
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

// program is the name that the scheduler's type has for an operation.
func (d *driver) program(op sched.Op) string {
	if name := d.names[op]; name != "" {
		return name
	}
	return string(op)
}

// Has reports whether a program implements an operation.
func (d *driver) Has(op sched.Op) bool { return d.Driver.Has(d.program(op)) }

// Call runs an operation's program.
func (d *driver) Call(cpu int, op sched.Op, args []any) (int64, error) {
	now := d.state.Now()
	d.Reach(now) // arguments have the time
	values, err := d.values(cpu, args)
	if err != nil {
		return 0, err
	}
	in := machine.Input{CPU: cpu, Values: values, Current: d.current(cpu)}
	if err := d.before(op, args, in); err != nil {
		return 0, err
	}
	res, err := d.Run(d.program(op), now, in)
	if err != nil {
		return 0, err
	}
	return int64(res.Ret), nil
}
