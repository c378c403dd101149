package scenario

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/find/race"
	khook "github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/scenario/invariant"
	"github.com/bpfrun/bpfrun/loader"
)

// Race is a set of programs, and threads of user space, that run at the same time.
type Race struct {
	Node        *grammar.Node
	Actors      []*RaceActor
	Before      []RaceEarlier
	Preemptions int
	Schedule    []RaceTurn
}

// RaceActor is one of them.
type RaceActor struct {
	*grammar.Node
	Name string
	// Run is its program with its input, nil for user space.
	Run  *Run
	User []*grammar.Node
	// Callback is the function of its program that runs, instead of the program, when what is armed
	// with it fires.
	Callback *grammar.Node
	Over     *grammar.Node
	Enters   race.Entry
	cpu      bool // it says on which
}

// RaceEarlier is a run before the actors: of a program by its name, or with an input of its own.
type RaceEarlier struct {
	*grammar.Node
	Prog *grammar.Node
	Run  *Run // nil for a name
}

// RaceTurn is a turn of a schedule.
type RaceTurn struct {
	*grammar.Node
	Actor string
	Insns uint64
}

// decodeRaces decodes the file's races, which become runs.
func (f *File) decodeRaces(root *grammar.Node) error {
	n := root.Get("race")
	if n == nil {
		return nil
	}
	if n.Kind != grammar.Sequence {
		return n.Errorf("race: want a list, got %s", n.Describe())
	}
	var wrong grammar.Mistakes
	since, err := root.Get("since").Release()
	wrong.Add(err)
	arch, err := root.Get("arch").Arch()
	wrong.Add(err)
	for _, item := range n.Items {
		run, err := f.decodeRace(item)
		if !wrong.Add(err) {
			continue
		}
		if run.Since = max(run.Since, since); run.Arch == "" {
			run.Arch = arch
		}
		if slices.ContainsFunc(f.Runs, func(r *Run) bool { return r.Name == run.Name }) {
			wrong.Add(item.Errorf("run %s is already there: choose another name", grammar.Brief(run.Name)))
			continue
		}
		f.Runs = append(f.Runs, run)
	}
	return wrong.Err()
}

func (f *File) decodeRace(n *grammar.Node) (*Run, error) {
	var wrong grammar.Mistakes
	if wrong.Add(n.Fields(raceForm)); n.Kind != grammar.Mapping {
		return nil, wrong.Err()
	}
	r := &Race{Node: n, Preemptions: 2}
	run := &Run{Pos: n.Pos, Race: r, Repeat: 1}
	list := n.Get("actors")
	if list == nil || list.Kind != grammar.Sequence || len(list.Items) < 2 || len(list.Items) > maxActors {
		wrong.Add(n.Errorf("race: want a list of two to %d actors", maxActors))
		return nil, wrong.Err()
	}
	for i, item := range list.Items {
		a, err := f.decodeActor(item, i)
		if wrong.Add(err) {
			r.Actors = append(r.Actors, a)
		}
	}
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	wrong.Add(r.place())
	wrong.Add(f.decodeBefore(r, n.Get("before")))
	wrong.Add(n.Ints(grammar.IntOf("preemptions", &r.Preemptions, 0, 64)))
	wrong.Add(r.decodeSchedule(n.Get("schedule")))
	var names []string
	for _, a := range r.Actors {
		names = append(names, a.Name)
		if a.Run != nil && run.Prog == "" {
			run.Prog, run.ProgNode = a.Run.Prog, a.Run.ProgNode
		}
	}
	if run.Name = strings.Join(names, " and "); run.Prog == "" {
		wrong.Add(n.Errorf("race: one of the actors must be a program"))
	}
	var err error
	if v := n.Get("name"); v != nil {
		run.Name, err = v.NonEmpty("name")
		wrong.Add(err)
	}
	run.Since, err = n.Get("since").Release()
	wrong.Add(err)
	run.Arch, err = n.Get("arch").Arch()
	wrong.Add(err)
	return run, wrong.Err()
}

// maxActors limits a race: the orders of whole actors are all run.
const maxActors = 4

