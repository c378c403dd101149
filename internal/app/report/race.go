package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/find/race"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// RaceDocument is the JSON of `race`.
type RaceDocument struct {
	Schema string  `json:"schema"`
	Kind   string  `json:"kind"`
	Exit   int     `json:"exit"`
	Error  *Error  `json:"error"`
	Object string  `json:"object"`
	Target *Target `json:"target,omitempty"`
	// Orders is how many orders were followed to their end, in all races. Complete means that all
	// orders within the bound were.
	Orders   int  `json:"orders"`
	Complete bool `json:"complete"`
	// Most is how many orders there may be, 0 for a time instead.
	Most        int     `json:"most_orders,omitempty"`
	Preemptions int     `json:"preemptions"`
	Seconds     float64 `json:"seconds"`
	Races       []Race  `json:"races"`
	// Findings are those of all races, those that do most harm first.
	Findings []RaceFinding `json:"findings"`
	// Unsearched is how many programs were not searched for inputs because the time was over: what
	// was found depends on the machine's speed.
	Unsearched int `json:"unsearched,omitempty"`
	// Skipped is how many races were not begun before the time was over.
	Skipped int `json:"skipped"`
	// Interrupted means that the user ended it: the findings are those until then.
	Interrupted bool `json:"interrupted,omitempty"`
	// Left are programs that do not take part, because they cannot run.
	Left []RaceLeft `json:"left_out"`
}

// Race is one set of actors.
type Race struct {
	Name     string      `json:"name"`
	Actors   []RaceActor `json:"actors"`
	Orders   int         `json:"orders"`
	Complete bool        `json:"complete"`
	Why      string      `json:"why,omitempty"`
	Findings int         `json:"findings"`
	// Simulation is what calls the actors, for operations of a scheduler or a queueing discipline.
	Simulation string `json:"simulation,omitempty"`
}

// RaceActor is one of the actors.
type RaceActor struct {
	Name    string `json:"name"`
	Program string `json:"program"`
	CPU     int    `json:"cpu"`
	// Callback is what calls it back: timer, work or task work; empty for a program.
	Callback string `json:"callback,omitempty"`
	// Function is the callback.
	Function string `json:"function,omitempty"`
	// Over is the actor that it interrupts, Enters how: task, interrupt or nmi.
	Over   string `json:"over,omitempty"`
	Enters string `json:"enters,omitempty"`
}

// RaceLeft is a program that cannot run.
type RaceLeft struct {
	Program string `json:"program"`
	Status  string `json:"status"`
}

// RaceFinding is an order whose outcome is wrong.
type RaceFinding struct {
	Kind    string `json:"kind"`
	Benign  bool   `json:"benign"`
	Race    string `json:"race"`
	Program string `json:"program"`
	Insn    int    `json:"insn"`
	Source  string `json:"source,omitempty"`
	Message string `json:"message"`

	Actors  []RaceActor  `json:"actors"`
	Sides   []RaceSide   `json:"sides"`
	Order   []RaceTurn   `json:"order"`
	Differs []RaceDiffer `json:"outcome"`
	Advice  []string     `json:"advice"`
	// AfterRuns means that each program had run once before.
	AfterRuns bool `json:"after_runs"`
	// Before are programs that had run before, Inputs what differs from the default inputs.
	Before []string `json:"before,omitempty"`
	Inputs []string `json:"inputs,omitempty"`
	// Assumes is what is not known of the kernel, and was taken to be so.
	Assumes []string `json:"assumes,omitempty"`
	// Simulation is that of the race.
	Simulation string `json:"simulation,omitempty"`
	// Also are other races in which the same lines interfere.
	Also []string `json:"also,omitempty"`
	// Preemptions is how often an actor that could go on was interrupted.
	Preemptions int    `json:"preemptions"`
	Scenario    string `json:"scenario,omitempty"`

	about string
}

// RaceSide is an instruction that interferes with another actor's.
type RaceSide struct {
	Actor   string `json:"actor"`
	Program string `json:"program"`
	Source  string `json:"source,omitempty"`
	Line    string `json:"line,omitempty"`
	Insn    int    `json:"insn"`
	CPU     int    `json:"cpu"`
	What    string `json:"what"`

	number int
}

// RaceTurn is how many instructions an actor executes before another one goes on.
type RaceTurn struct {
	Actor string `json:"actor"`
	Insns uint64 `json:"insns"`
}

