package sched

import "time"

// Class is the scheduling class of a task.
type Class uint8

// Classes: tasks of the scheduler, and those of a class above it, which run first, in turn.
const (
	Ext Class = iota
	Above
)

// TaskSpec describes a task and what it does.
type TaskSpec struct {
	Name    string
	Nice    int  // -20 to 19
	Allowed Mask // empty = all CPUs
	Cgroup  string
	Class   Class
	// Start is when the task is created; those at 0 exist before the scheduler is enabled.
	Start time.Duration
	// CPU is the one that the task was last on when it first wakes.
	CPU int
	// Steps is what it does, Times how often; 0 means once, Forever until the end. Then it exits.
	Steps []Step
	Times int
}

// Forever repeats a timeline until the end of the simulation.
const Forever = -1

// StepKind is what a task does.
type StepKind uint8

// Steps of timelines.
const (
	DoRun         StepKind = iota // use the CPU for a time
	DoSleep                       // until the time has passed
	DoWait                        // until another task wakes it; a wakeup before that counts
	DoWake                        // another task
	DoYield                       // sched_yield
	DoExit                        // after a time in do_exit
	DoNice                        // its own nice value
	DoAffinity                    // its own CPUs
	DoMove                        // to another cgroup
	DoGroupWeight                 // writes a cgroup's cpu.weight
	DoGroupIdle                   // writes a cgroup's cpu.idle
	DoGroupMax                    // writes a cgroup's cpu.max
)

// Step is one step of a timeline.
type Step struct {
	Kind StepKind
	For  time.Duration // DoRun, DoSleep, DoExit
	Task string        // DoWake
	Sync bool          // DoWake: the waker is about to sleep
	Nice int           // DoNice
	CPUs Mask          // DoAffinity
	To   string        // DoMove, DoGroupWeight, DoGroupIdle, DoGroupMax: the cgroup

	Weight uint32        // DoGroupWeight
	Idle   bool          // DoGroupIdle
	Quota  time.Duration // DoGroupMax: of each period, 0 for no limit
	Period time.Duration // DoGroupMax
}

// check returns an error for a task that cannot be simulated.
func (t *TaskSpec) check(names map[string]bool, all *Mask) error {
	switch {
	case t.Name == "":
		return bad("a task has no name")
	case t.Nice < -20 || t.Nice > 19:
		return bad("task %s: nice %d, want -20 to 19", t.Name, t.Nice)
	case !t.Allowed.Empty() && t.Allowed.And(*all).Empty():
		return bad("task %s: none of its CPUs exists", t.Name)
	case !all.Has(t.CPU):
		return bad("task %s: there is no CPU %d", t.Name, t.CPU)
	case t.Start < 0:
		return bad("task %s starts at %v", t.Name, t.Start)
	case len(t.Steps) == 0 || len(t.Steps) > MaxSteps:
		return bad("task %s: %d steps, want 1 to %d", t.Name, len(t.Steps), MaxSteps)
	}
	passes := false
	for i := range t.Steps {
		s := &t.Steps[i]
		if err := t.checkStep(s, names, all); err != nil {
			return err
		}
		passes = passes || s.For > 0 || s.Kind == DoWait || s.Kind == DoExit
	}
	if t.Times == Forever && !passes {
		return bad("task %s repeats steps that take no time", t.Name)
	}
	return nil
}

func (t *TaskSpec) checkStep(s *Step, names map[string]bool, all *Mask) error {
	switch {
	case s.For < 0:
		return bad("task %s: a step of %v", t.Name, s.For)
	case s.Kind == DoWake && !names[s.Task]:
		return bad("task %s wakes %s, which does not exist", t.Name, s.Task)
	case s.Kind == DoNice && (s.Nice < -20 || s.Nice > 19):
		return bad("task %s: nice %d, want -20 to 19", t.Name, s.Nice)
	case s.Kind == DoAffinity && s.CPUs.And(*all).Empty():
		return bad("task %s: none of its CPUs exists", t.Name)
	case s.Kind.groupStep():
		return t.checkGroup(s)
	}
	return nil
}

// state is what a task is doing.
type state uint8

const (
	unborn state = iota
	sleeping
	waiting // until woken
	runnable
	dead
)

// opsState is whether the scheduler owns a queued task (p->scx.ops_state).
type opsState uint8

const (
	opsNone opsState = iota
	opsQueueing
	opsQueued
)

