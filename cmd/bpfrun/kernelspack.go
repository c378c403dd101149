package main

import (
	"errors"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/btf/pack"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/kernels"
	"github.com/bpfrun/bpfrun/loader"
)

// kernelsPackCommand is bpfrun kernels pack.
type kernelsPackCommand struct {
	*console
	linker

	output  string
	objects []string
}

func newKernelsPackCommand(a *app) *cobra.Command {
	c := &kernelsPackCommand{console: &a.console, linker: a.linker()}
	cmd := &cobra.Command{
		Use:   "pack -o OUT.btfpack KERNEL... [--for OBJECT]...",
		Short: "Put the types of many kernels into one archive, what they have in common once",
		Long: `Put the types of kernels into one archive, in which what kernels have in common is stored once. KERNEL is what --btf takes: files,
directories such as a checkout of BTFHub, globs, releases, other archives. With --for each kernel is first reduced to what the CO-RE
relocations of the given objects need, as btf min does.

--btf OUT.btfpack means all kernels of an archive, --btf OUT.btfpack/NAME one of them; kernels list OUT.btfpack names them, kernels add
OUT.btfpack stores each, and archives in BPFRUN_KERNELS are searched for releases.

A kernel that is read from an archive is equal to the one that was added, byte for byte: all relocations and type ids are the same.`,
		Example: "  bpfrun kernels pack -o all.btfpack btfhub-archive/ubuntu\n  bpfrun kernels pack -o tool.btfpack 'kernels/*.btf.xz' --for tool.bpf.o\n  bpfrun matrix tool.bpf.o --btf tool.btfpack",
		Args:    atLeast(1),
		RunE:    func(_ *cobra.Command, args []string) error { return c.pack(args) },

		ValidArgsFunction: kernelNames,
	}
	cmd.Flags().StringVarP(&c.output, "output", "o", "", "`FILE` to write; --btf finds it in directories if its name contains .btf")
	listVar(cmd.Flags(), &c.objects, "for", "", "store only what the relocations of `OBJECT` need; repeatable")
	return cmd
}

func (c *kernelsPackCommand) pack(args []string) error {
	if c.output == "" {
		return usagef("kernels pack needs -o OUT.btfpack")
	}
	objects := make([]*loader.Object, len(c.objects))
	for i, path := range c.objects {
		var err error
		if objects[i], err = c.linker.objects.open(path); err != nil {
			return err
		}
	}
	sources, err := c.kernels.expandAll("", args)
	if err != nil {
		return err
	}
	doc := report.PackDocument{Schema: report.Schema, File: c.output, Kernels: []report.PackedKernel{}}
	w := pack.NewWriter()
	names := packNames(sources)
	watch := c.progress("kernels", len(sources))
	defer watch.end()
	for i, s := range sources {
		watch.add(1)
		spec, err := s.load(c.kernels.types())
		if err != nil {
			return btfError(s.Path, err)
		}
		if len(objects) > 0 {
			if spec, _, _, err = minimised(s, spec, objects); err != nil {
				return err
			}
		}
		k := report.PackedKernel{Name: names[i], Release: s.Release(), Types: spec.NumTypes() - 1, Bytes: len(spec.Raw())}
		if s.Path == kernels.Host {
			k.Name, k.Release = hostRelease(), hostRelease()
		}
		if err := w.Add(k.Name, k.Release, spec); errors.Is(err, pack.ErrName) {
			return usageError{err}
		} else if err != nil {
			return btfError(s.Path, err)
		}
		doc.Kernels = append(doc.Kernels, k)
		doc.BytesBefore += k.Bytes
	}
	err = writeFile(c.output, func(out io.Writer) error {
		n, err := w.WriteTo(out)
		doc.Bytes = int(n)
		return err
	})
	if err != nil {
		return err
	}
	if c.json {
		return report.WriteJSON(c.stdout, doc)
	}
	return report.WritePack(c.stdout, doc, c.verbose)
}

// packNames returns what the sources are called in an archive: their names, and where several have
// one name, what the directories above their files add to it.
func packNames(sources []btfSource) []string {
	count := map[string]int{}
	for _, s := range sources {
		count[s.Name]++
	}
	out := make([]string, len(sources))
	for i, s := range sources {
		out[i] = s.Name
		if count[s.Name] > 1 {
			out[i] = s.Distinct(filepath.Base(s.Name))
		}
	}
	return out
}