// RaceDiffer is a part of an outcome that no sequential order has.
type RaceDiffer struct {
	What       string   `json:"what"`
	Here       string   `json:"here"`
	Sequential []string `json:"sequential"`
}

func raceActors(actors []race.Actor) []RaceActor {
	names := race.Names(actors)
	out := make([]RaceActor, len(actors))
	for i, a := range actors {
		out[i] = RaceActor{Name: names[i], Program: a.Program, CPU: a.Input.CPU}
		if a.Callback != nil {
			out[i].Callback, out[i].Function = a.Callback.Kind.String(), a.Callback.Function
		}
		if a.Over >= 0 {
			out[i].Over, out[i].Enters = names[a.Over], a.Enters.Word()
		}
	}
	return out
}

// Add adds what was found in a race, and returns the places of its findings in the document: -1 for
// those that another race has too, with the same lines and the same advice.
func (d *RaceDocument) Add(m race.Meeting, r *race.Report) []int {
	actors := raceActors(m.Actors)
	d.Races = append(d.Races, Race{Name: m.Name, Actors: actors, Orders: r.Orders, Complete: r.Complete, Why: m.Why, Findings: len(r.Findings), Simulation: m.Simulation})
	d.Orders += r.Orders
	d.Complete = d.Complete && r.Complete
	names, places := race.Names(m.Actors), make([]int, len(r.Findings))
	for i := range r.Findings {
		f := &r.Findings[i]
		if places[i] = -1; d.has(m.Name, f) {
			continue
		}
		places[i] = len(d.Findings)
		out := RaceFinding{
			about: f.About(),
			Kind:  string(f.Kind), Benign: f.Benign, Race: m.Name, Simulation: m.Simulation, Message: f.Text, Actors: actors, Advice: f.Advice, Preemptions: f.Preemptions, AfterRuns: f.After, Before: f.Before, Inputs: f.Inputs, Assumes: f.Assumes, Insn: -1,
			Sides: []RaceSide{}, Order: []RaceTurn{}, Differs: []RaceDiffer{},
		}
		if out.Advice == nil {
			out.Advice = []string{}
		}
		for _, s := range f.Sides {
			out.Sides = append(out.Sides, RaceSide{names[s.Actor], s.Program, s.Source, s.Line, s.Insn, s.CPU, s.What, s.Actor})
		}
		if n := len(f.Sides); n > 0 {
			last := f.Sides[n-1]
			out.Program, out.Insn, out.Source = last.Program, last.Insn, last.Source
		}
		for _, t := range f.Turns {
			out.Order = append(out.Order, RaceTurn{names[t.Actor], t.Insns})
		}
		for _, x := range f.Differs {
			out.Differs = append(out.Differs, RaceDiffer{x.What, x.Here, x.Sequential})
		}
		d.Findings = append(d.Findings, out)
	}
	return places
}

// has reports whether a finding is there already, and notes that a race has it too. One that assumes
// less is not the same.
func (d *RaceDocument) has(in string, f *race.Finding) bool {
	about := f.About()
	for i := range d.Findings {
		have := &d.Findings[i]
		if have.about != about || have.Benign != f.Benign || !slices.Equal(have.Advice, f.Advice) || len(have.Assumes) > 0 && !slices.Equal(have.Assumes, f.Assumes) {
			continue
		}
		if have.Race != in && !slices.Contains(have.Also, in) {
			have.Also = append(have.Also, in)
		}
		return true
	}
	return false
}

// WriteRace writes the document as text.
func WriteRace(w io.Writer, d *RaceDocument, o TableOptions) error {
	st := style{o.Color}
	failing, benign := 0, 0
	for i := range d.Findings {
		f := &d.Findings[i]
		if f.Benign {
			benign++
			continue
		}
		failing++
		f.write(w, st)
	}
	if benign > 0 && (o.Verbose || d.Exit == 0) && !o.Quiet {
		visible.Fprintf(w, "%s\n", "Benign, no failure without --strict:")
		for i := range d.Findings {
			if f := &d.Findings[i]; f.Benign {
				visible.Fprintf(w, "  %s: %s%s\n", f.Kind, f.Message, f.places())
			}
		}
		visible.Fprintln(w)
	}
	for _, l := range d.Left {
		if !o.Quiet {
			visible.Fprintf(w, "%s takes no part: %s\n", l.Program, l.Status)
		}
	}
	if d.Unsearched > 0 && !o.Quiet {
		visible.Fprintf(w, "The time to look for inputs was over before %s: on a faster machine, or with a longer --time, more may be found\n", plural(d.Unsearched, "program"))
	}
	_, err := visible.Fprintf(w, "%s, %s (%s): %s\n", plural(len(d.Races), "race"), plural(d.Orders, "order"), d.bound(), plural(failing, "finding"))
	return err
}