// decodeActor decodes an actor. Its program and input are those of a run.
func (f *File) decodeActor(n *grammar.Node, number int) (*RaceActor, error) {
	var wrong grammar.Mistakes
	if wrong.Add(n.Fields(raceActorForm)); n.Kind != grammar.Mapping {
		return nil, wrong.Err()
	}
	a := &RaceActor{Node: n, Callback: n.Get("callback"), Over: n.Get("over"), Enters: race.ByInterrupt, cpu: n.Get("cpu") != nil}
	if v := n.Get("enters"); v != nil {
		entry, ok := race.ParseEntry(v.Text)
		if !ok {
			return nil, v.Unknown("way to interrupt", v.Text, race.EntryWords())
		}
		a.Enters = entry
	}
	if v := n.Get("user"); v != nil {
		if v.Kind != grammar.Sequence || len(v.Items) == 0 || n.Get("prog") != nil {
			return nil, v.Errorf("user: want a list of calls, and no prog beside it")
		}
		a.User, a.Name = v.Items, "user space"
	} else {
		own := *n
		own.Pairs = slices.DeleteFunc(slices.Clone(n.Pairs), func(p grammar.Pair) bool {
			return slices.Contains([]string{"name", "callback", "over", "enters"}, p.Key.Text)
		})
		run, err := f.decodeRun(&own)
		if !wrong.Add(err) {
			return nil, wrong.Err()
		}
		if !a.cpu {
			run.CPU, run.CPUNode = number, n
		}
		if a.Run, a.Name = run, run.Prog; a.Callback != nil {
			a.Name = a.Callback.Text
		}
	}
	if v := n.Get("name"); v != nil {
		var err error
		a.Name, err = v.NonEmpty("name")
		wrong.Add(err)
	}
	return a, wrong.Err()
}

// decodeBefore decodes what runs before the actors.
func (f *File) decodeBefore(r *Race, n *grammar.Node) error {
	if n == nil {
		return nil
	}
	if n.Kind != grammar.Sequence {
		return n.Errorf("before: want a list of programs, got %s", n.Describe())
	}
	var wrong grammar.Mistakes
	for _, item := range n.Items {
		e := RaceEarlier{Node: item, Prog: item}
		if item.Kind == grammar.Mapping {
			if !wrong.Add(item.Fields(raceBeforeForm)) {
				continue
			}
			run, err := f.decodeRun(item)
			if !wrong.Add(err) {
				continue
			}
			e.Prog, e.Run = run.ProgNode, run
		}
		r.Before = append(r.Before, e)
	}
	return wrong.Err()
}

// place names the actors so that they differ, and puts those that interrupt others on their CPUs.
func (r *Race) place() error {
	seen := map[string]int{}
	for _, a := range r.Actors {
		if seen[a.Name]++; seen[a.Name] > 1 {
			a.Name += "#" + strconv.Itoa(seen[a.Name])
		}
	}
	var wrong grammar.Mistakes
	for i, a := range r.Actors {
		if a.Over == nil {
			continue
		}
		over := r.find(a.Over.Text)
		switch {
		case over < 0:
			wrong.Add(a.Over.Unknown("actor", a.Over.Text, r.names()))
		case over == i || a.Run == nil || r.Actors[over].Run == nil || r.Actors[over].Over != nil:
			wrong.Add(a.Over.Errorf("over: a program interrupts another one that is not interrupting itself"))
		default:
			a.Run.CPU = r.Actors[over].Run.CPU
		}
	}
	return wrong.Err()
}

func (r *Race) names() []string {
	var out []string
	for _, a := range r.Actors {
		out = append(out, a.Name)
	}
	return out
}

func (r *Race) find(name string) int { return slices.Index(r.names(), name) }

// decodeSchedule decodes the turns: "NAME INSTRUCTIONS".
func (r *Race) decodeSchedule(n *grammar.Node) error {
	if n == nil {
		return nil
	}
	if n.Kind != grammar.Sequence {
		return n.Errorf("schedule: want a list of turns, got %s", n.Describe())
	}
	var wrong grammar.Mistakes
	for _, item := range n.Items {
		at := strings.LastIndexByte(item.Text, ' ')
		if at < 0 {
			wrong.Add(item.Errorf("schedule: want an actor and its instructions, such as %s 9, got %s", r.Actors[0].Name, item.Describe()))
			continue
		}
		insns, err := strconv.ParseUint(item.Text[at+1:], 10, 32)
		if err != nil || r.find(item.Text[:at]) < 0 {
			wrong.Add(item.Unknown("turn", item.Text, r.names()))
			continue
		}
		r.Schedule = append(r.Schedule, RaceTurn{item, item.Text[:at], insns})
	}
	return wrong.Err()
}

