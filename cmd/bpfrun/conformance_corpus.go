package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/conformance/corpus"
	"github.com/bpfrun/bpfrun/internal/app/pass"
	"github.com/bpfrun/bpfrun/internal/app/report"
	kobject "github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// corpusDocument is the JSON of conformance corpus.
type corpusDocument struct {
	Schema  string           `json:"schema"`
	Exit    int              `json:"exit"`
	Summary []corpus.Summary `json:"summary"`
	Rows    []*corpus.Row    `json:"rows"`
}

// corpusOptions control how objects are measured and shown.
type corpusOptions struct{ optional, brief, projects bool }

// conformanceCorpusCommand is bpfrun conformance corpus.
type conformanceCorpusCommand struct {
	*console
	linker
	sim *machineFlags

	patterns     []string
	into         string
	settingsFile string
	settings     corpus.Settings
	corpusOptions
}

func newConformanceCorpusCommand(a *app) *cobra.Command {
	c := &conformanceCorpusCommand{console: &a.console, linker: a.linker(), sim: &a.sim}
	cmd := &cobra.Command{
		Use:   "corpus --objects GLOB --btf GLOB",
		Short: "Run many objects on many kernels' types and print the results as Markdown",
		Long: `Run every program of many objects on many kernels' types, with default contexts, and print Markdown tables:
the status of the programs, the share of the reachable instructions that were executed, and the kernel
fields read. Objects of one directory share a table. Exit code 4 when a program faulted; refusals are results.`,
		Example: "  bpfrun conformance corpus --objects 'objects/*.o' --btf 'kernels/*.btf' --into CONFORMANCE.md",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return c.runCorpus(c.patterns, c.into) },
	}
	f := cmd.Flags()
	listVar(f, &c.patterns, "objects", "", "object files: a path or a glob; repeatable")
	f.BoolVar(&c.optional, "optional", false, "run optional programs too, of which a test loads one at a time")
	f.BoolVar(&c.brief, "brief", false, "print totals and reasons, without the table of objects")
	f.BoolVar(&c.projects, "projects", false, "print one row for each directory: how many programs run to the end on at least one of the kernels")
	f.StringVar(&c.settingsFile, "settings", "", "what user space does with objects: a `FILE` with lines of OBJECT and type SECTION=TYPE, map-size MAP=N, refused PROGRAM, or not-loaded *")
	f.StringVar(&c.into, "into", "", "replace the corpus section of this Markdown FILE instead of printing")
	return cmd
}

func (c *conformanceCorpusCommand) runCorpus(patterns []string, into string) error {
	if c.brief && c.projects {
		return usagef("conformance corpus: --brief and --projects print different tables: choose one")
	}
	objects, err := corpusObjects(patterns)
	if err != nil {
		return err
	}
	sources, err := c.kernels.sources()
	if err != nil {
		return err
	}
	if c.settingsFile != "" {
		f, err := os.Open(c.settingsFile)
		if err != nil {
			return usagef("--settings: %w", err)
		}
		defer f.Close()
		if c.settings, err = corpus.ReadSettings(f); err != nil {
			return usagef("--settings %s: %w", c.settingsFile, err)
		}
	}
	ctx, stop := c.interruptible(context.Background())
	defer stop()
	rows := make([]*corpus.Row, 0, len(objects)*len(sources))
	watch := c.progress("kernels", len(sources))
	defer watch.end()
	for _, s := range sources {
		watch.add(1)
		more, err := c.corpusOn(ctx, objects, s)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
	}
	summary := corpus.Summarise(rows)
	if slices.ContainsFunc(summary, func(s corpus.Summary) bool { return s.Faults > 0 }) {
		c.code = exitFault
	}
	if c.json {
		return report.WriteJSON(c.stdout, corpusDocument{report.Schema, c.code, summary, rows})
	}
	write := corpus.Write
	switch {
	case c.brief:
		write = corpus.WriteBrief
	case c.projects:
		write = corpus.WriteProjects
	}
	if into == "" {
		return write(c.stdout, rows)
	}
	var section bytes.Buffer
	if err := write(&section, rows); err != nil {
		return err
	}
	if err := corpus.Paste(into, section.Bytes()); err != nil {
		return usageError{err}
	}
	return nil
}

func corpusObjects(patterns []string) ([]string, error) {
	if len(patterns) == 0 {
		return nil, usagef("conformance corpus: --objects is missing: want a path or a glob")
	}
	var out []string
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil {
			return nil, usagef("--objects %q: %w", p, err)
		}
		if len(found) == 0 {
			return nil, usagef("--objects %s: no such file", p)
		}
		out = append(out, found...)
	}
	return out, nil
}

// corpusOn measures all objects on one target concurrently. Rows are in the order of the objects.
func (c *conformanceCorpusCommand) corpusOn(ctx context.Context, paths []string, s btfSource) ([]*corpus.Row, error) {
	target, err := c.kernels.target(s)
	if err != nil {
		return nil, err
	}
	types := kobject.NewTypes()
	serve := func(linked *loader.Linked, m *machine.Machine) (func(), error) {
		return pass.ServeBPF(linked, m, machine.Config{Seed: c.sim.seed}, c.noteText)
	}
	paths = slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		s := c.settings[settingsName(p)]
		return s != nil && s.NotLoaded
	})
	rows, errs := make([]*corpus.Row, len(paths)), make([]error, len(paths))
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				rows[i], errs[i] = c.corpusRow(ctx, paths[i], target, corpus.Config{Seed: c.sim.seed, Types: types, Optional: c.optional, Serve: serve, Unverified: c.sim.noVerify})
			}
		})
	}
	for i := range paths {
		next <- i
	}
	close(next)
	workers.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", paths[i], err)
		}
	}
	return rows, nil
}

// settingsName is an object's name in a settings file.
func settingsName(path string) string { return strings.TrimSuffix(filepath.Base(path), ".o") }

func (c *conformanceCorpusCommand) corpusRow(ctx context.Context, path string, target *loader.Target, cfg corpus.Config) (*corpus.Row, error) {
	row := &corpus.Row{Object: filepath.Base(path), Target: target.Name, Programs: []corpus.Program{}, Fields: []string{}}
	cfg.Settings = c.settings[settingsName(path)]
	obj, err := c.objects.openWith(path, cfg.Settings.Open()...)
	var bad codeError
	switch {
	case errors.As(err, &bad):
		row.Err = err.Error()
	case err != nil:
		return nil, err
	default:
		if row, err = corpus.Measure(ctx, obj, target, cfg); err != nil {
			return nil, err
		}
	}
	row.Package = filepath.Base(filepath.Dir(path))
	return row, nil
}