// bound says which orders were followed.
func (d *RaceDocument) bound() string {
	how := fmt.Sprintf("all with at most %d preemptions", d.Preemptions)
	if !d.Complete {
		how = "not all of those with at most " + fmt.Sprint(d.Preemptions) + " preemptions"
	}
	if d.Skipped > 0 {
		why := "time was over"
		if d.Most > 0 && d.Orders >= d.Most {
			why = "orders were over"
		}
		if d.Interrupted {
			why = "interrupted"
		}
		how += fmt.Sprintf("; %s before %s", why, plural(d.Skipped, "more race"))
	}
	return how
}

// title says who an actor is, and where it runs.
func (a *RaceActor) title() string {
	switch {
	case a.Over != "":
		return fmt.Sprintf("CPU %d: %s, interrupts %s", a.CPU, a.Name, a.Over)
	case a.Callback != "":
		return fmt.Sprintf("CPU %d: %s, callback of %s", a.CPU, a.Name, a.Callback)
	}
	return fmt.Sprintf("CPU %d: %s", a.CPU, a.Name)
}

// at is the place of an instruction.
func (s *RaceSide) at() string {
	if s.Source == "" {
		return fmt.Sprintf("insn %d", s.Insn)
	}
	return s.Source
}

// someOf lists the first few of many.
func someOf(list []string) string {
	const most = 6
	if len(list) > most {
		return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", len(list)-most)
	}
	return strings.Join(list, ", ")
}

// places lists the lines of a finding: " (a.c:1:2, a.c:3:4)".
func (f *RaceFinding) places() string {
	var out []string
	for _, s := range f.Sides {
		at := s.Source
		if at == "" {
			at = fmt.Sprintf("%s insn %d", s.Program, s.Insn)
		}
		if len(out) == 0 || out[len(out)-1] != at {
			out = append(out, at)
		}
	}
	return " (" + strings.Join(out, ", ") + ")"
}

// column is the width of an actor's column.
const column = 46

// write writes a finding: the lines that interfere side by side, in the order in which they are
// executed.
func (f *RaceFinding) write(w io.Writer, st style) {
	visible.Fprintf(w, "%s: %s\n", st.red(f.Kind), f.Message)
	visible.Fprintf(w, "\n")
	if f.Simulation != "" {
		visible.Fprintf(w, "  In %s:\n", f.Simulation)
	}
	if f.AfterRuns {
		visible.Fprintf(w, "  After each program has run once:\n")
	}
	if len(f.Before) > 0 {
		visible.Fprintf(w, "  After %s:\n", someOf(f.Before))
	}
	if len(f.Inputs) > 0 {
		visible.Fprintf(w, "  With %s:\n", someOf(f.Inputs))
	}
	for _, text := range f.Assumes {
		visible.Fprintf(w, "  Assumed: %s\n", text)
	}
	var head strings.Builder
	for i, a := range f.Actors {
		title := a.title()
		if i < len(f.Actors)-1 {
			title = fmt.Sprintf("%-*s", column, title)
		}
		head.WriteString(title)
	}
	visible.Fprintf(w, "  %s\n", head.String())
	last, lastActor := "", -1
	for _, s := range f.Sides {
		pad := strings.Repeat(" ", column*s.number)
		at := s.at()
		if at != last || s.number != lastActor {
			visible.Fprintf(w, "  %s%s  %s\n", pad, at, s.Line)
		}
		last, lastActor = at, s.number
		visible.Fprintf(w, "  %s    %s\n", pad, s.What)
	}
	visible.Fprintf(w, "\n")
	for _, d := range f.Differs {
		visible.Fprintf(w, "  %s: %s; one after the other: %s\n", d.What, d.Here, strings.Join(d.Sequential, " or "))
	}
	for i, a := range f.Advice {
		lead := "          "
		if i == 0 {
			lead = "  To do:  "
		}
		visible.Fprintf(w, "%s%s\n", lead, a)
	}
	if len(f.Also) > 0 {
		visible.Fprintf(w, "  Also:   %s\n", someOf(f.Also))
	}
	if f.Scenario != "" {
		visible.Fprintf(w, "  Again:  bpfrun test %s\n", f.Scenario)
	}
	visible.Fprintln(w)
}
