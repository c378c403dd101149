package sched

import (
	"context"
	"time"

	"github.com/bpfrun/bpfrun/internal/subsys/event"
)

// Sim is a simulation. Create it with [New]. While it runs, the functions that schedulers call are
// its methods.
type Sim struct {
	groups map[string]*group // settings of cgroups, by path
	cfg    Config
	ops    Ops
	tick   uint64
	events event.Queue

	tasks  []*Task
	byName map[string]*Task
	cpus   []*rq
	dsqs   map[uint64]*DSQ
	global []*DSQ // by node
	idle   idle
	cids   cids
	spans  spans
	kicked Mask // CPUs with kicks

	in        place // the operation that is running
	waker     int   // the CPU that runs a wakeup, or -1
	direct    *Task // the task that select_cpu or enqueue is about
	spoiled   bool  // it has chosen a queue
	subject   *Task // the task that select_cpu is about
	buffer    buffer
	running   bool     // a program runs
	late      []func() // what waits until it returns
	counts    map[Counter]uint64
	exit      *Exit
	loaded    bool     // init has returned
	ready     bool     // all operations may be called
	inited    []string // cgroups
	dumping   *dumping
	bypassing bool
	result    *Result
}

// rq is the run queue of a CPU.
type rq struct {
	id        int
	curr      *Task // nil when idle
	local     DSQ
	above     []*Task // of the class above
	list      list    // tasks of the scheduler that wait to run (runnable_list)
	deferred  list    // on their way to other CPUs' queues
	balancing bool
	next      rank // of what runs, or has woken up and will
	immed     int  // tasks in local that run at once or go back
	pending   bool // an event will reschedule it
	released  bool // cpu_release was called
	vacant    bool // curr has just left it, for another CPU
	gen       int
	kicks     []kick
	reenq     reenqueues
	since     uint64 // when curr began to run, for the record
}

type kick struct {
	cpu   int
	flags uint64
}

// New prepares a simulation. The error is a [*ConfigError].
func New(cfg Config, ops Ops) (*Sim, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.HZ == 0 {
		cfg.HZ = 250
	}
	if cfg.Batch == 0 {
		cfg.Batch = defaultBatch
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = maxTimeout
	}
	if cfg.Values == (Values{}) {
		cfg.Values = DefaultValues
	}
	s := &Sim{cfg: cfg, ops: ops, tick: uint64(time.Second) / uint64(cfg.HZ), events: event.New(uint64(cfg.Duration), cfg.Events), byName: map[string]*Task{}, dsqs: map[uint64]*DSQ{}, waker: -1, counts: map[Counter]uint64{}}
	s.result = &Result{Calls: map[Op]int{}}
	for i := range cfg.CPUs {
		c := &rq{id: i, list: list{kind: inRunnable}, deferred: list{kind: inDeferred}}
		c.local = DSQ{ID: DSQLocal, cpu: c}
		s.cpus = append(s.cpus, c)
	}
	s.spans = spansOf(cfg.CPUs)
	for range s.spans.nodes {
		s.global = append(s.global, &DSQ{ID: DSQGlobal})
	}
	for i := range cfg.Tasks {
		spec := &s.cfg.Tasks[i]
		t := &Task{Spec: spec, Number: i, Class: spec.Class, state: unborn, mirror: ops, sticky: -1, resetRunnable: true, Cgroup: spec.Cgroup}
		t.Stats.ByCPU = map[int]uint64{}
		s.tasks = append(s.tasks, t)
		s.byName[spec.Name] = t
	}
	return s, nil
}

// Tasks returns the tasks in the order of the configuration.
func (s *Sim) Tasks() []*Task { return s.tasks }

// Now returns the simulated time since the scheduler was loaded, in nanoseconds.
func (s *Sim) Now() uint64 { return s.events.Now() }

// Run loads the scheduler, lets the tasks run, and unregisters the scheduler. The error is that of
// ctx, of an operation that could not be run, or [event.ErrLimit]; the result is what happened until
// then.
func (s *Sim) Run(ctx context.Context) (*Result, error) {
	for _, t := range s.tasks {
		t.setNice(t.Spec.Nice)
		t.setAllowed(s.allowed(t.Spec.Allowed))
		t.setCPU(t.Spec.CPU)
		t.SetSlice(SliceDefault)
	}
	if s.load() {
		s.start()
		s.events.Run(ctx, event.Steps{Pass: s.pass, Then: s.flushKicks, Over: func() bool { return s.exit != nil }})
	}
	s.unload()
	return s.finish(), s.events.Err()
}

func (s *Sim) allowed(m Mask) Mask {
	if m = m.And(s.spans.all); !m.Empty() {
		return m
	}
	return s.spans.all
}

// start creates the first events.
func (s *Sim) start() {
	s.flushKicks() // of init
	for _, t := range s.tasks {
		s.events.At(uint64(t.Spec.Start), func() { s.born(t) })
	}
	s.events.At(s.tick, s.ticks)
	s.events.At(s.watchInterval(), s.watchdog)
}

// ticks is the timer interrupt of every CPU (scheduler_tick, task_tick_scx).
func (s *Sim) ticks() {
	s.events.After(s.tick, s.ticks)
	for _, c := range s.cpus {
		t := c.curr
		switch {
		case t == nil || s.events.Err() != nil:
		case t.Class == Above:
			s.account(c)
			if len(c.above) > 0 {
				s.resched(c)
			}
		default:
			s.account(c)
			s.call(c, OpTick, t)
			if t.Slice() == 0 {
				s.resched(c)
			}
		}
	}
}

// resched makes a CPU choose what to run as soon as the current event is over (resched_curr).
func (s *Sim) resched(c *rq) {
	if c.pending {
		return
	}
	c.pending = true
	s.events.After(0, func() {
		c.pending = false
		s.schedule(c)
	})
}