// runs are the programs of a race, and the race itself.
func (r *Race) runs(race *Run) []*Run {
	out := []*Run{race}
	for _, a := range r.Actors {
		if a.Run != nil {
			out = append(out, a.Run)
		}
	}
	for _, e := range r.Before {
		if e.Run != nil {
			out = append(out, e.Run)
		}
	}
	return out
}

// cpus is how many CPUs the races of a file need that do not say which ones.
func (f *File) cpus() int {
	n := 0
	for _, run := range f.Runs {
		if run.Race == nil {
			continue
		}
		for _, a := range run.Race.Actors {
			if a.Run != nil && !a.cpu {
				n = max(n, a.Run.CPU+1)
			}
		}
	}
	return n
}

// choose checks that the programs exist.
func (r *Race) choose(obj *loader.Object) error {
	var wrong grammar.Mistakes
	check := func(n *grammar.Node, name string) {
		if _, ok := obj.Program(name); !ok {
			wrong.Add(n.Unknown("program", name, programNames(obj)))
		}
	}
	for _, a := range r.Actors {
		if a.Run != nil {
			check(a.Run.ProgNode, a.Run.Prog)
		}
	}
	for _, e := range r.Before {
		check(e.Prog, e.Prog.Text)
	}
	return wrong.Err()
}

// checkRace finds the mistakes in what user space does.
func (r *Runner) checkRace(run *Run) error {
	var wrong grammar.Mistakes
	for _, a := range run.Race.Actors {
		if a.Run == nil {
			_, err := r.userSteps(a)
			wrong.Add(err)
			continue
		}
		if _, cannot := r.cannotRun(a.Run); a.Callback != nil && !cannot {
			_, err := r.callback(a)
			wrong.Add(err)
		}
	}
	return wrong.Err()
}

// callback returns the callback that an actor is.
func (r *Runner) callback(a *RaceActor) (*race.Callback, error) {
	c, ok := race.CallbackOf(r.m, a.Run.Prog, a.Callback.Text)
	if ok {
		return c, nil
	}
	var names []string
	for _, c := range race.Callbacks(r.m) {
		if c.Program == a.Run.Prog {
			names = append(names, c.Function)
		}
	}
	return nil, a.Callback.Unknown("callback", a.Callback.Text, names)
}

// raceActors are the actors of a run with their input, each with objects of one event of its own.
func (r *Runner) raceActors(run *Run) ([]race.Actor, error) {
	actors, err := r.plainActors(run)
	if err != nil {
		return nil, err
	}
	return race.Apart(r.m, actors), nil
}

// plainActors are the actors of a run with their input.
func (r *Runner) plainActors(run *Run) ([]race.Actor, error) {
	var out []race.Actor
	for _, a := range run.Race.Actors {
		actor := race.Actor{Name: a.Name, Over: -1, Enters: a.Enters}
		if a.Over != nil {
			actor.Over = run.Race.find(a.Over.Text)
		}
		if a.Run == nil {
			steps, err := r.userSteps(a)
			if err != nil {
				return nil, err
			}
			actor.User = steps
		} else {
			if a.Callback != nil {
				c, err := r.callback(a)
				if err != nil {
					return nil, err
				}
				actor.Callback = c
			}
			actor.Program, actor.Input = a.Run.Prog, r.input[a.Run].in
			if other := a.Over == nil && actor.Input.CPU != 0 || a.Over != nil && a.Enters == race.ByTask; other && actor.Input.Current == nil {
				actor.Input.Current = race.OtherTask(r.m, r.racing(run)...)
			}
		}
		out = append(out, actor)
	}
	return out, nil
}