// Task is a simulated task.
type Task struct {
	Spec   *TaskSpec
	Number int // in the order of the configuration

	// Nice, Weight, Allowed, Cgroup and CPU are as they are now.
	Nice    int
	Weight  uint32
	Allowed Mask
	Cgroup  string
	CPU     int
	Exiting bool
	Class   Class
	// Stats is what became of the task.
	Stats Stats

	mirror Mirror
	last   int // the CPU that it ran on
	state  state
	at     int // next step
	round  int
	left   uint64 // of the current step, in nanoseconds of CPU
	busy   bool   // in a step that uses the CPU
	wakes  int    // wakeups before a wait
	gen    int    // of its timer

	inited, enabled, queued bool

	immed     bool // runs at once or goes back to the scheduler (SCX_TASK_IMMED)
	ops       opsState
	qseq      uint64
	custody   bool
	sticky    int
	dsq       *DSQ
	links     [listKinds]links
	tree      branch
	sorted    bool // in the tree of dsq
	dsqSeq    uint64
	deferred  bool
	ddsp      uint64 // the queue that select_cpu or enqueue chose, 0 if none
	ddspFlags uint64
	ddspSet   bool

	resetRunnable bool
	runnableAt    uint64 // for the watchdog
	onList        bool   // waits to run, on the list of its CPU
	wokenAt       uint64
	woken         bool // has not run since
	waitsSince    uint64
	execStart     uint64
}

// Stats is what became of a task.
type Stats struct {
	Runtime, Waited     uint64 // in nanoseconds
	MaxWait             uint64
	Wakeups             int
	Latency, MaxLatency uint64 // from wakeups to running
	Runs                int    // how often it was put on a CPU
	Preempted           int    // how often it was taken off although it had more to do
	Migrations          int
	ByCPU               map[int]uint64 // runtime
	Exited              bool
	LastRan             uint64
}

// Field is a field of a task that programs see.
type Field uint8

// Fields of tasks.
const (
	FieldSlice Field = iota
	FieldVtime
	FieldDisallow
	FieldWeight
	FieldQueued
	FieldCPU
	FieldOnCPU
	FieldNice
	FieldAllowed // what is in Allowed
	FieldExiting
	FieldCgroup // what is in Cgroup
	FieldImmed
	FieldReenq // a Reenq
)

// Reenq is why a task goes back to the scheduler, for enqueue to see (SCX_TASK_REENQ_REASON_MASK).
type Reenq uint64

// Reasons.
const (
	ReenqNone Reenq = iota
	ReenqKfunc
	ReenqImmed
	ReenqPreempted
)

// Mirror holds the fields of tasks where programs see them, and may change some.
type Mirror interface {
	Load(*Task, Field) uint64
	Store(*Task, Field, uint64)
}

// firstPID is the process id of the first task; the others follow.
const firstPID = 1000

// PID returns the task's process id.
func (t *Task) PID() int { return firstPID + t.Number }

// Slice returns what is left of the task's slice (p->scx.slice).
func (t *Task) Slice() uint64 { return t.mirror.Load(t, FieldSlice) }

// SetSlice changes it.
func (t *Task) SetSlice(v uint64) { t.mirror.Store(t, FieldSlice, v) }

// Vtime returns the task's place in queues ordered by time (p->scx.dsq_vtime).
func (t *Task) Vtime() uint64 { return t.mirror.Load(t, FieldVtime) }

// SetVtime changes it.
func (t *Task) SetVtime(v uint64) { t.mirror.Store(t, FieldVtime, v) }

func (t *Task) setQueued(on bool) {
	t.queued = on
	t.mirror.Store(t, FieldQueued, number(on))
}

func (t *Task) setImmed(on bool) {
	if t.immed != on {
		t.immed = on
		t.mirror.Store(t, FieldImmed, number(on))
	}
}

func (t *Task) setCPU(cpu int) {
	t.CPU = cpu
	t.mirror.Store(t, FieldCPU, uint64(cpu))
}

func (t *Task) setNice(nice int) {
	t.Nice = nice
	t.Weight = weightOf(nice)
	t.mirror.Store(t, FieldNice, uint64(int64(nice)))
}

func (t *Task) setAllowed(m Mask) {
	t.Allowed = m
	t.mirror.Store(t, FieldAllowed, 0)
}

func number(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// prioWeights are the weights of nice values from -20 on (kernel/sched/core.c
// sched_prio_to_weight).
var prioWeights = [...]uint64{
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277,
	1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
}

// weightOf returns the weight that schedulers see: that of a cgroup, 100 for nice 0, 1 to 10000
// (sched_weight_to_cgroup).
func weightOf(nice int) uint32 {
	w := (prioWeights[nice+20]*100 + 512) / 1024
	return uint32(min(max(w, 1), 10000))
}
