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
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/kernels"
	"github.com/bpfrun/bpfrun/internal/visible"
)

func newBTFCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "btf",
		Short: "Work with BTF: dump, show layouts, find types, compare, minimise, relocate",
		Long: `Work with BTF. FILE is raw BTF or an ELF file with .BTF, also compressed (.xz .gz .zst, .btf.tar.xz);
"host" is the running kernel, "embedded" the kernel types built into bpfrun.`,
		Args: noSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBTFDumpCommand(a), newBTFShowCommand(a), newBTFFindCommand(a), newBTFDiffCommand(a), newBTFCheckCommand(a), newBTFMinCommand(a), newBTFRelocateCommand(a), newBTFIDsCommand(a), newBTFResolveIDsCommand(a),
		newBTFLayoutCommand(a), newBTFSizeCommand(a), newBTFCCommand(a), newBTFWhoCommand(a),
		newBTFGenCommand(a), newBTFDedupCommand(a))
	return cmd
}

// openBTF reads one BTF file named on the command line, as split BTF if base is given.
func (k *kernelFlags) openBTF(arg, base string) (*btf.Spec, error) {
	sources, err := k.expand("", arg)
	if err != nil {
		return nil, err
	}
	if len(sources) != 1 {
		return nil, usagef("%s matches %d files; this command takes one", arg, len(sources))
	}
	if base == "" {
		spec, err := sources[0].load(k.types())
		if err != nil {
			return nil, btfError(arg, err)
		}
		return spec, nil
	}
	below, err := k.openBTF(base, "")
	if err != nil {
		return nil, err
	}
	spec, err := k.types().Load(sources[0].Path, below)
	if err == nil && spec.StandsAlone() {
		err = errStandsAlone
	}
	if err != nil {
		return nil, btfError(arg, err)
	}
	return spec, nil
}

// btfError returns the error of a file with its exit code.
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

// lookup finds types by the names that users type. An unknown name is a usage error.
func lookup(spec *btf.Spec, text string) ([]btf.ID, string, error) {
	ids, path, err := spec.Lookup(text)
	if err != nil {
		return nil, "", usageError{err}
	}
	return ids, path, nil
}

// btfDumpCommand is bpfrun btf dump.
type btfDumpCommand struct {
	*console
	kernels *kernelFlags

	format, base string
}

