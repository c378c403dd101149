package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/conformance"
	"github.com/bpfrun/bpfrun/loader"
)

// conformanceKernelCommand is bpfrun conformance kernel.
type conformanceKernelCommand struct {
	*console
	linker
	sim *machineFlags

	dir string
}

func newConformanceKernelCommand(a *app) *cobra.Command {
	c := &conformanceKernelCommand{console: &a.console, linker: a.linker(), sim: &a.sim}
	cmd := &cobra.Command{
		Use:     "kernel EXPECT.json... --objects DIR [--btf KERNEL]",
		Example: "  bpfrun conformance kernel recorded/cases.json --objects objects",
		Short:   "Run cases recorded from a kernel and compare everything the kernel did",
		Long: `Run cases recorded from a kernel with BPF_PROG_TEST_RUN, and compare return values, packets,
contexts, checks, global variables, maps, events and trace output.

The simulated kernel is the recorded one, unless --kernel-version names another. A line is
printed for each difference; the last line reads "N passed, M failed". Cases that the kernel refused
to load are skipped (-v lists them). Exit code 1 when any failed.`,
		Args: atLeast(1),
		RunE: func(_ *cobra.Command, args []string) error { return c.conformanceKernel(args, c.dir) },
	}
	cmd.Flags().StringVar(&c.dir, "objects", "", "directory of the objects (default: the directory of each file)")
	return cmd
}

func (c *conformanceKernelCommand) conformanceKernel(paths []string, objects string) error {
	ctx, stop := c.interruptible(context.Background())
	defer stop()
	sources, err := c.kernels.sources()
	if err != nil {
		return err
	}
	if len(sources) != 1 {
		return usagef("conformance kernel: want one --btf, got %d", len(sources))
	}
	engine, err := c.sim.engineFor(false)
	if err != nil {
		return err
	}
	total := conformance.CasesResult{}
	found := &findings{console: c.console}
	for _, path := range paths {
		cfg := conformance.CasesConfig{
			Objects: objects, Seed: c.sim.seed, MaxInsns: c.sim.maxInsns, Verbose: c.verbose, Open: c.objects.open, Engine: engine, OnDifference: c.sim.differ.add,
			Target: func(release string) (*loader.Target, error) { return c.recordedTarget(sources[0], release) },
		}
		if cfg.Objects == "" {
			cfg.Objects = filepath.Dir(path)
		}
		r, err := conformance.Cases(ctx, path, cfg, found)
		if err != nil {
			return codeError{exitCode(err), err}
		}
		total.Passed += r.Passed
		total.Failed += r.Failed
		total.Refused += r.Refused
	}
	summary := total.Summary()
	if total.Refused > 0 && !c.quiet {
		summary = fmt.Sprintf("%d skipped: the kernel refused to load them\n%s", total.Refused, summary)
	}
	return found.compared(comparisonDocument{Passed: uint64(total.Passed), Failed: uint64(total.Failed), Skipped: uint64(total.Refused)}, summary)
}

// recordedTarget returns a target that behaves like the kernel on which the cases were recorded.
func (c *conformanceKernelCommand) recordedTarget(s btfSource, release string) (*loader.Target, error) {
	t, err := c.kernels.target(s)
	if err != nil || c.kernels.version != "" {
		return t, err
	}
	if _, v, ok := loader.ParseRelease(release); ok {
		loader.WithVersion(v)(t)
	}
	return t, nil
}
