package builds

import (
	"context"
	"slices"

	"github.com/bpfrun/bpfrun/internal/app/minkernel"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// Config says what is compared. The zero value compares verdicts, costs and default runs.
type Config struct {
	// Options are those of all loads.
	Options loader.LoadOptions
	// Only are the programs to compare; all if it is empty.
	Only []string
	// Static leaves out the runs.
	Static bool
	// Machine configures the machines of default runs. Both builds get the same seed; the clock
	// stands still, so that a call more or less of a helper does not change what later ones return.
	Machine machine.Config
	// Scenarios are run on both builds, with the options Scenario.
	Scenarios []*scenario.File
	Scenario  scenario.Options
	// OldNeeds and NewNeeds are what the programs of the builds need, nil if nobody asked.
	OldNeeds, NewNeeds *minkernel.Result
}

// Comparison is what two builds have in common and what not, on one kernel.
type Comparison struct {
	Programs []Program
	Maps     []Map
	// Left are inputs that could not be run on both builds, with the reason.
	Left []Left
}

// Program is a program of one or both builds.
type Program struct {
	Name string
	// Old and New are what it is in each build, nil if the build lacks it.
	Old, New *Facts
	// Inputs counts those that were run on both builds.
	Inputs int
	// Differences are what inputs made one build do and the other not.
	Differences []Difference
}

// Difference is an input with different results.
type Difference struct {
	Input string // "default input", "FILE: RUN"
	Text  string
}

// Left is what was not compared.
type Left struct{ Program, Input, Why string }

// defaultInput names the input of a run that nothing describes.
const defaultInput = "default input"

// side is one of the builds on the kernel.
type side struct {
	obj     *loader.Object
	linked  *loader.Linked
	checker *verifier.Checker
	needs   *minkernel.Result
	// scenario is the object as the last scenario linked it.
	scenario *loader.Linked
}

// Compare compares two builds on a kernel. The error is that of ctx, or about the options
// ([loader.Error]) or the scenarios ([scenario.Error]).
func Compare(ctx context.Context, older, newer *loader.Object, target *loader.Target, cfg Config) (*Comparison, error) {
	a, err := open(older, target, &cfg, cfg.OldNeeds)
	if err != nil {
		return nil, err
	}
	b, err := open(newer, target, &cfg, cfg.NewNeeds)
	if err != nil {
		return nil, err
	}
	c := &Comparison{Maps: compareMaps(a.linked, b.linked)}
	for _, name := range names(older, newer) {
		if len(cfg.Only) > 0 && !slices.Contains(cfg.Only, name) {
			continue
		}
		p := Program{Name: name}
		if p.Old, err = a.facts(ctx, name); err != nil {
			return nil, err
		}
		if p.New, err = b.facts(ctx, name); err != nil {
			return nil, err
		}
		if p.Old != nil || p.New != nil {
			c.Programs = append(c.Programs, p)
		}
	}
	if cfg.Static {
		return c, nil
	}
	if err := c.defaultRuns(ctx, a, b, cfg.Machine); err != nil {
		return nil, err
	}
	for _, f := range cfg.Scenarios {
		if err := c.scenario(ctx, a, b, f, cfg.Scenario); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// open links a build.
func open(obj *loader.Object, target *loader.Target, cfg *Config, n *minkernel.Result) (*side, error) {
	opts := cfg.Options
	opts.Optional = true
	linked, err := obj.Load(target, opts)
	if err != nil {
		return nil, err
	}
	return &side{obj: obj, linked: linked, checker: verifier.NewChecker(linked, verifier.Options{}), needs: n}, nil
}

// names are the programs of both builds, in the order of the newer one; those that it lacks come
// last.
func names(older, newer *loader.Object) []string {
	var out []string
	for _, o := range []*loader.Object{newer, older} {
		for _, p := range o.Programs {
			if !slices.Contains(out, p.Name) {
				out = append(out, p.Name)
			}
		}
	}
	return out
}

// program returns the program of a name.
func (c *Comparison) program(name string) *Program {
	for i := range c.Programs {
		if c.Programs[i].Name == name {
			return &c.Programs[i]
		}
	}
	return nil
}
