package report

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/app/minkernel"
	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// RequireDocument is the JSON of `require`.
type RequireDocument struct {
	Schema string `json:"schema"`
	Kind   string `json:"kind"`
	Exit   int    `json:"exit"`
	Error  *Error `json:"error"`
	// AtLeast is the release that the objects must load on, "" for none.
	AtLeast string          `json:"at_least,omitempty"`
	Objects []RequireObject `json:"objects"`
}

// RequireObject is what one object needs.
type RequireObject struct {
	Object string `json:"object"`
	// Kernels are those whose types are at hand.
	Kernels []string `json:"kernels"`
	// Releases are those that were asked, oldest first.
	Releases []string `json:"releases"`
	// Oldest is the oldest release that loads all programs that count, From the one from which on
	// every release does; "" if none does. Update is the first update of Oldest that does, "" if
	// its first version does.
	Oldest string `json:"oldest"`
	Update string `json:"update,omitempty"`
	From   string `json:"from"`
	// Updates are the first updates that load all programs, of releases from AtLeast on whose first
	// version does not.
	Updates []string `json:"updates,omitempty"`
	// Fails names the programs for which the object does not meet AtLeast.
	Fails    []string         `json:"fails,omitempty"`
	Programs []RequireProgram `json:"programs"`

	counted bool // some program counts
}

// RequireProgram is what a program needs.
type RequireProgram struct {
	Name     string `json:"name"`
	Section  string `json:"section"`
	Type     string `json:"type"`
	Optional bool   `json:"optional"`
	// Oldest is the oldest release that loads it, Update the version of its first update that does
	// if the first version does not; From the release from which on every one does. ByRules means
	// that no types of Oldest are at hand.
	Oldest  string `json:"oldest"`
	Update  string `json:"update,omitempty"`
	ByRules bool   `json:"by_rules"`
	From    string `json:"from"`
	// HeldBy is what keeps the nearest release before Oldest from loading it.
	HeldBy *RequireHold `json:"held_by,omitempty"`
	// Without is what it would need if it could do without that.
	Without  *RequireNext     `json:"without,omitempty"`
	Releases []RequireRelease `json:"releases"`
}

// RequireHold is what a release lacks.
type RequireHold struct {
	Release string `json:"release"`
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	// Since is the release that brought it, "" if no table says.
	Since   string   `json:"since,omitempty"`
	Rules   []string `json:"rules,omitempty"`
	Message string   `json:"message,omitempty"`
	Source  string   `json:"source,omitempty"`
	// Guardable means that the program can test for it.
	Guardable bool `json:"guardable"`
}

// RequireNext is the oldest release without what holds a program back.
type RequireNext struct {
	Oldest  string       `json:"oldest"`
	ByRules bool         `json:"by_rules"`
	HeldBy  *RequireHold `json:"held_by,omitempty"`
}

// RequireRelease is what a release does with a program.
type RequireRelease struct {
	Release string `json:"release"`
	// Outcome is loads, refused, unknown, or not asked (only with --no-check).
	Outcome string   `json:"outcome"`
	ByRules bool     `json:"by_rules"`
	Types   []string `json:"types"`
	Update  string   `json:"update,omitempty"`
	Reason  string   `json:"reason,omitempty"`
}

// NewRequireDocument describes what objects need. atLeast is the release they must load on, 0 for
// none; optional programs count only if optional is set.
func NewRequireDocument(results []*minkernel.Result, atLeast uapi.Release, optional bool) *RequireDocument {
	d := &RequireDocument{Schema: Schema, Kind: "require", Objects: []RequireObject{}}
	if atLeast != 0 {
		d.AtLeast = atLeast.String()
	}
	for _, r := range results {
		o := requireObject(r, optional)
		for i := range r.Programs {
			p := &r.Programs[i]
			if p.Optional && !optional {
				continue
			}
			status := requireStatus(r, p, atLeast)
			d.Exit = exitcode.Worse(d.Exit, status.Exit())
			if atLeast != 0 && status != machine.StatusOK {
				o.Fails = append(o.Fails, p.Name)
			}
		}
		for i, c := range r.Columns {
			if u := updateOfAll(r, i, optional); u != "" && atLeast != 0 && c.Release.Has(atLeast) {
				o.Updates = append(o.Updates, u)
			}
		}
		d.Objects = append(d.Objects, o)
	}
	return d
}

// requireStatus is the outcome of a program: on the releases from atLeast on, or if that is 0, on
// the best one.
func requireStatus(r *minkernel.Result, p *minkernel.Program, atLeast uapi.Release) machine.Status {
	status := machine.StatusOK
	for i := range p.Answers {
		if atLeast != 0 && !r.Columns[i].Release.Has(atLeast) {
			continue
		}
		switch p.Answers[i].Outcome {
		case minkernel.Refused:
			status = machine.StatusRefused
		case minkernel.Unknown:
			if status == machine.StatusOK {
				status = machine.StatusNotSimulated
			}
		case minkernel.Loads, minkernel.NotAsked:
		}
	}
	if atLeast == 0 && p.Oldest >= 0 {
		return machine.StatusOK
	}
	return status
}

