package bpfsys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	kobject "github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Event describes one firing of a hook in the simulated kernel.
type Event struct {
	// Hook is the name of the hook: a function ("do_unlinkat", for its entry and return), a
	// tracepoint ("sched_switch", "block/block_rq_issue"), a system call ("syscall/openat", for its
	// tracepoints and probes on entry and exit), a packet hook ("xdp", "cgroup_inet_egress"), or a
	// struct_ops member ("TYPE.member").
	Hook string
	// Args are the hook's arguments or record fields by name; "ret" is the return value of a
	// function or system call.
	Args map[string]any
	// Task holds fields, such as pid and comm, of the task in whose context the programs run. Empty
	// means the CPU's current task.
	Task map[string]any
	// Tasks describes arguments that point to tasks or other objects: by argument name, fields such
	// as pid and comm, by their paths.
	Tasks map[string]map[string]any
	// Sockets describes arguments that point to sockets: by argument name, a socket of the host.
	Sockets map[string]HostSocket
	// Packet is the input of programs that process packets; nil means the default packet.
	Packet []byte
	CPU    int
	// Side is the part of a system call that happens.
	Side Side
}

// Side is a part of a system call: it may be known only later what a call returns.
type Side uint8

// Parts of a system call.
const (
	WholeCall Side = iota
	CallEntry
	CallExit
)

// Fired is the result of one program that an event ran.
type Fired struct {
	Program string
	Ret     uint64
	Err     error
}

// ErrNoHook means that no program is attached to the hook of an event.
var ErrNoHook = errors.New("no program is attached to it")

// Fire fires a hook. It runs the attached programs in the order of attachment, those at a
// function's entry before those at its return. It fails with [ErrNoHook] if no program is attached,
// or if the task cannot be created.
func (s *System) Fire(e Event) ([]Fired, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.endGrace()
	s.follow()
	if call, ok := strings.CutPrefix(e.Hook, "syscall/"); ok {
		fired, err := s.fireSyscall(call, e)
		s.tellUnknownNames(e)
		return fired, err
	}
	fired, err := s.fire(e)
	if err == nil {
		s.tellUnknownNames(e)
	}
	return fired, err
}

