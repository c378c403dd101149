package race

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/deferred"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/find/race/order"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/loader"
)

// Callback is a function of a program that runs later: when a timer is due, in a worker, or when a
// task returns to user space.
type Callback struct {
	Program, Function string
	Kind              deferred.Kind
}

// CallbackRule is where callbacks of a kind run.
type CallbackRule struct {
	Kind  deferred.Kind
	What  string
	Since since.Rule
	Place progtype.Place
	// Waits says what waits for a callback that is running.
	Waits string
}

// CallbackRules are those of each kind, as [system.Next] and [interrupted] follow them. No guard
// keeps a callback away from its own program.
var CallbackRules = sync.OnceValue(func() []CallbackRule {
	return []CallbackRule{
		{
			deferred.Timer, "`bpf_timer`", since.Timers, progtype.Place{SoftIRQ: true, Never: true, Kernel: "bpf_timer_cb"},
			"`bpf_timer_cancel` by any other program; before Linux 7.0 also whoever deletes or replaces the element, from 6.10 on except callbacks of timers",
		},
		{deferred.Work, "`bpf_wq`", since.Workqueues, progtype.Place{Task: true, Preempted: since.MigrateDisable, Kernel: "bpf_wq_work"}, "nothing"},
		{deferred.TaskWork, "`bpf_task_work`", since.TaskWork, progtype.Place{Task: true, Preempted: since.MigrateDisable, Kernel: "bpf_task_work_callback"}, "nothing"},
	}
})

// placeOfCallback returns where callbacks of a kind run.
func placeOfCallback(k deferred.Kind) progtype.Place {
	rules := CallbackRules()
	return rules[slices.IndexFunc(rules, func(r CallbackRule) bool { return r.Kind == k })].Place
}

// CallbackTable writes the rules as a table.
func CallbackTable() string {
	var b strings.Builder
	b.WriteString("|callbacks of|from Linux|run in|another task can come in between|what waits for a running one|kernel|\n|---|---|---|---|---|---|\n")
	for _, r := range CallbackRules() {
		task := "never"
		if !r.Place.Never {
			task = fromWhen(r.Place.Preempted)
		}
		fmt.Fprintf(&b, "|%s|%s (%s)|%s|%s|%s|`%s`|\n", r.What, r.Since.From(), r.Since.Row().Evidence, contexts(&r.Place), task, r.Waits, r.Place.Kernel)
	}
	return b.String()
}

