package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/conformance"
	"github.com/bpfrun/bpfrun/conformance/record"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// recordCasesCommand is bpfrun conformance record cases.
type recordCasesCommand struct {
	*console
	objects *objectFlags
	sim     *machineFlags

	output        string
	compress, all bool
}

func newRecordCasesCommand(a *app) *cobra.Command {
	c := &recordCasesCommand{console: &a.console, objects: &a.objects, sim: &a.sim}
	cmd := &cobra.Command{
		Use:     "cases OBJECT... -o DIR",
		Example: "  sudo bpfrun conformance record cases prog.o -o recorded",
		Short:   "Run an object's programs on the running kernel and write cases for conformance kernel",
		Long: `Run an object's programs on this machine's kernel with BPF_PROG_TEST_RUN and write the results for conformance kernel, one
NAME.json for each object in DIR. Needs root; nothing is attached or pinned.

Every program whose name begins with "t_" is a case. An object may say more in two sections of strings, which
no loader looks at: "cases" has cases in the form of the file without what is expected (inputs, several runs, time to settle);
"checks" has "INDEX:NAME", the names of the elements of the global array R.`,
		Args: atLeast(1),
		RunE: func(_ *cobra.Command, args []string) error { return c.recordCases(args, c.output, c.compress, c.all) },
	}
	cmd.Flags().StringVarP(&c.output, "output", "o", ".", "directory of the files")
	cmd.Flags().BoolVar(&c.all, "all", false, "make a case of every program that ends here within 100,000 instructions; objects that the kernel refuses are reported and skipped")
	cmd.Flags().BoolVarP(&c.compress, "gzip", "z", false, "write NAME.json.gz")
	return cmd
}

func (c *recordCasesCommand) recordCases(paths []string, dir string, compress, all bool) error {
	ctx, stop := c.interruptible(context.Background())
	defer stop()
	spec, err := btf.LoadHost()
	if err != nil {
		return codeError{exitNotSimulated, fmt.Errorf("record cases: the running kernel's types: %w", err)}
	}
	target := loader.NewTarget("linux-"+record.Release(), spec)
	for _, path := range paths {
		obj, err := c.objects.open(path)
		if err != nil && all {
			c.note("skipping %s: %v", path, err)
			continue
		}
		if err != nil {
			return err
		}
		var also []string
		if all {
			if also, err = c.endsSoon(ctx, obj, target); err != nil {
				return err
			}
		}
		file, err := record.Plan(obj, also...)
		if err != nil {
			return usageError{err}
		}
		if all && len(file.Cases) == 0 {
			continue
		}
		if err := record.Cases(ctx, obj, target, file); err != nil {
			if all && ctx.Err() == nil {
				c.note("skipping %s: %v", path, err)
				continue
			}
			return codeError{exitNotSimulated, err}
		}
		text, err := json.MarshalIndent(file, "", " ")
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(filepath.Base(path), ".o") + ".json"
		if compress {
			name += ".gz"
		}
		if err := writeVectors(filepath.Join(dir, name), append(text, '\n')); err != nil {
			return err
		}
		c.note("%s: %s", obj.Name, recorded(file))
	}
	return nil
}

// recorded counts the recorded cases of a file.
func recorded(file *conformance.CaseFile) string {
	refused, checks := 0, 0
	for i := range file.Cases {
		if file.Cases[i].Expect.LoadError != "" {
			refused++
		}
		checks += len(file.Cases[i].Expect.Checks)
	}
	return fmt.Sprintf("%d cases, %d checks, %d cases refused by Linux %s", len(file.Cases), checks, refused, file.Kernel)
}

// soon is the instruction limit here for programs that may run unattended on a kernel: a program
// that runs for minutes there blocks the machine.
const soon = 100_000

// outward lists helpers that affect the whole machine and must not run in a recording.
var outward = []string{"bpf_send_signal", "bpf_send_signal_thread", "bpf_probe_write_user", "bpf_override_return", "bpf_sys_bpf", "bpf_sys_close"}

// endsSoon returns the names of the programs that end here without a fault.
func (c *recordCasesCommand) endsSoon(ctx context.Context, obj *loader.Object, target *loader.Target) ([]string, error) {
	opts := loader.LoadOptions{}
	for _, p := range obj.Programs {
		opts.Only = append(opts.Only, p.Name)
	}
	linked, err := obj.Load(target, opts)
	if err != nil {
		return nil, err
	}
	m, err := machine.New(linked, machine.Config{Seed: c.sim.seed, MaxInsns: soon})
	if err != nil {
		c.note("skipping %s: %v", obj.Name, err)
		return nil, nil
	}
	defer m.Close()
	var names []string
	for _, p := range obj.Programs {
		if !record.Runnable(p.Type) {
			continue
		}
		res, err := m.Run(ctx, p.Name, machine.Input{})
		if err != nil {
			return nil, err
		}
		reaches := slices.ContainsFunc(outward, func(h string) bool { return res.Helpers[h] > 0 })
		if res.Ran && res.Fault == nil && !reaches {
			names = append(names, p.Name)
		}
	}
	return names, nil
}
