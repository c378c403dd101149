package schedule

import (
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/scene"
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
)

// Scene is how scenario files write schedules.
func Scene() *scene.Form { return &form }

var form = scene.Form{
	Member: grammar.Member{Name: "sched", Doc: "The schedule to run instead of one program.", Shape: grammar.FormOf(runForm)},
	Expect: []grammar.Member{{Name: "sched", Doc: "What a schedule did.", Shape: grammar.FormOf(expectForm)}},
	Parts:  []*grammar.Form{runForm, taskForm}, Judged: []*grammar.Form{expectForm, expectTaskForm, expectFairForm},
	Calls: true,
	Only:  []string{"name", "each", "since", "arch", "sched", "after", "expect"}, Callers: "the schedule",
	Missing: "the run has no schedule",
	Decode:  decode,
}

// runForm describes a schedule, taskForm its tasks, and the others what is expected of them.
var runForm = &grammar.Form{Name: "sched", Doc: "A schedule: tasks with timelines that a sched_ext scheduler of the object puts on the CPUs (kernel.cpus says how many, kernel.clock.hz how many ticks per second). See sched.md.", Members: []grammar.Member{
	{Name: "ops", Doc: "The scheduler: the name of the struct sched_ext_ops. The default is the only one.", Shape: grammar.Text},
	{Name: "duration", Doc: "Simulated time after which the scheduler is unregistered (default: 1s).", Shape: grammar.Duration},
	{Name: "smt", Doc: "CPUs of a core (default: 1).", Shape: grammar.Integer},
	{Name: "siblings", Doc: "How the CPUs of a core are numbered: adjacent (the default), or apart, as x86 firmware does: first one of each core, then the next one of each.", Shape: grammar.Text},
	{Name: "llc", Doc: "CPUs that share a cache (default: all).", Shape: grammar.Integer},
	{Name: "node", Doc: "CPUs of a node (default: all).", Shape: grammar.Integer},
	{Name: "tasks", Doc: "The tasks by name.", Shape: grammar.MapOf(grammar.FormOf(taskForm)), Required: true},
}}

var taskForm = &grammar.Form{Name: "sched task", Doc: "A task of a schedule.", Members: []grammar.Member{
	{Name: "do", Doc: "What it does, in order: run 5ms, sleep 10ms, wait (until another task wakes it), wake TASK, wake TASK sync (the waker is about to sleep), yield, nice 5, cpus 0 2, cgroup /a (move there), cgroup-weight /a 200, cgroup-idle /a 1, cgroup-max /a 20ms 100ms (20ms in each 100ms; max for no limit), exit, exit 1ms (with so much left to do).", Shape: grammar.ListOf(grammar.Text), Required: true},
	{Name: "times", Doc: "How often it does all of that before it exits (default: until the end).", Shape: grammar.Integer},
	{Name: "count", Doc: "Number of such tasks: NAME0, NAME1, ... The default is one, called NAME.", Shape: grammar.Integer},
	{Name: "nice", Doc: "Its nice value, -20 to 19.", Shape: grammar.Integer},
	{Name: "cpus", Doc: "The CPUs that it may run on (default: all).", Shape: grammar.ListOf(grammar.Integer)},
	{Name: "cpu", Doc: "The CPU that it was last on.", Shape: grammar.Integer},
	{Name: "cgroup", Doc: "The path of its cgroup.", Shape: grammar.Text},
	{Name: "class", Doc: "ext (the default), or above for a task of a class above the scheduler's, which preempts it.", Shape: grammar.Text},
	{Name: "start", Doc: "When it is created; the default is before the scheduler is loaded.", Shape: grammar.Duration},
}}

var expectForm = &grammar.Form{Name: "expect sched", Doc: "What is expected of a schedule. A scheduler that ends with an error fails the run, unless exit expects that.", Members: []grammar.Member{
	{Name: "exit", Doc: "Why the scheduler ends: unregistered (at the end of the duration), unregistered-bpf (scx_bpf_exit), error, error-bpf (scx_bpf_error), stall (the watchdog found a task that waited too long).", Shape: grammar.Text},
	{Name: "message", Doc: "The exit's message; !match for a regular expression.", Shape: grammar.Text},
	{Name: "code", Doc: "The exit's code.", Shape: grammar.Integer},
	{Name: "tasks", Doc: "Tasks by name; the name of several applies to each.", Shape: grammar.MapOf(grammar.FormOf(expectTaskForm))},
	{Name: "fair", Doc: "Tasks whose runtimes are in the proportion of their weights: {tasks: [a, b], within: 5} percent.", Shape: grammar.FormOf(expectFairForm)},
	{Name: "begins", Doc: "Who runs first, in the order in which they leave the CPU: \"CPU TASK FROM TO\", such as 0 a 0s 4ms.", Shape: grammar.ListOf(grammar.Text)},
	{Name: "calls", Doc: "How often operations are called, by name.", Shape: grammar.MapOf(grammar.Integer)},
}}

var expectTaskForm = &grammar.Form{Name: "expect sched task", Doc: "What is expected of a task. Values are compared as elsewhere: !ge 400ms.", Members: []grammar.Member{
	{Name: "runtime", Doc: "Time on CPUs.", Shape: grammar.Duration},
	{Name: "share", Doc: "The same as a percentage of the schedule's duration.", Shape: grammar.Integer},
	{Name: "max_wait", Doc: "The longest time that it was ready without running.", Shape: grammar.Duration},
	{Name: "max_latency", Doc: "The longest time from a wakeup to running.", Shape: grammar.Duration},
	{Name: "wakeups", Doc: "How often it was woken.", Shape: grammar.Integer},
	{Name: "runs", Doc: "How often it was put on a CPU.", Shape: grammar.Integer},
	{Name: "preempted", Doc: "How often it left a CPU although it had more to do.", Shape: grammar.Integer},
	{Name: "migrations", Doc: "How often it ran on another CPU than before.", Shape: grammar.Integer},
	{Name: "cpus", Doc: "The CPUs it ran on, all of them.", Shape: grammar.ListOf(grammar.Integer)},
	{Name: "exited", Doc: "Whether it has exited.", Shape: grammar.ShapeOf(grammar.ShapeBool)},
}}

var expectFairForm = &grammar.Form{Name: "expect sched fair", Doc: "Tasks that get what their weights say.", Members: []grammar.Member{
	{Name: "tasks", Doc: "The tasks.", Shape: grammar.ListOf(grammar.Text), Required: true},
	{Name: "within", Doc: "How far one may be from its part, in percent of it.", Shape: grammar.Integer, Required: true},
}}

// classes are the classes of tasks by name.
var classes = map[string]sched.Class{"ext": sched.Ext, "above": sched.Above}
