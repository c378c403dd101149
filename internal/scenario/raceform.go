package scenario

import (
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// raceForm describes programs that run against each other, raceActorForm one of them, raceBeforeForm
// what ran before.
var raceForm = &grammar.Form{Name: "race", Doc: "Programs, and threads of user space, that run at the same time. Without a schedule every order up to a number of preemptions is tried; the run fails if one has an outcome that no order of whole actors has. See race.md.", Members: []grammar.Member{
	{Name: "name", Doc: "Name of the run (default: the names of its actors).", Shape: grammar.Text},
	{Name: "actors", Doc: "What runs at the same time: at least two.", Shape: grammar.ListOf(grammar.FormOf(raceActorForm)), Required: true},
	{Name: "before", Doc: "Programs that run once before, one after the other, with the input of the first actor that runs them, or with an input of their own.", Shape: grammar.ListOf(grammar.OneOf(grammar.Text, grammar.FormOf(raceBeforeForm)))},
	{Name: "preemptions", Doc: "How often an actor that could go on is stopped for another one in an order (default: 2).", Shape: grammar.Integer},
	{Name: "schedule", Doc: "One order, instead of all: turns of actors with their instructions (count 9: the actor named count executes nine; for user space, calls). What remains then runs to its end, one after the other.", Shape: grammar.ListOf(grammar.Text)},
	{Name: "since", Doc: "The oldest kernel that it is for.", Shape: grammar.Release},
	{Name: "arch", Doc: "The architecture that it is for.", Shape: grammar.Text},
}}

var raceActorForm = &grammar.Form{Name: "race actor", Doc: "A program on a CPU, or a thread of user space. A program has the input of a run (args, packet, ctx, context, current, cookie).", Members: append([]grammar.Member{
	{Name: "name", Doc: "Its name in schedules and reports (default: the program's; the second is NAME#2).", Shape: grammar.Text},
	{Name: "prog", Doc: "The program.", Shape: grammar.Text},
	{Name: "callback", Doc: "A function of the program that a timer, a work item or a task's work calls: it runs instead of the program, at most once, when it is armed: by a program of before, by another actor, or else by a run of the program with this input.", Shape: grammar.Text},
	{Name: "cpu", Doc: "The CPU (default: its number among the actors; that of the actor it interrupts).", Shape: grammar.Integer},
	{Name: "over", Doc: "The actor that it interrupts, on its CPU: it begins in the middle of that one and ends before that goes on.", Shape: grammar.Text},
	{Name: "enters", Doc: "How it does that: task (the kernel is preemptible), interrupt (default) or nmi.", Shape: grammar.Text},
	{Name: "user", Doc: "Instead of a program, the calls of a thread of user space: lookup MAP KEY, update MAP KEY VALUE [any|noexist|exist], delete MAP KEY, pop MAP KEY (lookup and delete), read MAP KEY PATH and write MAP KEY PATH VALUE (mapped arrays, one access each), consume BUFFER.", Shape: grammar.ListOf(grammar.Text)},
}, raceInput...)}

var raceBeforeForm = &grammar.Form{Name: "race before", Doc: "A run of a program before the actors of a race.", Members: append([]grammar.Member{
	{Name: "prog", Doc: "The program.", Shape: grammar.Text, Required: true},
	{Name: "cpu", Doc: "The CPU (default: 0).", Shape: grammar.Integer},
}, raceInput...)}

// raceInput is the input of a program, as that of a run.
var raceInput = []grammar.Member{
	{Name: "args", Doc: "Arguments, as in runs.", Shape: grammar.MapOf(grammar.Anything)},
	{Name: "packet", Doc: "The packet, as in runs.", Shape: grammar.Text},
	{Name: "ctx", Doc: "The context's bytes, as in runs.", Shape: grammar.OneOf(grammar.Text, grammar.MapOf(grammar.Anything))},
	{Name: "context", Doc: "Members of the context, as in runs.", Shape: grammar.FormOf(contextForm)},
	{Name: "current", Doc: "The task that it runs in, as in runs.", Shape: grammar.Anything},
	{Name: "cookie", Doc: "The attach cookie.", Shape: grammar.Integer},
}
