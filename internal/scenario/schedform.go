package scenario

import "github.com/bpfrun/bpfrun/internal/subsys/sched"

// schedForm describes a schedule, schedTaskForm its tasks, and the others what is expected of them.
var schedForm = &form{"sched", "A schedule: tasks with timelines that a sched_ext scheduler of the object puts on the CPUs (kernel.cpus says how many, kernel.clock.hz how many ticks per second). See sched.md.", []member{
	{name: "ops", doc: "The scheduler: the name of the struct sched_ext_ops. The default is the only one.", shape: text},
	{name: "duration", doc: "Simulated time after which the scheduler is unregistered (default: 1s).", shape: duration},
	{name: "smt", doc: "CPUs of a core (default: 1).", shape: integer},
	{name: "siblings", doc: "How the CPUs of a core are numbered: adjacent (the default), or apart, as x86 firmware does: first one of each core, then the next one of each.", shape: text},
	{name: "llc", doc: "CPUs that share a cache (default: all).", shape: integer},
	{name: "node", doc: "CPUs of a node (default: all).", shape: integer},
	{name: "tasks", doc: "The tasks by name.", shape: mapOf(formOf(schedTaskForm)), required: true},
}}

var schedTaskForm = &form{"sched task", "A task of a schedule.", []member{
	{name: "do", doc: "What it does, in order: run 5ms, sleep 10ms, wait (until another task wakes it), wake TASK, wake TASK sync (the waker is about to sleep), yield, nice 5, cpus 0 2, cgroup /a (move there), cgroup-weight /a 200, cgroup-idle /a 1, cgroup-max /a 20ms 100ms (20ms in each 100ms; max for no limit), exit, exit 1ms (with so much left to do).", shape: listOf(text), required: true},
	{name: "times", doc: "How often it does all of that before it exits (default: until the end).", shape: integer},
	{name: "count", doc: "Number of such tasks: NAME0, NAME1, ... The default is one, called NAME.", shape: integer},
	{name: "nice", doc: "Its nice value, -20 to 19.", shape: integer},
	{name: "cpus", doc: "The CPUs that it may run on (default: all).", shape: listOf(integer)},
	{name: "cpu", doc: "The CPU that it was last on.", shape: integer},
	{name: "cgroup", doc: "The path of its cgroup.", shape: text},
	{name: "class", doc: "ext (the default), or above for a task of a class above the scheduler's, which preempts it.", shape: text},
	{name: "start", doc: "When it is created; the default is before the scheduler is loaded.", shape: duration},
}}

var expectSchedForm = &form{"expect sched", "What is expected of a schedule. A scheduler that ends with an error fails the run, unless exit expects that.", []member{
	{name: "exit", doc: "Why the scheduler ends: unregistered (at the end of the duration), unregistered-bpf (scx_bpf_exit), error, error-bpf (scx_bpf_error), stall (the watchdog found a task that waited too long).", shape: text},
	{name: "message", doc: "The exit's message; !match for a regular expression.", shape: text},
	{name: "code", doc: "The exit's code.", shape: integer},
	{name: "tasks", doc: "Tasks by name; the name of several applies to each.", shape: mapOf(formOf(expectTaskForm))},
	{name: "fair", doc: "Tasks whose runtimes are in the proportion of their weights: {tasks: [a, b], within: 5} percent.", shape: formOf(expectFairForm)},
	{name: "begins", doc: "Who runs first, in the order in which they leave the CPU: \"CPU TASK FROM TO\", such as 0 a 0s 4ms.", shape: listOf(text)},
	{name: "calls", doc: "How often operations are called, by name.", shape: mapOf(integer)},
}}

var expectTaskForm = &form{"expect sched task", "What is expected of a task. Values are compared as elsewhere: !ge 400ms.", []member{
	{name: "runtime", doc: "Time on CPUs.", shape: duration},
	{name: "share", doc: "The same as a percentage of the schedule's duration.", shape: integer},
	{name: "max_wait", doc: "The longest time that it was ready without running.", shape: duration},
	{name: "max_latency", doc: "The longest time from a wakeup to running.", shape: duration},
	{name: "wakeups", doc: "How often it was woken.", shape: integer},
	{name: "runs", doc: "How often it was put on a CPU.", shape: integer},
	{name: "preempted", doc: "How often it left a CPU although it had more to do.", shape: integer},
	{name: "migrations", doc: "How often it ran on another CPU than before.", shape: integer},
	{name: "cpus", doc: "The CPUs it ran on, all of them.", shape: listOf(integer)},
	{name: "exited", doc: "Whether it has exited.", shape: shapeOf(shapeBool)},
}}

var expectFairForm = &form{"expect sched fair", "Tasks that get what their weights say.", []member{
	{name: "tasks", doc: "The tasks.", shape: listOf(text), required: true},
	{name: "within", doc: "How far one may be from its part, in percent of it.", shape: integer, required: true},
}}

// schedMembers are the members that a run with a schedule may have.
var schedMembers = []string{"name", "each", "since", "arch", "sched", "after", "expect"}

// taskClasses are the classes of tasks by name.
var taskClasses = map[string]sched.Class{"ext": sched.Ext, "above": sched.Above}
