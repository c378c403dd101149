package scenario

// raceForm describes programs that run against each other, raceActorForm one of them.
var raceForm = &form{"race", "Programs, and threads of user space, that run at the same time. Without a schedule every order up to a number of preemptions is tried; the run fails if one has an outcome that no order of whole actors has. See race.md.", []member{
	{name: "name", doc: "Name of the run (default: the names of its actors).", shape: text},
	{name: "actors", doc: "What runs at the same time: at least two.", shape: listOf(formOf(raceActorForm)), required: true},
	{name: "before", doc: "Programs that run once before, one after the other, with the input of the first actor that runs them.", shape: listOf(text)},
	{name: "preemptions", doc: "How often an actor that could go on is stopped for another one in an order (default: 2).", shape: integer},
	{name: "schedule", doc: "One order, instead of all: turns of actors with their instructions (count 9: the actor named count executes nine; for user space, calls). What remains then runs to its end, one after the other.", shape: listOf(text)},
	{name: "since", doc: "The oldest kernel that it is for.", shape: release},
	{name: "arch", doc: "The architecture that it is for.", shape: text},
}}

var raceActorForm = &form{"race actor", "A program on a CPU, or a thread of user space. A program has the input of a run (args, packet, ctx, context, current, cookie).", []member{
	{name: "name", doc: "Its name in schedules and reports (default: the program's; the second is NAME#2).", shape: text},
	{name: "prog", doc: "The program.", shape: text},
	{name: "callback", doc: "A function of the program that a timer, a work item or a task's work calls: it runs instead of the program, at most once, when it is armed: by a program of before, by another actor, or else by a run of the program with this input.", shape: text},
	{name: "cpu", doc: "The CPU (default: its number among the actors; that of the actor it interrupts).", shape: integer},
	{name: "over", doc: "The actor that it interrupts, on its CPU: it begins in the middle of that one and ends before that goes on.", shape: text},
	{name: "enters", doc: "How it does that: task (the kernel is preemptible), interrupt (default) or nmi.", shape: text},
	{name: "user", doc: "Instead of a program, the calls of a thread of user space: lookup MAP KEY, update MAP KEY VALUE [any|noexist|exist], delete MAP KEY, pop MAP KEY (lookup and delete), read MAP KEY PATH and write MAP KEY PATH VALUE (mapped arrays, one access each), consume BUFFER.", shape: listOf(text)},
	{name: "args", doc: "Arguments, as in runs.", shape: mapOf(anything)},
	{name: "packet", doc: "The packet, as in runs.", shape: text},
	{name: "ctx", doc: "The context's bytes, as in runs.", shape: oneOf(text, mapOf(anything))},
	{name: "context", doc: "Members of the context, as in runs.", shape: formOf(contextForm)},
	{name: "current", doc: "The task that it runs in, as in runs.", shape: anything},
	{name: "cookie", doc: "The attach cookie.", shape: integer},
}}