// Callbacks lists the callbacks that an object's programs defer: functions whose address is the
// next call's argument that sets or schedules one.
func Callbacks(m *machine.Machine) []Callback {
	var out []Callback
	for _, lp := range runnable(m) {
		for pc := range lp.Insns {
			ref, ok := lp.Refs[pc]
			if !ok || ref.Kind != loader.RefFunc {
				continue
			}
			kind, defers := defersWith(lp, pc)
			fn, ok := lp.FuncAt(ref.Func)
			if c := (Callback{lp.Name, fn.Name, kind}); ok && defers && !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	return out
}

// defersWith reports whether the call after an instruction defers a callback, and of what.
func defersWith(lp *loader.LinkedProgram, pc int) (deferred.Kind, bool) {
	for pc += lp.Insns[pc].Len(); pc < len(lp.Insns); pc += lp.Insns[pc].Len() {
		in := lp.Insns[pc]
		switch info := in.Info(); {
		case info.Form == decode.FormCallKfunc:
			k, ok := proto.LookupKfunc(lp.Refs[pc].Name)
			switch {
			case ok && k.Role&proto.SetsWorkCallback != 0:
				return deferred.Work, true
			case ok && k.Role&proto.SchedulesTaskWork != 0:
				return deferred.TaskWork, true
			}
			return 0, false
		case info.Form == decode.FormCall && in.Op() != decode.OpCallLocal:
			return deferred.Timer, uapi.FuncID(in.Imm) == uapi.FuncTimerSetCallback
		case info.Flags&decode.FlagExit != 0:
			return 0, false
		}
	}
	return 0, false
}

// CallbackOf returns a program's callback by the name of its function.
func CallbackOf(m *machine.Machine, program, function string) (*Callback, bool) {
	for _, c := range Callbacks(m) {
		if c.Program == program && c.Function == function {
			return &c, true
		}
	}
	return nil, false
}

// armed lists the fields whose items are armed with a callback, the one that is due first first.
func armed(m *machine.Machine, c *Callback) []uint64 {
	q := m.Deferred()
	return slices.DeleteFunc(q.Pending(), func(addr uint64) bool {
		item, _ := q.Item(addr)
		lp, pc, ok := m.FunctionAt(item.Callback)
		if !ok || lp.Name != c.Program {
			return true
		}
		fn, ok := lp.FuncAt(pc)
		return !ok || fn.Name != c.Function
	})
}

// Arm runs the programs of callbacks that nothing has armed yet, each with its actor's input. Those
// that are actors themselves may do it in the race. false means that there will be no callback.
func Arm(ctx context.Context, m *machine.Machine, actors []Actor) (bool, error) {
	for i := range actors {
		a := &actors[i]
		if a.Callback == nil {
			continue
		}
		same := func(o Actor) bool { return o.Callback != nil && *o.Callback == *a.Callback }
		nth := 1
		for _, o := range actors[:i] {
			if same(o) {
				nth++
			}
		}
		if len(armed(m, a.Callback)) >= nth || slices.ContainsFunc(actors, func(o Actor) bool { return o.Callback == nil && o.Program == a.Program }) {
			continue
		}
		if _, err := m.Run(ctx, a.Program, a.Input); err != nil {
			return false, err
		}
		if len(armed(m, a.Callback)) < nth {
			return false, nil
		}
	}
	return true, nil
}

// unfired reports whether an actor is a callback that has not begun.
func (s *system) unfired(i int) bool { return s.actors[i].Callback != nil && !s.now[i].begun }

// callbackNext is Next for a callback that has not begun: it can as long as something is armed, but
// not twice at a time.
func (s *system) callbackNext(i int) (order.State, []order.Touch) {
	p := &s.now[i]
	p.next = access{kind: otherCall, touches: p.next.touches[:0]}
	fields := armed(s.m, s.actors[i].Callback)
	if len(fields) == 0 {
		return order.Done, nil
	}
	at := slices.IndexFunc(fields, func(addr uint64) bool { return !s.m.Deferred().Firing(addr) })
	field := fields[max(at, 0)]
	p.next.touches = append(p.next.touches, order.Touch{Addr: field, Size: 8, Write: true, Atomic: true})
	if at < 0 || s.stopped(i) {
		return order.Blocked, p.next.touches
	}
	return order.Ready, p.next.touches
}

// fire begins a callback and runs it up to its first shared access.
func (s *system) fire(i int) {
	if state, _ := s.callbackNext(i); state != order.Ready {
		return // an order that is repeated has not got there
	}
	p := &s.now[i]
	p.begun = true
	p.fires = p.next.touches[0].Addr
	s.turn(i)
	if s.watch != nil {
		s.watch.fires(s, i)
	}
	s.x.Fire(p.fires)
	if s.watch != nil {
		s.watch.given(s, i)
	}
	s.advance(i)
}

// awaits reports whether an actor's next call waits until a callback has ended.
func (s *system) awaits(i int) bool {
	p := &s.now[i]
	lo, size := p.next.cancels, uint64(1)
	if lo == 0 && !s.freesLater && !(s.freesInWork && s.inTimer(i)) {
		lo, size = p.next.frees, p.next.freed
	}
	if lo == 0 {
		return false
	}
	if p.next.cancels != 0 && s.refuses[i] {
		return false // -EOPNOTSUPP
	}
	for j := range s.now {
		o := &s.now[j]
		if j == i || s.within(i, j) || o.fires < lo || o.fires >= lo+size || o.state == order.Done || s.actors[j].Callback.Kind != deferred.Timer {
			continue
		}
		// A callback does not wait for one that waits for it: -EDEADLK.
		if mutual := p.fires != 0 && o.next.cancels == p.fires; !mutual || !s.freesInWork {
			return true
		}
	}
	return false
}

// refusesToCancel reports whether bpf_timer_cancel fails in an actor: in NMIs, and where tracing
// programs may use timers also in interrupts, but not in softirqs (defer_timer_wq_op).
func refusesToCancel(r role, a Actor, v since.Version) bool {
	if a.Over < 0 || a.Enters == ByTask {
		return false
	}
	place, _, _ := placeOf(r)
	return a.Enters == ByNMI || v.Has(since.TracingTimers) && place.HardIRQ
}

// within reports whether an actor runs in the middle of another one, on its CPU. Nobody waits there
// for a timer's callback: bpf_timer_cancel is -EDEADLK, and deleting does not wait
// (hrtimer_running).
func (s *system) within(i, j int) bool {
	for over := s.actors[i].Over; over >= 0; over = s.actors[over].Over {
		if over == j {
			return true
		}
	}
	return false
}

// inTimer reports whether an actor is the callback of a timer, or interrupts one.
func (s *system) inTimer(i int) bool {
	a := &s.actors[i]
	if a.Callback == nil && a.Over >= 0 {
		a = &s.actors[a.Over]
	}
	return a.Callback != nil && a.Callback.Kind == deferred.Timer
}

// items adds which timers and work items are armed to an outcome.
func (s *system) items(to *collector) {
	q := s.m.Deferred()
	type line struct{ key, name, value string }
	var lines []line
	for _, addr := range q.Items() {
		item, _ := q.Item(addr)
		l := line{key: fmt.Sprintf("%x", addr), value: "idle"}
		if item.Armed {
			l.value = "armed"
		}
		if r := s.memory.Find(addr); r != nil { // elements of hashes are where there was room
			if m, ok := r.Owner.(maps.Map); ok && isHash(m.Spec().Type) {
				if finder, ok := m.(maps.KeyFinder); ok {
					_, in, _ := r.Elem(addr)
					key, _, _ := finder.KeyOf(addr)
					l.key = fmt.Sprintf("%d %x %d", m.ID(), key, in)
				}
			}
		}
		if l.name = "state of " + item.Kind.String(); to.named {
			l.name = item.Kind.String() + " of " + strings.TrimPrefix(s.field(order.Touch{Addr: addr, Size: 8}), mem.MapValue.String()+" ")
		}
		lines = append(lines, l)
	}
	slices.SortFunc(lines, func(a, b line) int { return strings.Compare(a.key, b.key) })
	for _, l := range lines {
		to.add([]byte(l.key), func() part { return part{} })
		to.add([]byte(l.value), func() part { return part{name: l.name, text: true} })
	}
}

// fires notes that a callback begins, and given what it gets: the element is one that it found.
func (w *watch) fires(s *system, i int) {
	w.actor, w.at = i, -1
	p := &s.now[i]
	e := event{actor: i, kind: otherCall, touches: slices.Clone(p.next.touches)}
	item, _ := s.m.Deferred().Item(p.fires)
	e.prog, e.pc, _ = s.m.FunctionAt(item.Callback)
	w.events = append(w.events, e)
}

func (w *watch) given(s *system, i int) { w.found(s, &w.flows[i], s.thread.Regs()[3]) }