func requireObject(r *minkernel.Result, optional bool) RequireObject {
	o := RequireObject{Object: r.Object, Kernels: []string{}, Releases: []string{}, Programs: []RequireProgram{}}
	for i := range r.Columns {
		c := &r.Columns[i]
		o.Releases = append(o.Releases, c.Release.String())
		for _, k := range c.Kernels {
			o.Kernels = append(o.Kernels, k.Name)
		}
	}
	oldest, from := 0, 0
	for i := range r.Programs {
		p := &r.Programs[i]
		o.Programs = append(o.Programs, requireProgram(r, p))
		if p.Optional && !optional {
			continue
		}
		o.counted = true
		if p.From < 0 {
			from = len(r.Columns)
		}
		from = max(from, p.From)
	}
	for oldest < len(r.Columns) && !allLoad(r, oldest, optional) {
		oldest++
	}
	if !o.counted {
		return o
	}
	o.Oldest, o.From = releaseAt(r, oldest), releaseAt(r, from)
	if o.Oldest != "" {
		o.Update = updateOfAll(r, oldest, optional)
	}
	return o
}

// updateOfAll is the first update of a release that loads all programs that count, "" if its first
// version does.
func updateOfAll(r *minkernel.Result, column int, optional bool) string {
	last := minkernel.Answer{}
	for i := range r.Programs {
		p := &r.Programs[i]
		if a := &p.Answers[column]; (!p.Optional || optional) && a.Patch > last.Patch {
			last.Patch = a.Patch
		}
	}
	return updateOf(releaseAt(r, column), &last)
}

// allLoad reports whether a release loads all programs that count.
func allLoad(r *minkernel.Result, column int, optional bool) bool {
	for i := range r.Programs {
		p := &r.Programs[i]
		a := p.Answers[column].Outcome
		if (!p.Optional || optional) && a != minkernel.Loads && !(a == minkernel.NotAsked && p.Oldest >= 0 && column > p.Oldest) {
			return false
		}
	}
	return true
}

func releaseAt(r *minkernel.Result, column int) string {
	if column < 0 || column >= len(r.Columns) {
		return ""
	}
	return r.Columns[column].Release.String()
}

func requireProgram(r *minkernel.Result, p *minkernel.Program) RequireProgram {
	out := RequireProgram{
		Name: p.Name, Section: p.Section, Type: p.Type.String(), Optional: p.Optional, Releases: []RequireRelease{},
		Oldest: releaseAt(r, p.Oldest), From: releaseAt(r, p.From), HeldBy: requireHold(releaseAt(r, p.HeldAt), p.Held),
	}
	if p.Oldest >= 0 {
		a := &p.Answers[p.Oldest]
		out.ByRules, out.Update = a.ByRules, updateOf(out.Oldest, a)
	}
	if n := p.Next; n != nil {
		out.Without = &RequireNext{Oldest: releaseAt(r, n.Oldest), ByRules: n.ByRules, HeldBy: requireHold(releaseAt(r, n.Oldest-1), n.Held)}
	}
	for i := range p.Answers {
		a := &p.Answers[i]
		rr := RequireRelease{Release: releaseAt(r, i), Outcome: a.Outcome.String(), ByRules: a.ByRules, Types: a.Types, Reason: a.Why}
		rr.Update = updateOf(rr.Release, a)
		if rr.Types == nil {
			rr.Types = []string{}
		}
		if a.Outcome == minkernel.Refused {
			rr.Reason = a.Hold.Text()
		}
		out.Releases = append(out.Releases, rr)
	}
	return out
}

// updateOf is the first update of a release that loads a program, "" if its first version does.
func updateOf(release string, a *minkernel.Answer) string {
	if a.Patch == 0 {
		return ""
	}
	return fmt.Sprintf("%s.%d", release, a.Patch)
}

func requireHold(release string, h *minkernel.Hold) *RequireHold {
	if h == nil {
		return nil
	}
	out := &RequireHold{Release: release, Kind: string(h.Kind), Name: h.Name, Message: h.Message, Source: h.Source, Guardable: h.Guardable()}
	if h.Since != 0 {
		out.Since = h.Since.String()
	}
	for _, r := range h.Rules {
		out.Rules = append(out.Rules, r.String())
	}
	return out
}

// Text names what is missing, with the release that brought it: "helper bpf_loop (5.17)".
func (h *RequireHold) Text() string {
	text := h.Kind + " " + h.Name
	switch minkernel.Kind(h.Kind) {
	case minkernel.Rule, minkernel.Instruction, minkernel.Refusal, minkernel.Object:
		text = h.Kind + ": " + h.Name
	case minkernel.Helper, minkernel.Kfunc, minkernel.MapType, minkernel.ProgramType, minkernel.AttachType, minkernel.Hook, minkernel.Field, minkernel.Symbol:
	}
	if h.Since != "" {
		text += " (" + h.Since + ")"
	}
	return text
}