// racing lists the programs of a race.
func (r *Runner) racing(run *Run) (out []*loader.LinkedProgram) {
	for _, a := range run.Race.Actors {
		if a.Run == nil {
			continue
		}
		if lp, ok := r.m.Linked().Program(a.Run.Prog); ok {
			out = append(out, lp)
		}
	}
	return out
}

// RaceScene returns what the file says to a search of races: its runs as inputs of their programs,
// its races and its invariants. From now on the search alone judges runs.
func (r *Runner) RaceScene() (*race.Scene, error) {
	r.m.Observe(nil)
	out := &race.Scene{}
	var wrong grammar.Mistakes
	for _, run := range r.file.Runs {
		if run.Race != nil {
			actors, err := r.plainActors(run)
			if !wrong.Add(err) || slices.ContainsFunc(run.Race.Actors, func(a *RaceActor) bool {
				if a.Run == nil {
					return false
				}
				_, cannot := r.cannotRun(a.Run)
				return cannot
			}) {
				continue
			}
			m := race.Meeting{Name: run.Name, Actors: actors, Written: true}
			m.Before = r.earlier(run)
			out.Races = append(out.Races, m)
			continue
		}
		p := r.input[run]
		if _, cannot := r.cannotRun(run); p == nil || p.cannot != nil || cannot || run.Simulated != nil || run.Functions != nil || len(run.Chain) > 0 {
			continue
		}
		out.Runs = append(out.Runs, race.Given{Name: run.Name, Program: run.Prog, Input: p.in})
	}
	if r.inv.checker != nil {
		out.Check = func(runs int) race.Checker { return &raceInvariants{r.inv.checker, uint64(runs)} }
	}
	return out, wrong.Err()
}

// raced runs a race and judges it.
func (r *Runner) raced(ctx context.Context, run *Run, res *Result, start time.Time) error {
	res.Result = &machine.Result{Program: run.Prog, Status: machine.StatusOK, Ran: true, Helpers: map[string]int{}}
	for _, a := range run.Race.Actors {
		if a.Run == nil {
			continue
		}
		if err, cannot := r.cannotRun(a.Run); cannot {
			st, _ := r.m.ProgramStatus(a.Run.Prog)
			res.Result = &machine.Result{Program: run.Prog, Status: st}
			res.Skipped, res.Err = st == machine.StatusAbsent, err
			if !res.Skipped {
				res.Expectations = []grammar.Expectation{{Pos: a.Run.Pos, What: "status of " + a.Name, Want: string(machine.StatusOK), Got: string(st)}}
			}
			return nil
		}
	}
	actors, err := r.raceActors(run)
	if err != nil {
		return err
	}
	if err := r.runBefore(ctx, run, actors); err != nil {
		return err
	}
	got, err := r.orders(ctx, run, actors)
	if err != nil {
		return err
	}
	ok := true
	for i := range got.Findings {
		f := &got.Findings[i]
		if f.Benign && !r.opt.Strict {
			continue
		}
		ok = false
		res.Expectations = append(res.Expectations, grammar.Expectation{Pos: run.Pos, What: string(f.Kind), Want: "an outcome that actors have one after the other", Got: f.Text + sides(f)})
	}
	if ok {
		res.Expectations = append(res.Expectations, grammar.Expectation{Pos: run.Pos, What: "race", OK: true})
	}
	res.Took = time.Since(start)
	return nil
}

// earlier lists the runs before a race.
func (r *Runner) earlier(run *Run) []race.Earlier {
	var out []race.Earlier
	for _, e := range run.Race.Before {
		x := race.Earlier{Program: e.Prog.Text}
		if e.Run != nil {
			x.Input = &r.input[e.Run].in
		}
		out = append(out, x)
	}
	return out
}

// runBefore runs the programs that run before the race, and those whose callbacks nothing else
// arms.
func (r *Runner) runBefore(ctx context.Context, run *Run, actors []race.Actor) error {
	for _, e := range r.earlier(run) {
		for _, in := range e.Inputs(actors) {
			if _, err := r.m.Run(ctx, e.Program, in); err != nil {
				return run.failed(err)
			}
		}
	}
	if _, err := race.Arm(ctx, r.m, actors); err != nil {
		return run.failed(err)
	}
	return nil
}

