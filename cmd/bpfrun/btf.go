package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernels"
	"github.com/bpfrun/bpfrun/report"
)

func (a *app) btfCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "btf",
		Short: "Look at BTF: dump, show layouts, find types, compare, minimise, relocate",
		Long: `Look at BTF. FILE is raw BTF or an ELF file with .BTF, also compressed (.xz .gz .zst, .btf.tar.xz),
host for the running kernel, or embedded for the kernel inside of bpfrun.`,
		Args: noSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.btfDumpCommand(), a.btfShowCommand(), a.btfFindCommand(), a.btfDiffCommand(), a.btfCheckCommand(), a.btfMinCommand(), a.btfRelocateCommand(), a.btfIDsCommand(), a.btfResolveIDsCommand(),
		a.btfLayoutCommand(), a.btfSizeCommand(), a.btfCCommand(), a.btfWhoCommand(),
		a.btfGenCommand(), a.btfDedupCommand())
	return cmd
}

// openBTF reads one BTF named on the command line, on top of base when that is given.
func (a *app) openBTF(arg, base string) (*btf.Spec, error) {
	sources, err := a.expandBTF("", arg)
	if err != nil {
		return nil, err
	}
	if len(sources) != 1 {
		return nil, usagef("%s names %d files; this command takes one", arg, len(sources))
	}
	if base == "" {
		spec, err := sources[0].load(a.btfCache())
		if err != nil {
			return nil, btfError(arg, err)
		}
		return spec, nil
	}
	below, err := a.openBTF(base, "")
	if err != nil {
		return nil, err
	}
	spec, err := a.btfCache().Load(sources[0].Path, below)
	if err == nil && spec.StandsAlone() {
		err = errStandsAlone
	}
	if err != nil {
		return nil, btfError(arg, err)
	}
	return spec, nil
}

// btfError gives what is wrong with a file its exit code.
func btfError(arg string, err error) error {
	var u usageError
	if errors.As(err, &u) {
		return err
	}
	if strings.HasPrefix(err.Error(), arg+": ") {
		return codeError{exitLoad, err}
	}
	return codeError{exitLoad, fmt.Errorf("%s: %w", filepath.Base(arg), err)}
}

// lookup finds types by the names people use; a name that does not exist is a usage error.
func lookup(spec *btf.Spec, text string) ([]btf.ID, string, error) {
	ids, path, err := spec.Lookup(text)
	if err != nil {
		return nil, "", usageError{err}
	}
	return ids, path, nil
}

