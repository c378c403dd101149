package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/ids"
	"github.com/bpfrun/bpfrun/internal/app/report"
)

// btfIDsCommand is bpfrun btf ids.
type btfIDsCommand struct {
	*console
	kernels *kernelFlags

	idFlags
}

func newBTFIDsCommand(a *app) *cobra.Command {
	c := &btfIDsCommand{console: &a.console, kernels: &a.kernels}
	cmd := &cobra.Command{
		Use:   "ids FILE",
		Short: "Show the lists and sets of .BTF_ids by name and kind, checked against BTF",
		Long: `Show the lists and sets of ids in .BTF_ids of a kernel or module, with the flags of kfuncs, and their errors: types that are
missing or of another kind, ids that lead to another type, sets that are not sorted. The file must have its symbols.

The BTF is the file's own, or that of --types; for a module, --base is the kernel's. Exit code 1 on any error.`,
		Example: "  bpfrun btf ids vmlinux\n  bpfrun btf ids module.ko --base vmlinux",
		Args:    exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			s, spec, err := c.open(c.kernels, args[0])
			if err != nil {
				return err
			}
			doc := report.NewBTFIDsDocument(s, spec)
			c.code = doc.Exit
			if c.json {
				return report.WriteJSON(c.stdout, doc)
			}
			return report.WriteBTFIDs(c.stdout, doc)
		},
	}
	c.idFlags.add(cmd)
	return cmd
}

// idFlags select the BTF that ids refer to.
type idFlags struct{ types, base string }

func (f *idFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.types, "types", "", "`BTF` that the ids refer to, if the file has none")
	cmd.Flags().StringVar(&f.base, "base", "", "`BTF` of the kernel, when the types are the split BTF of a module")
}

// open reads a file's .BTF_ids and the BTF they refer to.
func (f *idFlags) open(kernels *kernelFlags, path string) (*ids.Section, *btf.Spec, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, usageError{err}
	}
	s, err := ids.Read(file)
	if err != nil {
		return nil, nil, codeError{exitLoad, fmt.Errorf("%s: %w", filepath.Base(path), err)}
	}
	types := f.types
	if types == "" {
		types = path
	}
	spec, err := kernels.openBTF(types, f.base)
	return s, spec, err
}

// btfResolveIDsCommand is bpfrun btf resolve-ids.
type btfResolveIDsCommand struct {
	*console
	kernels *kernelFlags

	idFlags
	output string
}

func newBTFResolveIDsCommand(a *app) *cobra.Command {
	c := &btfResolveIDsCommand{console: &a.console, kernels: &a.kernels}
	cmd := &cobra.Command{
		Use:   "resolve-ids FILE -o OUT",
		Short: "Write the ids of .BTF_ids as resolve_btfids does",
		Long: `Write a copy of a kernel's or module's ELF file with the ids in .BTF_ids filled in and its sets counted and sorted, as
resolve_btfids does in the kernel's build. Missing types get id 0 and are listed, with exit code 1.`,
		Example: "  bpfrun btf resolve-ids module.ko --base vmlinux -o resolved.ko",
		Args:    exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if c.output == "" {
				return usagef("btf resolve-ids needs -o OUT")
			}
			s, spec, err := c.open(c.kernels, args[0])
			if err != nil {
				return err
			}
			file, missing, err := s.Resolve(spec)
			if err != nil {
				return codeError{exitLoad, fmt.Errorf("%s: %w", filepath.Base(args[0]), err)}
			}
			for _, e := range missing {
				c.note("%s %s is not in the BTF: its id is 0", e.Kind, e.Name)
				c.code = exitExpectation
			}
			return writeFile(c.output, func(w io.Writer) error { _, err := w.Write(file); return err })
		},
	}
	c.idFlags.add(cmd)
	cmd.Flags().StringVarP(&c.output, "output", "o", "", "`FILE` to write")
	return cmd
}
