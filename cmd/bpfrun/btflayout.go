package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/kernels"
)

// btfLayoutCommand is bpfrun btf layout.
type btfLayoutCommand struct {
	*console
	kernels *kernelFlags

	base, compare string
	expand        bool
	line          int
}

func newBTFLayoutCommand(a *app) *cobra.Command {
	c := &btfLayoutCommand{console: &a.console, kernels: &a.kernels}
	cmd := &cobra.Command{
		Use:   "layout FILE TYPE [--compare FILE2]",
		Short: "Show a type's layout with cache lines, as pahole does, or compare two kernels",
		Long: `Show the members of a type with offset and size, holes, padding and cache line boundaries, as pahole does. --compare shows the
members on two kernels side by side and marks with "!" what moved, changed or is missing. Exit code 1 if anything is marked.`,
		Example: "  bpfrun btf layout vmlinux sk_buff\n  bpfrun btf layout linux-5.10.btf task_struct --compare linux-6.12.btf",
		Args:    exactly(2),
		RunE: func(_ *cobra.Command, args []string) error {
			spec, err := c.kernels.openBTF(args[0], c.base)
			if err != nil {
				return err
			}
			ids, field, err := lookup(spec, args[1])
			if err != nil {
				return err
			}
			own := report.BTFOn{Kernel: kernels.FileSource(args[0]).Name, Spec: spec, ID: ids[0]}
			switch {
			case c.json && field != "":
				return usagef("btf layout --json takes a type, not a field: %s (btf show has fields)", args[1])
			case c.json && c.compare == "":
				return c.document(args[1], own)
			case c.compare == "":
				return report.WriteType(c.stdout, spec, ids, field, btf.LayoutOptions{Expand: c.expand, CacheLine: c.line})
			}
			if field != "" {
				return usagef("--compare takes a type, not a field: %s", args[1])
			}
			other, err := c.kernels.openBTF(c.compare, "")
			if err != nil {
				return err
			}
			otherIDs, _, err := lookup(other, args[1])
			if err != nil {
				return err
			}
			if c.json {
				return c.document(args[1], own, report.BTFOn{Kernel: kernels.FileSource(c.compare).Name, Spec: other, ID: otherIDs[0]})
			}
			var b strings.Builder
			names := [2]string{kernels.FileSource(args[0]).Name, kernels.FileSource(c.compare).Name}
			if err := report.WriteLayoutComparison(&b, names[0], spec, ids[0], names[1], other, otherIDs[0]); err != nil {
				return usageError{err}
			}
			if strings.Contains(b.String(), "\n!") {
				c.code = exitExpectation
			}
			_, err = io.WriteString(c.stdout, b.String())
			return err
		},
	}
	cmd.Flags().BoolVarP(&c.expand, "expand", "E", false, "expand the members of named structs and unions")
	cmd.Flags().StringVar(&c.base, "base", "", "`BTF` of the kernel, when FILE is the split BTF of a module")
	cmd.Flags().StringVar(&c.compare, "compare", "", "`BTF` of the kernel to compare with")
	cmd.Flags().IntVar(&c.line, "cacheline", 64, "size of a cache line in bytes; 0 shows none")
	return cmd
}

// document writes the layout of structs on one kernel, or compares two kernels.
func (c *btfLayoutCommand) document(name string, on ...report.BTFOn) error {
	doc, changed, err := report.NewBTFLayoutDocument(name, on...)
	if err != nil {
		return usageError{err}
	}
	if changed {
		doc.Exit, c.code = exitExpectation, exitExpectation
	}
	return report.WriteJSON(c.stdout, doc)
}

// btfSizeCommand is bpfrun btf size.
type btfSizeCommand struct {
	*console
	kernels *kernelFlags

	base string
}

func newBTFSizeCommand(a *app) *cobra.Command {
	c := &btfSizeCommand{console: &a.console, kernels: &a.kernels}
	cmd := &cobra.Command{
		Use:     "size FILE [NAME]",
		Short:   "List structs and unions by size, with holes and padding; * and ? match in names",
		Example: "  bpfrun btf size embedded 'sk_*'",
		Args:    atLeast(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 2 {
				return usagef("want FILE and one NAME, not %d arguments", len(args))
			}
			spec, err := c.kernels.openBTF(args[0], c.base)
			if err != nil {
				return err
			}
			pattern := ""
			if len(args) == 2 {
				pattern = args[1]
			}
			doc, err := report.NewBTFSizesDocument(spec, pattern)
			if err != nil {
				return usagef("%q: %w", pattern, err)
			}
			if len(doc.Types) == 0 {
				c.note("%s: no struct or union has this name", pattern)
				doc.Exit, c.code = exitExpectation, exitExpectation
			}
			if c.json {
				return report.WriteJSON(c.stdout, doc)
			}
			return report.WriteSizes(c.stdout, doc)
		},
	}
	cmd.Flags().StringVar(&c.base, "base", "", "`BTF` of the kernel, when FILE is the split BTF of a module")
	return cmd
}