// stageRace brings the machine to the start of a race: the program whose turn comes first, and the
// others with the order of the schedule.
func (r *Runner) stageRace(ctx context.Context, run *Run) (*Staged, error) {
	actors, err := r.raceActors(run)
	if err != nil {
		return nil, err
	}
	cpus := map[int]bool{}
	for i, a := range actors {
		n := run.Race.Actors[i].Node
		switch {
		case a.User != nil:
			return nil, n.Errorf("a race with user space cannot be stepped through; bpfrun test repeats its schedule")
		case a.Callback != nil:
			return nil, n.Errorf("%s is a callback: the debugger begins programs; bpfrun test repeats the schedule", run.Race.Actors[i].Name)
		case cpus[a.Input.CPU]:
			return nil, n.Errorf("%s is in the middle of another program on its CPU: the debugger has one program on each; bpfrun test repeats the schedule", run.Race.Actors[i].Name)
		}
		cpus[a.Input.CPU] = true
	}
	if err := r.runBefore(ctx, run, actors); err != nil {
		return nil, err
	}
	first := 0
	if len(run.Race.Schedule) > 0 {
		first = run.Race.find(run.Race.Schedule[0].Actor)
	}
	out := &Staged{Prog: actors[first].Program, Input: actors[first].Input}
	for i, a := range actors {
		if i != first {
			out.Others = append(out.Others, Staged{Prog: a.Program, Input: a.Input})
		}
	}
	for _, t := range run.Race.Schedule {
		out.Turns = append(out.Turns, StagedTurn{actors[run.Race.find(t.Actor)].Input.CPU, t.Insns})
	}
	return out, nil
}

// orders repeats the schedule, or tries all orders.
func (r *Runner) orders(ctx context.Context, run *Run, actors []race.Actor) (*race.Report, error) {
	var got *race.Report
	var err error
	if run.Race.Schedule == nil {
		got, err = race.Run(ctx, r.m, actors, race.Config{Preemptions: run.Race.Preemptions, Until: time.Now().Add(raceTime), Check: r.raceChecker(run), Ignore: r.m.Ignored()})
	} else {
		var turns []race.Turn
		for _, t := range run.Race.Schedule {
			turns = append(turns, race.Turn{Actor: run.Race.find(t.Actor), Insns: t.Insns})
		}
		got, err = race.Replay(ctx, r.m, actors, turns, r.raceChecker(run))
	}
	var turn *race.TurnError
	switch {
	case errors.As(err, &turn):
		return nil, run.Race.Schedule[turn.Turn].Node.Wrap("schedule", err)
	case err != nil:
		return nil, run.failed(err)
	}
	return got, nil
}

// raceChecker asks for the file's invariants at the end of each order, when all its programs have
// run.
func (r *Runner) raceChecker(run *Run) race.Checker {
	if r.inv.checker == nil {
		return nil
	}
	events := r.inv.events + uint64(len(run.Race.Before))
	for _, a := range run.Race.Actors {
		if a.Run != nil {
			events++
		}
	}
	return &raceInvariants{r.inv.checker, events}
}

// raceInvariants are the invariants of a file for the orders of a race.
type raceInvariants struct {
	checker *invariant.Checker
	events  uint64
}

// Begin implements [race.Checker].
func (c *raceInvariants) Begin(p *loader.LinkedProgram, k *khook.Context) {
	c.checker.Begin(invariant.Run{Program: p, Context: k, Events: c.events})
}

// End implements [race.Checker].
func (c *raceInvariants) End(p *loader.LinkedProgram, k *khook.Context, ret uint64) map[string]string {
	out := map[string]string{}
	for _, f := range c.checker.End(invariant.Run{Program: p, Context: k, Ret: ret, Events: c.events}) {
		out[f.Spec.Name] = f.Text
	}
	return out
}

// raceTime limits a race without a schedule.
const raceTime = 10 * time.Second

// sides lists the lines that interfere: " (a.c:1:2, a.c:3:4)".
func sides(f *race.Finding) string {
	var out []string
	for _, s := range f.Sides {
		if s.Source != "" && !slices.Contains(out, s.Source) {
			out = append(out, s.Source)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return " (" + strings.Join(out, ", ") + ")"
}
