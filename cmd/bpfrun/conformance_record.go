package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/conformance"
	"github.com/bpfrun/bpfrun/conformance/record"
	"github.com/bpfrun/bpfrun/loader"
)

func (a *app) recordCasesCommand() *cobra.Command {
	var output string
	var compress bool
	cmd := &cobra.Command{
		Use:   "cases OBJECT... -o DIR",
		Short: "Run an object's programs on the running kernel and write cases for conformance kernel",
		Long: `Run an object's programs on this machine's kernel with BPF_PROG_TEST_RUN and write what they did, one NAME.json beside
each other in DIR, which conformance kernel compares with. Needs root; nothing is attached or pinned.

Every program whose name begins with "t_" is a case. An object may say more in two sections of strings, which
no loader looks at: "cases" has cases in the form of the file without what is expected (inputs, several runs, time to settle);
"checks" has "INDEX:NAME", the names of the elements of the global array R.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.recordCases(args, output, compress) },
	}
	cmd.Flags().StringVarP(&output, "output", "o", ".", "directory of the files")
	cmd.Flags().BoolVarP(&compress, "gzip", "z", false, "write NAME.json.gz")
	return cmd
}

func (a *app) recordCases(paths []string, dir string, compress bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	spec, err := btf.LoadHost()
	if err != nil {
		return codeError{exitNotSimulated, fmt.Errorf("record cases: the running kernel's types: %w", err)}
	}
	target := loader.NewTarget("linux-"+record.Release(), spec)
	for _, path := range paths {
		obj, err := a.openObject(path)
		if err != nil {
			return err
		}
		file, err := record.Plan(obj)
		if err != nil {
			return usageError{err}
		}
		if err := record.Cases(ctx, obj, target, file); err != nil {
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
		a.note("%s: %s", obj.Name, recorded(file))
	}
	return nil
}

// recorded counts the cases of a file.
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