// btfCCommand is bpfrun btf c.
type btfCCommand struct {
	*console
	kernels *kernelFlags

	base, output string
	only         []string
}

func newBTFCCommand(a *app) *cobra.Command {
	c := &btfCCommand{console: &a.console, kernels: &a.kernels}
	cmd := &cobra.Command{
		Use:   "c FILE [--only TYPE...]",
		Short: "Write a vmlinux.h: all types and kfunc prototypes, or only what some types need",
		Long: `Write a C header with a kernel's types and the prototypes of its kfuncs, as bpftool does. --only limits it to some types, and
kfuncs written as "func NAME", with everything they need. BTF lists a kernel's kfuncs from 6.10 on.`,
		Example: "  bpfrun btf c vmlinux --only task_struct,sk_buff -o vmlinux.h\n  bpfrun btf c embedded --only 'func bpf_task_acquire'",
		Args:    exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			spec, err := c.kernels.openBTF(args[0], c.base)
			if err != nil {
				return err
			}
			var ids, kfuncs []btf.ID
			if len(c.only) == 0 {
				kfuncs = spec.Kfuncs()
			}
			for _, name := range c.only {
				found, field, err := lookup(spec, name)
				if err != nil {
					return err
				}
				if field != "" {
					return usagef("--only %s names a field; want its type", name)
				}
				for _, id := range found {
					if spec.Kind(id) == btf.KindFunc {
						kfuncs = append(kfuncs, id)
					} else {
						ids = append(ids, id)
					}
				}
			}
			if len(c.only) > 0 && ids == nil {
				ids = []btf.ID{}
			}
			write := func(w io.Writer) error { return btf.DumpCWithKfuncs(w, spec, ids, kfuncs) }
			if c.output != "" {
				return writeFile(c.output, write)
			}
			return write(c.stdout)
		},
	}
	cmd.Flags().StringSliceVar(&c.only, "only", nil, "only these `TYPES` and kfuncs, with what they need")
	cmd.Flags().StringVar(&c.base, "base", "", "`BTF` of the kernel, when FILE is the split BTF of a module")
	cmd.Flags().StringVarP(&c.output, "output", "o", "", "`FILE` to write (default: standard output)")
	return cmd
}

// btfWhoCommand is bpfrun btf who.
type btfWhoCommand struct {
	*console
	linker
}

func newBTFWhoCommand(a *app) *cobra.Command {
	c := &btfWhoCommand{console: &a.console, linker: a.linker()}
	cmd := &cobra.Command{
		Use:   "who FIELD OBJECT... [--btf KERNELS]",
		Short: "Show which programs use a type or field, and on which kernels it is missing",
		Long: `List the CO-RE relocations of objects that use a type, a field or an enumerator, with program and source line, and their results
on the kernels of --btf. Exit code 1 if it is missing on any of them.`,
		Example: "  bpfrun btf who sk_buff.mark *.bpf.o --btf 'kernels/*.btf'\n  bpfrun btf who task_struct prog.o --btf kernel.btf",
		Args:    atLeast(2),
		RunE:    func(_ *cobra.Command, args []string) error { return c.btfWho(args[0], args[1:]) },
	}
	return cmd
}

func (c *btfWhoCommand) btfWho(field string, paths []string) error {
	sources, err := c.kernels.sources()
	if err != nil {
		return err
	}
	doc := report.NewBTFUsesDocument(field)
	for _, path := range paths {
		obj, err := c.objects.open(path)
		if err != nil {
			return err
		}
		for _, s := range c.kernels.fitting(sources, obj.ByteOrder) {
			linked, err := c.linkOn(obj, s)
			if err != nil {
				return err
			}
			if doc.Add(linked) {
				doc.Exit = exitExpectation
			}
		}
	}
	if len(doc.Uses) == 0 {
		c.note("no relocation uses %s", field)
		doc.Exit = exitExpectation
	}
	c.code = doc.Exit
	if c.json {
		return report.WriteJSON(c.stdout, doc)
	}
	return report.WriteBTFUses(c.stdout, doc)
}