func newBTFDumpCommand(a *app) *cobra.Command {
	c := &btfDumpCommand{console: &a.console, kernels: &a.kernels}
	cmd := &cobra.Command{
		Use:     "dump FILE [TYPE...]",
		Example: "  bpfrun btf dump embedded task_struct --format c",
		Short:   "Print all or some types: raw, as bpftool does, or as a C header",
		Args:    atLeast(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if c.format != "raw" && c.format != "c" {
				return usagef("--format %q: want raw or c", c.format)
			}
			spec, err := c.kernels.openBTF(args[0], c.base)
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
			case c.json && c.format == "c":
				return usagef("btf dump --format c has no --json: it writes a C header")
			case c.json && len(ids) == 0:
				doc := report.NewBTFTypesDocument()
				if err := doc.AddAll(spec); err != nil {
					return btfError(args[0], err)
				}
				return report.WriteJSON(c.stdout, doc)
			case c.json:
				doc := report.NewBTFTypesDocument()
				for _, name := range args[1:] {
					found, _, err := lookup(spec, name)
					if err == nil {
						err = doc.Add(spec, name, found, "")
					}
					if err != nil {
						return err
					}
				}
				return report.WriteJSON(c.stdout, doc)
			case c.format == "c":
				return btf.DumpC(c.stdout, spec, ids)
			case len(ids) == 0:
				return btf.DumpRaw(c.stdout, spec)
			}
			for _, id := range ids {
				if err := btf.DumpRawType(c.stdout, spec, id); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&c.format, "format", "raw", "`FORMAT`: raw or c")
	cmd.Flags().StringVar(&c.base, "base", "", "`BTF` of the kernel, when FILE is the split BTF of a module")
	return cmd
}

// btfShowCommand is bpfrun btf show.
type btfShowCommand struct {
	*console
	kernels *kernelFlags

	base   string
	expand bool
}

func newBTFShowCommand(a *app) *cobra.Command {
	c := &btfShowCommand{console: &a.console, kernels: &a.kernels}
	cmd := &cobra.Command{
		Use:   "show FILE TYPE[.FIELD...]",
		Short: "Show the layout of a type (offsets, sizes, holes, bitfields) or the place of a field",
		Example: "  bpfrun btf show vmlinux task_struct\n  bpfrun btf show embedded task_struct.cred\n" +
			"  bpfrun btf show embedded 'enum bpf_map_type'",
		Args: atLeast(2),
		RunE: func(_ *cobra.Command, args []string) error {
			spec, err := c.kernels.openBTF(args[0], c.base)
			if err != nil {
				return err
			}
			doc := report.NewBTFTypesDocument()
			for i, text := range args[1:] {
				ids, path, err := lookup(spec, text)
				if err != nil {
					return err
				}
				if c.json {
					if err := doc.Add(spec, text, ids, path); err != nil {
						return usageError{err}
					}
					continue
				}
				if i > 0 {
					visible.Fprintln(c.stdout)
				}
				if err := report.WriteType(c.stdout, spec, ids, path, btf.LayoutOptions{Expand: c.expand}); err != nil {
					return usageError{err}
				}
			}
			if c.json {
				return report.WriteJSON(c.stdout, doc)
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&c.expand, "expand", "E", false, "expand the members of named structs and unions")
	cmd.Flags().StringVar(&c.base, "base", "", "`BTF` of the kernel, when FILE is the split BTF of a module")
	return cmd
}

// btfFindCommand is bpfrun btf find.
type btfFindCommand struct {
	*console
	kernels *kernelFlags

	base string
}

func newBTFFindCommand(a *app) *cobra.Command {
	c := &btfFindCommand{console: &a.console, kernels: &a.kernels}
	cmd := &cobra.Command{
		Use:     "find FILE NAME...",
		Example: "  bpfrun btf find embedded 'sk_buff*' task_struct",
		Short:   "List the ids of types by name; * and ? match in names",
		Args:    atLeast(2),
		RunE: func(_ *cobra.Command, args []string) error {
			spec, err := c.kernels.openBTF(args[0], c.base)
			if err != nil {
				return err
			}
			doc := report.NewBTFTypesDocument()
			for _, pattern := range args[1:] {
				var n int
				if c.json {
					n, err = doc.AddFound(spec, pattern)
				} else {
					n, err = report.WriteFound(c.stdout, spec, pattern)
				}
				if err != nil {
					return usagef("%q: %w", pattern, err)
				}
				if n == 0 {
					c.note("%s: no type has this name", pattern)
					c.code = exitExpectation
				}
			}
			if doc.Exit = c.code; c.json {
				return report.WriteJSON(c.stdout, doc)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&c.base, "base", "", "`BTF` of the kernel, when FILE is the split BTF of a module")
	return cmd
}

// btfDiffCommand is bpfrun btf diff.
type btfDiffCommand struct {
	*console
	kernels *kernelFlags
}

func newBTFDiffCommand(a *app) *cobra.Command {
	c := &btfDiffCommand{console: &a.console, kernels: &a.kernels}
	return &cobra.Command{
		Use:   "diff A B [TYPE...]",
		Short: "Show which types, members, values and prototypes differ between two BTFs",
		Long: `Show which types, members, values and prototypes differ between two BTFs. Without TYPE all named types
are compared. Exit code 1 when there are differences.`,
		Example: "  bpfrun btf diff linux-5.10.btf linux-6.12.btf task_struct\n  bpfrun btf diff A B 'func do_unlinkat'",
		Args:    atLeast(2),
		RunE: func(_ *cobra.Command, args []string) error {
			color, err := useColor(c.color, c.stdout)
			if err != nil {
				return err
			}
			old, err := c.kernels.openBTF(args[0], "")
			if err != nil {
				return err
			}
			now, err := c.kernels.openBTF(args[1], "")
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
			c.code = doc.Exit
			if c.json {
				return report.WriteJSON(c.stdout, doc)
			}
			return report.WriteBTFDiff(c.stdout, doc, report.BTFDiffOptions{Color: color, Brief: len(args) == 2 && !c.verbose})
		},
	}
}

// btfRelocateCommand is bpfrun btf relocate.
type btfRelocateCommand struct {
	*console
	kernels *kernelFlags

	base, oldBase, output string
}

func newBTFRelocateCommand(a *app) *cobra.Command {
	c := &btfRelocateCommand{console: &a.console, kernels: &a.kernels}
	cmd := &cobra.Command{
		Use:     "relocate SPLIT --base NEWBASE -o OUT",
		Example: "  bpfrun btf relocate ext4.ko --base vmlinux-6.12 -o ext4.btf",
		Short:   "Move the split BTF of a module onto another kernel's BTF",
		Long: `Move the split BTF of a module from the kernel it was built for onto another kernel's BTF. A module's ELF
file describes its own kernel in .BTF.base; for raw split BTF name that kernel with --old-base.`,
		Args: exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if c.base == "" || c.output == "" {
				return usagef("btf relocate needs --base NEWBASE and -o OUT")
			}
			newBase, err := c.kernels.openBTF(c.base, "")
			if err != nil {
				return err
			}
			split, err := c.kernels.openBTF(args[0], c.oldBase)
			if err != nil {
				return err
			}
			if split.DistilledBase() == nil && split.Base() != nil {
				// Only the types of the old kernel that the module refers to have to be found in
				// the new one.
				if _, split, err = btf.Distill(split); err != nil {
					return btfError(args[0], err)
				}
			}
			moved, err := btf.Relocate(split, newBase)
			if err != nil {
				return codeError{exitLoad, fmt.Errorf("%s: %w", filepath.Base(args[0]), err)}
			}
			return writeFile(c.output, func(w io.Writer) error { _, err := w.Write(moved.Raw()); return err })
		},
	}
	cmd.Flags().StringVar(&c.base, "base", "", "`BTF` of the kernel to move the module onto")
	cmd.Flags().StringVar(&c.oldBase, "old-base", "", "`BTF` of the kernel the module was built for, if it has no .BTF.base")
	cmd.Flags().StringVarP(&c.output, "output", "o", "", "`FILE` to write")
	return cmd
}

// isDirectory reports whether a path names an existing directory or ends in a separator.
func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir() || path != "" && os.IsPathSeparator(path[len(path)-1])
}