// fireSyscall fires the hooks that a system call passes on entry and exit.
func (s *System) fireSyscall(call string, e Event) ([]Fired, error) {
	args := e.Args
	fits := exactly
	if e.Side == CallExit {
		fits = func(a *attachment, name string) bool {
			return exactly(a, name) && (atReturn(a) || name != s.syscallFunction(call) && name != "__do_sys_"+call)
		}
	} else if e.Side == CallEntry || !Returns(call) {
		fits = func(a *attachment, name string) bool { return exactly(a, name) && !atReturn(a) }
	}
	var all []Fired
	for _, h := range CallHooks(call, s.syscallFunction(call)) {
		if e.Side == CallEntry && h.After || e.Side == CallExit && !h.After && !h.Function {
			continue
		}
		e.Hook, e.Args = h.Name, h.Args(call, args)
		f, err := s.fireOn(e, fits)
		if err != nil && !errors.Is(err, ErrNoHook) {
			return all, err
		}
		all = append(all, f...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("syscall/%s: %w", call, ErrNoHook)
	}
	return all, nil
}

func (s *System) syscallFunction(call string) string { return s.machine.Kernel().SyscallSymbol(call) }

func (s *System) fire(e Event) ([]Fired, error) { return s.fireOn(e, matches) }

// fireExact fires the hook with the given full name.
func (s *System) fireExact(e Event) ([]Fired, error) { return s.fireOn(e, exactly) }

func exactly(h *attachment, hook string) bool { return h.hook.AttachTo == hook }

func (s *System) fireOn(e Event, fits func(*attachment, string) bool) ([]Fired, error) {
	if len(s.sockets) > 0 || time.Since(s.socketsSeen) > socketsPause {
		s.closedSockets()
	}
	counted := s.countHits(e, fits)
	var entry, ret []*attachment
	for h := range s.hooks.All() {
		if h.event != nil && !h.event.enabled || !fits(h, e.Hook) {
			continue
		}
		if atReturn(h) {
			ret = append(ret, h)
		} else {
			entry = append(entry, h)
		}
	}
	switch {
	case len(entry)+len(ret) > 0:
	case counted:
		return nil, nil
	default:
		return nil, fmt.Errorf("%s: %w", e.Hook, ErrNoHook)
	}
	task, err := s.task(s.taskOfEvent(e))
	if err != nil {
		return nil, err
	}
	if task == nil {
		s.keepCurrent(e.CPU)
	}
	args, err := s.eventArgs(e, slices.Concat(entry, ret))
	if err != nil {
		return nil, err
	}
	var out []Fired
	slices.SortStableFunc(entry, func(a, b *attachment) int { return cmp.Compare(s.rank(a), s.rank(b)) })
	decided := map[place]bool{}
	for _, h := range slices.Concat(entry, ret) {
		if !s.isAttached(h) || decided[h.place] {
			continue
		}
		hook := h.hook
		in := machine.Input{CPU: e.CPU, Args: args, Current: task, Cookie: h.cookie, Hook: &hook, CgroupStorage: storageFor(h.prog, h.place)}
		if progtype.Of(h.prog.typ).Takes.Has(progtype.TakesPacket) {
			in.Packet = e.Packet
		}
		if h.place.kind == onDevice {
			in.Net.Fields = s.receivedBy(h.place)
		}
		res, err := s.run(nil, h.prog, in)
		f := Fired{Program: h.prog.name, Err: err}
		if res != nil {
			f.Ret = res.Ret
			if isTC(h.place) && int32(uint32(res.Ret)) != progtype.TCNext {
				decided[h.place] = true
			}
		}
		out = append(out, f)
	}
	return out, nil
}

// isTC reports whether the programs of a hook run until one decides: those of tc, tcx and netkit.
func isTC(p place) bool {
	return p.kind == onDevice && p.at != uapi.AttachXDP
}

// rank orders the programs of a tc hook: those of tcx as they were placed, then filters by priority
// (tcx_run, then tc_run); and those of a cgroup as they were placed. Others keep their order.
func (s *System) rank(a *attachment) int {
	if a.place.kind == onCgroup {
		if g := s.groups[a.place]; g != nil {
			return slices.IndexFunc(g.effective(), func(x groupEntry) bool { return x.at == a })
		}
	}
	if !isTC(a.place) {
		return 0
	}
	if g := s.groups[a.place]; g != nil {
		if i := slices.IndexFunc(g.list, func(x groupEntry) bool { return x.at == a }); i >= 0 {
			return i
		}
	}
	if d := s.tc[a.place.device()]; d != nil {
		return maxObjects + slices.IndexFunc(d.filters, func(f *TCFilter) bool { return f.at == a })
	}
	return 0
}

// matches reports whether an attachment is at the named hook.
func matches(h *attachment, hook string) bool { return h.point().At(hook) }

func atReturn(h *attachment) bool { return h.point().AtReturn() }

func (h *attachment) point() Point {
	p := Point{Section: h.hook.Section, AttachTo: h.hook.AttachTo, Type: h.prog.typ}
	if h.place.kind != noPlace {
		p.Placed, p.Attach = true, h.place.at
	}
	return p
}

// maxEventTasks limits the tasks of events.
const maxEventTasks = 4096

// task returns the task in which an event happens, or nil without fields. A task is created on
// first use of its ids and kept for later events with the same ids.
func (s *System) task(fields map[string]any) (*kobject.Object, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	k := s.machine.Kernel()
	key := taskKey(fields)
	if s.tasks == nil {
		s.tasks = map[string]*kobject.Object{}
	}
	t := s.tasks[key]
	if t == nil {
		if len(s.tasks) >= maxEventTasks {
			return nil, fmt.Errorf("more than %d tasks in events", maxEventTasks)
		}
		var err error
		if t, err = k.NewTask(fmt.Sprint("event-", fields["pid"], "/", fields["tgid"])); err != nil {
			return nil, err
		}
		s.tasks[key] = t
		if pid, ok := fields["pid"]; ok && fields["tgid"] == nil {
			if err := t.Set("tgid", pid); err != nil {
				return nil, err
			}
		}
	}
	for name, v := range fields {
		if err := t.Set(name, v); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// keepCurrent makes a CPU's current task one of events, which is in /proc by its ids.
func (s *System) keepCurrent(cpu int) {
	t := s.machine.Kernel().CurrentOn(cpu)
	if t == nil {
		return
	}
	key := taskKey(map[string]any{"pid": t.Num("pid"), "tgid": t.Num("tgid")})
	if s.tasks == nil {
		s.tasks = map[string]*kobject.Object{}
	}
	if s.tasks[key] == nil && len(s.tasks) < maxEventTasks {
		s.tasks[key] = t
	}
}

// taskKey identifies a task of events by its ids.
func taskKey(fields map[string]any) string {
	tgid := fields["tgid"]
	if tgid == nil {
		tgid = fields["pid"] // a process's first thread
	}
	return fmt.Sprint(fields["pid"], "/", tgid)
}

// taskOf returns the task of a caller, in which a test run happens; nil, the CPU's current task, if
// there can be no more tasks.
func (s *System) taskOf(c Caller) *kobject.Object {
	t, _ := s.task(callerTask(c))
	return t
}

func callerTask(c Caller) map[string]any {
	tgid, tid, comm := c.Thread()
	return map[string]any{"pid": int64(tid), "tgid": int64(tgid), "comm": comm}
}

// lastTime is the latest time that events reach: the kernel's times are signed, and runs take time
// of their own.
const lastTime = math.MaxInt64 - uint64(time.Hour)

// Pass advances simulated time by d and runs the timers and work items that become due.
func (s *System) Pass(d time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.endGrace()
	s.follow()
	s.pullAll()
	defer s.pushAll()
	clock := s.machine.Kernel().Clock()
	if latest := max(clock.Mono(), clock.Boot(), clock.Real()); latest > lastTime || uint64(max(d, 0)) > lastTime-latest {
		return errors.New("the kernel's clocks end before that (KTIME_MAX)")
	}
	s.ahead += uint64(max(d, 0))
	_, err := s.machine.Settle(context.Background(), d)
	return err
}

// Attached reports whether any program is attached, or an event counts the firings of a hook.
func (s *System) Attached() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hooks.Len() > 0 || s.counting()
}

// Hooks lists the hooks that have programs, in the order of attachment.
func (s *System) Hooks() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for h := range s.hooks.All() {
		name := h.hook.Section
		if name == "" {
			name = h.place.at.String()
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