func (a *app) btfDumpCommand() *cobra.Command {
	var format, base string
	cmd := &cobra.Command{
		Use:   "dump FILE [TYPE...]",
		Short: "Write all types, or some: raw as bpftool does, or as a C header",
		Args:  atLeast(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if format != "raw" && format != "c" {
				return usagef("--format %q: want raw or c", format)
			}
			spec, err := a.openBTF(args[0], base)
			if err != nil {
				return err
			}
			var ids []btf.ID
			for _, name := range args[1:] {
				found, _, err := lookup(spec, name)
				if err != nil {
					return err
				}
				ids = append(ids, found...)
			}
			switch {
			case format == "c":
				return btf.DumpC(a.stdout, spec, ids)
			case len(ids) == 0:
				return btf.DumpRaw(a.stdout, spec)
			}
			for _, id := range ids {
				if err := btf.DumpRawType(a.stdout, spec, id); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", "raw", "raw or c")
	cmd.Flags().StringVar(&base, "base", "", "BTF that FILE, split BTF of a module, continues")
	return cmd
}

func (a *app) btfShowCommand() *cobra.Command {
	var base string
	var expand bool
	cmd := &cobra.Command{
		Use:   "show FILE TYPE[.FIELD...]",
		Short: "Show the layout of a type: offsets, sizes, holes, bitfields; or where a field is",
		Example: "  bpfrun btf show vmlinux task_struct\n  bpfrun btf show embedded task_struct.cred\n" +
			"  bpfrun btf show embedded 'enum bpf_map_type'",
		Args: atLeast(2),
		RunE: func(_ *cobra.Command, args []string) error {
			spec, err := a.openBTF(args[0], base)
			if err != nil {
				return err
			}
			for i, text := range args[1:] {
				if i > 0 {
					fmt.Fprintln(a.stdout)
				}
				ids, path, err := lookup(spec, text)
				if err != nil {
					return err
				}
				if err := report.WriteType(a.stdout, spec, ids, path, btf.LayoutOptions{Expand: expand}); err != nil {
					return usageError{err}
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&expand, "expand", "E", false, "write out the members of named structs and unions too")
	cmd.Flags().StringVar(&base, "base", "", "BTF that FILE, split BTF of a module, continues")
	return cmd
}

func (a *app) btfFindCommand() *cobra.Command {
	var base string
	cmd := &cobra.Command{
		Use:   "find FILE NAME...",
		Short: "List the ids of types by name; * and ? match in names",
		Args:  atLeast(2),
		RunE: func(_ *cobra.Command, args []string) error {
			spec, err := a.openBTF(args[0], base)
			if err != nil {
				return err
			}
			for _, pattern := range args[1:] {
				n, err := report.WriteFound(a.stdout, spec, pattern)
				if err != nil {
					return usagef("%q: %w", pattern, err)
				}
				if n == 0 {
					a.note("%s: no type of this name", pattern)
					a.code = exitExpectation
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&base, "base", "", "BTF that FILE, split BTF of a module, continues")
	return cmd
}

func (a *app) btfDiffCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diff A B [TYPE...]",
		Short: "Show which types, members, values and prototypes differ between two BTFs",
		Long: `Show which types, members, values and prototypes differ between two BTFs. Without TYPE all named types
are compared. Exit code 1 when there are differences.`,
		Example: "  bpfrun btf diff linux-5.10.btf linux-6.12.btf task_struct\n  bpfrun btf diff A B 'func do_unlinkat'",
		Args:    atLeast(2),
		RunE: func(_ *cobra.Command, args []string) error {
			color, err := useColor(a.color, a.stdout)
			if err != nil {
				return err
			}
			old, err := a.openBTF(args[0], "")
			if err != nil {
				return err
			}
			now, err := a.openBTF(args[1], "")
			if err != nil {
				return err
			}
			var diffs []btf.TypeDiff
			if len(args) == 2 {
				diffs = btf.Diff(old, now)
			}
			for _, text := range args[2:] {
				d, err := btf.DiffNamed(old, now, text)
				if err != nil {
					return usageError{err}
				}
				diffs = append(diffs, d...)
			}
			doc := report.NewBTFDiffDocument(kernels.FileSource(args[0]).Name, kernels.FileSource(args[1]).Name, diffs)
			if len(diffs) > 0 {
				doc.Exit = exitExpectation
			}
			a.code = doc.Exit
			if a.jsonOut {
				return report.WriteJSON(a.stdout, doc)
			}
			return report.WriteBTFDiff(a.stdout, doc, report.BTFDiffOptions{Color: color, Brief: len(args) == 2 && !a.verbose})
		},
	}
}

func (a *app) btfRelocateCommand() *cobra.Command {
	var base, oldBase, output string
	cmd := &cobra.Command{
		Use:   "relocate SPLIT --base NEWBASE -o OUT",
		Short: "Move the split BTF of a module onto another kernel's BTF",
		Long: `Move the split BTF of a module, which was made for one kernel, onto the BTF of another one. A module's ELF
file brings what it needs to know of its own kernel in .BTF.base; for raw split BTF --old-base names it.`,
		Args: exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if base == "" || output == "" {
				return usagef("btf relocate needs --base NEWBASE and -o OUT")
			}
			newBase, err := a.openBTF(base, "")
			if err != nil {
				return err
			}
			split, err := a.openBTF(args[0], oldBase)
			if err != nil {
				return err
			}
			if split.DistilledBase() == nil && split.Base() != nil {
				// Of the whole old kernel only what the module refers to has to be found again.
				if _, split, err = btf.Distill(split); err != nil {
					return btfError(args[0], err)
				}
			}
			moved, err := btf.Relocate(split, newBase)
			if err != nil {
				return codeError{exitLoad, fmt.Errorf("%s: %w", filepath.Base(args[0]), err)}
			}
			return writeFile(output, func(w io.Writer) error { _, err := w.Write(moved.Raw()); return err })
		},
	}
	cmd.Flags().StringVar(&base, "base", "", "BTF of the kernel to move it onto")
	cmd.Flags().StringVar(&oldBase, "old-base", "", "BTF of the kernel it was made for, when it has no .BTF.base")
	cmd.Flags().StringVarP(&output, "output", "o", "", "file to write")
	return cmd
}

// isDirectory reports whether a path names a directory, or will: it ends in a separator.
func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir() || path != "" && os.IsPathSeparator(path[len(path)-1])
}
