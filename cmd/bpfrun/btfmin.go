package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/loader"
)

// btfMinCommand is bpfrun btf min.
type btfMinCommand struct {
	*console
	linker

	output string
}

func newBTFMinCommand(a *app) *cobra.Command {
	c := &btfMinCommand{console: &a.console, linker: a.linker()}
	cmd := &cobra.Command{
		Use:   "min -o OUT {BTF OBJECT... | OBJECT... --btf KERNELS}",
		Short: "Reduce BTF to what the relocations of objects need",
		Long: `Reduce the BTF of one or more kernels to the types and members that the CO-RE relocations of the given
objects use, as "bpftool gen min_core_btf" does. Relocation against the small BTF gives the same result as
against the full one, except for type ids. With several kernels OUT is a directory. -v lists old and new ids.`,
		Example: "  bpfrun btf min -o small.btf vmlinux.btf tool.bpf.o\n  bpfrun btf min -o small/ *.bpf.o --btf 'kernels/*.btf.xz'",
		Args:    atLeast(1),
		RunE:    func(_ *cobra.Command, args []string) error { return c.btfMin(args, c.output) },
	}
	cmd.Flags().StringVarP(&c.output, "output", "o", "", "`FILE` to write; a directory for several kernels")
	return cmd
}

func (c *btfMinCommand) btfMin(args []string, output string) error {
	if output == "" {
		return usagef("btf min needs -o OUT")
	}
	kernels := c.kernels.btf
	if len(kernels) == 0 {
		if len(args) < 2 {
			return usagef("want BTF OBJECT..., or OBJECT... with --btf")
		}
		kernels, args = args[:1], args[1:]
	}
	var sources []btfSource
	for _, k := range kernels {
		s, err := c.kernels.expand("--btf ", k)
		if err != nil {
			return err
		}
		sources = append(sources, s...)
	}
	objects := make([]*loader.Object, len(args))
	for i, path := range args {
		var err error
		if objects[i], err = c.objects.open(path); err != nil {
			return err
		}
	}
	dir := len(sources) > 1 || isDirectory(output)
	if dir {
		if err := os.MkdirAll(output, 0o755); err != nil {
			return usageError{err}
		}
	}
	doc := report.BTFMinDocument{Schema: report.Schema, Results: []report.BTFMin{}}
	watch := c.progress("kernels", len(sources))
	defer watch.end()
	for _, s := range sources {
		watch.add(1)
		path := output
		if dir {
			path = filepath.Join(output, s.Name+".btf")
		}
		r, err := c.minimiseBTF(s, objects, path)
		if err != nil {
			return err
		}
		doc.Results = append(doc.Results, r)
	}
	if c.json {
		return report.WriteJSON(c.stdout, doc)
	}
	return report.WriteBTFMin(c.stdout, doc, c.verbose)
}

// minimiseBTF writes the small BTF of one kernel.
func (c *btfMinCommand) minimiseBTF(s btfSource, objects []*loader.Object, path string) (report.BTFMin, error) {
	spec, err := s.load(c.kernels.types())
	if err != nil {
		return report.BTFMin{}, btfError(s.Path, err)
	}
	r := report.BTFMin{BTF: s.Name, File: path, TypesBefore: spec.NumTypes() - 1, BytesBefore: len(spec.Raw()), IDs: []report.BTFMinID{}}
	small, ids, relocations, err := minimised(s, spec, objects)
	if err != nil {
		return r, err
	}
	r.Types, r.Bytes, r.Relocations = small.NumTypes()-1, len(small.Raw()), relocations
	for old, now := range ids {
		r.IDs = append(r.IDs, report.BTFMinID{Old: old, New: now, Type: spec.TypeString(old)})
	}
	slices.SortFunc(r.IDs, func(a, b report.BTFMinID) int { return int(a.New) - int(b.New) })
	return r, writeFile(path, func(w io.Writer) error { return writeRaw(w, small) })
}

// minimised returns what the relocations of objects need of a source's types, the new ids by the
// old ones, and how many relocations there are.
func minimised(s btfSource, spec *btf.Spec, objects []*loader.Object) (small *btf.Spec, ids map[btf.ID]btf.ID, relocations int, err error) {
	m, err := corerelo.NewMinimizer(spec)
	if err != nil {
		return nil, nil, 0, btfError(s.Path, err)
	}
	for _, o := range objects {
		if o.BTF == nil {
			continue
		}
		records := o.CORERecords()
		relocations += len(records)
		m.Add(o.BTF, records)
	}
	if small, ids, err = m.Spec(); err != nil {
		return nil, nil, 0, codeError{exitBug, err}
	}
	return small, ids, relocations, nil
}

func writeRaw(w io.Writer, spec *btf.Spec) error {
	_, err := w.Write(spec.Raw())
	return err
}
