package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/conformance"
	"github.com/bpfrun/bpfrun/loader"
)

func (a *app) conformanceKernelCommand() *cobra.Command {
	var objects string
	cmd := &cobra.Command{
		Use:   "kernel EXPECT.json... --objects DIR [--btf KERNEL]",
		Short: "Run cases recorded from a kernel and compare everything the kernel did",
		Long: `Run cases recorded from a kernel with BPF_PROG_TEST_RUN, and compare return values, packets,
contexts, checks, global variables, maps, events and trace output.

The target behaves as the kernel that was recorded, unless --kernel-version says otherwise. A line is
printed for each difference; the last line reads "N passed, M failed". Cases that the kernel refused
to load are not judged (-v lists them). Exit code 1 when any failed.`,
		Args: atLeast(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.conformanceKernel(args, objects) },
	}
	cmd.Flags().StringVar(&objects, "objects", "", "directory of the objects; without it that of each file")
	return cmd
}

func (a *app) conformanceKernel(paths []string, objects string) error {
	ctx, stop := a.interruptible(context.Background())
	defer stop()
	sources, err := a.btfSources()
	if err != nil {
		return err
	}
	if len(sources) != 1 {
		return usagef("conformance kernel: want one --btf, got %d", len(sources))
	}
	engine, err := a.machineEngine(false)
	if err != nil {
		return err
	}
	total := conformance.CasesResult{}
	for _, path := range paths {
		cfg := conformance.CasesConfig{
			Objects: objects, Seed: a.seed, MaxInsns: a.maxInsns, Verbose: a.verbose, Open: a.openObject, Engine: engine, OnDifference: a.differ.add,
			Target: func(release string) (*loader.Target, error) { return a.recordedTarget(sources[0], release) },
		}
		if cfg.Objects == "" {
			cfg.Objects = filepath.Dir(path)
		}
		r, err := conformance.Cases(ctx, path, cfg, a.stdout)
		if err != nil {
			return codeError{exitCode(err), err}
		}
		total.Passed += r.Passed
		total.Failed += r.Failed
		total.Refused += r.Refused
	}
	if total.Refused > 0 && !a.quiet {
		fmt.Fprintf(a.stdout, "%d not judged: the kernel refused to load them\n", total.Refused)
	}
	fmt.Fprintln(a.stdout, total.Summary())
	if total.Failed > 0 {
		a.code = exitExpectation
	}
	return nil
}

// recordedTarget is a target that behaves as the kernel cases were recorded on.
func (a *app) recordedTarget(s btfSource, release string) (*loader.Target, error) {
	t, err := a.target(s)
	if err != nil || a.kernelVersion != "" {
		return t, err
	}
	if _, v, ok := loader.ParseRelease(release); ok {
		loader.WithVersion(v)(t)
	}
	return t, nil
}
