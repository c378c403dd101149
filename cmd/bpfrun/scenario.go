package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/exitcode"
	kobject "github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// scenarioCommand is the group of commands about scenario files.
func newScenarioCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "scenario",
		Short: "Write scenario files",
		Args:  noSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newScenarioNewCommand(a), newScenarioSchemaCommand(a))
	return cmd
}

// scenarioNewCommand is bpfrun scenario new.
type scenarioNewCommand struct {
	*console
	linker
	sim *machineFlags

	out   string
	progs []string
	reach bool
}

func newScenarioNewCommand(a *app) *cobra.Command {
	c := &scenarioNewCommand{console: &a.console, linker: a.linker(), sim: &a.sim}
	cmd := &cobra.Command{
		Use:   "new OBJECT [--btf KERNEL] [-p PROGRAM]",
		Short: "Write a commented scenario for an object, with every kernel field its programs read",
		Long: `Write a scenario file for an object, to standard output or FILE. It has a run for each program: the
arguments of its hook, every kernel field the program reads, the maps it uses, and the results as
expectations. Values come from an actual default run, fields also from the object's CO-RE records.`,
		Example: "  bpfrun scenario new exec.bpf.o --btf kernel.btf -o exec.yaml",
		Args:    oneObject,
		RunE:    func(_ *cobra.Command, args []string) error { return c.scenarioNew(args[0], c.out, c.progs) },
	}
	cmd.Flags().StringVarP(&c.out, "output", "o", "", "`FILE` to write; must not exist")
	listVar(cmd.Flags(), &c.progs, "prog", "p", "only this `PROGRAM`; repeatable")
	cmd.Flags().BoolVar(&c.reach, "reach", false, "write the runs that get furthest with changed inputs, as bpfrun makes them, in place of default runs")
	return cmd
}

func (c *scenarioNewCommand) scenarioNew(path, out string, progs []string) error {
	obj, err := c.objects.open(path)
	if err != nil {
		return err
	}
	for _, name := range progs {
		if _, ok := obj.Program(name); !ok {
			return usagef("-p %s: no such program in %s (available: %s)", name, obj.Name, programNames(obj))
		}
	}
	linked, _, err := c.link(obj)
	if err != nil {
		return err
	}
	opt, err := c.sim.scenarioOptions(c.objects, nil)
	if err != nil {
		return err
	}
	ctx, stop := c.interruptible(context.Background())
	defer stop()
	opt.Verify = c.sim.verifiesEach(ctx)
	opt.Reach = c.reach
	var text bytes.Buffer // buffered, so that an incomplete file is never left behind
	if err := scenario.Skeleton(ctx, &text, linked, pathFrom(filepath.Dir(out), path), progs, opt); err != nil {
		return err
	}
	if out == "" {
		_, err := text.WriteTo(c.stdout)
		return err
	}
	f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return usagef("-o %s: the file exists (choose another name, or delete it first)", out)
	}
	if err != nil {
		return usageError{err}
	}
	_, err = text.WriteTo(f)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(out)
		return usageError{err}
	}
	return nil
}

// pathFrom returns a path relative to dir, as a file there would name it. Absolute paths are
// unchanged.
func pathFrom(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.ToSlash(path)
	}
	base, err1 := filepath.Abs(dir)
	abs, err2 := filepath.Abs(path)
	if err1 != nil || err2 != nil {
		return path
	}
	rel, err := filepath.Rel(base, abs)
	if err != nil {
		return filepath.ToSlash(abs)
	}
	return filepath.ToSlash(rel)
}

// scenarioSchemaCommand is bpfrun scenario schema.
type scenarioSchemaCommand struct {
	*console
}

func newScenarioSchemaCommand(a *app) *cobra.Command {
	c := &scenarioSchemaCommand{console: &a.console}
	return &cobra.Command{
		Use:     "schema",
		Example: "  bpfrun scenario schema >scenario.schema.json",
		Short:   "Print the JSON Schema of scenario files, for editors",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := c.stdout.Write(scenario.Schema())
			return err
		},
	}
}

// runScenario runs a scenario file with a given object and prints the results like run.
func (c *runCommand) runScenario(objects []string, path string) error {
	if len(objects) != 1 {
		return usagef("-s: want one object, got %d", len(objects))
	}
	opt, err := c.sim.scenarioOptions(c.objects, c.collected)
	if err != nil {
		return err
	}
	table, err := c.table()
	if err != nil {
		return err
	}
	file, err := scenario.ParseFile(path)
	if err != nil {
		return usageError{err}
	}
	obj, err := c.objects.open(objects[0])
	if err != nil {
		return err
	}
	sources, err := c.kernels.sourcesFor(file)
	if err != nil {
		return err
	}
	ctx, stop := c.interruptible(context.Background())
	defer stop()
	opt.Verify = c.sim.verifiesEach(ctx)
	all := report.Documents{Schema: report.Schema}
	watch := c.silentProgress("kernels", len(sources))
	defer watch.end()
	for _, s := range sources {
		watch.add(1)
		target, err := c.kernels.target(s)
		if err != nil {
			return err
		}
		opt.Types = kobject.NewTypes()
		doc, err := c.scenarioDocument(ctx, file, obj, target, s, opt)
		if err != nil {
			return err
		}
		all.Results = append(all.Results, doc)
		all.Exit = exitcode.Worse(all.Exit, doc.Exit)
		if !c.json {
			if err := c.showScenario(doc, table, len(all.Results) > 1); err != nil {
				return err
			}
		}
	}
	return c.finish(all)
}

func (c *runCommand) showScenario(doc *report.RunDocument, table report.TableOptions, another bool) error {
	if another {
		visible.Fprintln(c.stdout)
	}
	return report.WriteTable(c.stdout, doc, table)
}

// scenarioDocument runs a scenario on one target.
func (c *runCommand) scenarioDocument(ctx context.Context, file *scenario.File, obj *loader.Object, target *loader.Target, s btfSource, opt scenario.Options) (*report.RunDocument, error) {
	r, err := scenario.Open(file, obj, target, opt)
	if err != nil {
		var mistake *scenario.Error
		if errors.As(err, &mistake) || errors.Is(err, loader.ErrOption) {
			return nil, usageError{err}
		}
		return nil, codeError{exitLoad, err}
	}
	defer r.Close()
	doc := report.NewRunDocument(r.Machine().Linked(), s.Path)
	doc.Scenario = file.Path
	var hooks report.HookCount
	runs, skipped, why := 0, 0, ""
	_, err = r.All(ctx, func(res *scenario.Result) {
		doc.AddScenario(r.Machine(), res)
		runs++
		if res.Skipped {
			skipped++
			why = cmp.Or(why, report.NewTestCase(res).Skipped)
		}
		doc.Exit = exitcode.Worse(doc.Exit, report.ScenarioExit(res))
		hooks.Add(report.NewTestCase(res).Status)
	})
	if err != nil {
		return nil, usageError{err}
	}
	doc.Finish(r.Machine())
	if c.withMaps() {
		doc.AddMaps(r.Machine())
	}
	doc.Exit = exitcode.Worse(doc.Exit, hooks.Exit(opt.Strict))
	if runs > 0 && skipped == runs { // `test` counts them, here nothing happened that was asked for
		doc.NothingRan(fmt.Errorf("%s: none of its runs can run on %s: %s", file.Path, target.Name, why))
	}
	return doc, nil
}
