package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// reloCommand is bpfrun relo.
type reloCommand struct {
	*console
	linker

	log   string
	baked bool
}

func newReloCommand(a *app) *cobra.Command {
	c := &reloCommand{console: &a.console, linker: a.linker()}
	cmd := &cobra.Command{
		Use:   "relo OBJECT... [--btf KERNEL]",
		Short: "List every CO-RE relocation: access, old and new value, source line, alternatives to missing fields",
		Long: `List every CO-RE relocation of an object: the access, the old and the new value, the source
line, and, for a missing field or type, what the kernel has instead. -v adds the candidates that were
considered, why they were rejected, and the hashes of the code; -q lists only what is missing.

With --explain the command reads a log of the kernel's verifier or of a loader and finds the relocation
that failed: "invalid func unknown#195896080", "<invalid CO-RE relocation>". Name the kernel that wrote
the log with --btf.

With --baked the command lists accesses of kernel types at fixed offsets, which no relocation adjusts: the
field at that offset in the object's own declaration, the field in the kernel, and what to use instead. It
follows pointers without running the program and does not report what it cannot follow. Exit code 1 if
it finds any.`,
		Example: "  bpfrun relo prog.o --btf kernel.btf\n  bpfrun relo prog.o --btf kernel.btf --explain verifier.log",
		Args:    atLeast(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if c.log != "" {
				return c.explainLog(args, c.log)
			}
			if c.baked {
				return c.listBaked(args)
			}
			return c.relo(args)
		},
	}
	cmd.Flags().BoolVar(&c.baked, "baked", false, "list accesses of kernel types at fixed offsets instead")
	cmd.Flags().StringVar(&c.log, "explain", "", "find the relocation that `LOGFILE`, written by a kernel or a loader, is about; - for standard input")
	return cmd
}

// explainLog describes the contents of a log about an object.
func (c *reloCommand) explainLog(paths []string, path string) error {
	if len(paths) != 1 {
		return usagef("--explain takes one object, not %d", len(paths))
	}
	table, err := c.table()
	if err != nil {
		return err
	}
	obj, err := c.objects.open(paths[0])
	if err != nil {
		return err
	}
	var in io.Reader = os.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return usageError{err}
		}
		defer f.Close()
		in = f
	}
	entries, err := corerelo.ParseLog(in)
	if err != nil {
		return usagef("--explain %s: %w", path, err)
	}
	if len(entries) == 0 {
		return usagef("--explain %s: the log mentions no failed relocation (such as unknown#195896080 or <invalid CO-RE relocation>)", path)
	}
	linked, source, err := c.link(obj)
	if err != nil {
		return err
	}
	doc := report.NewExplainDocument(linked, source, entries)
	if c.json {
		return report.WriteJSON(c.stdout, doc)
	}
	return report.WriteExplain(c.stdout, doc, table)
}

func (c *reloCommand) relo(paths []string) error {
	table, err := c.table()
	if err != nil {
		return err
	}
	sources, err := c.kernels.sources()
	if err != nil {
		return err
	}
	all := report.ReloDocuments{Schema: report.Schema}
	watch := c.silentProgress("relocations of an object for a kernel", len(paths)*len(sources))
	defer watch.end()
	for _, path := range paths {
		obj, err := c.objects.open(path)
		if err != nil {
			return err
		}
		for _, s := range c.kernels.fitting(sources, obj.ByteOrder) {
			watch.add(1)
			linked, err := c.linkOn(obj, s)
			if err != nil {
				return err
			}
			doc := report.NewReloDocument(linked, s.Path)
			for _, p := range doc.Programs {
				if p.Optional && !c.objects.optional {
					continue // shown, but this kernel does not need it
				}
				for _, r := range p.Relocations {
					if r.Result == "error" || r.Verdict == loader.Break.String() {
						doc.Exit = exitLoad
					}
				}
			}
			all.Results = append(all.Results, doc)
			all.Exit = exitcode.Worse(all.Exit, doc.Exit)
			if c.json {
				continue
			}
			if len(all.Results) > 1 {
				visible.Fprintln(c.stdout)
			}
			if err := report.WriteRelo(c.stdout, doc, table); err != nil {
				return err
			}
		}
	}
	c.code = all.Exit
	if !c.json {
		return nil
	}
	return report.WriteJSON(c.stdout, all)
}

// link links an object for the only target given.
func (l *linker) link(obj *loader.Object) (*loader.Linked, string, error) {
	source, err := l.kernels.one("this command takes one kernel")
	if err != nil {
		return nil, "", err
	}
	linked, err := l.linkOn(obj, source)
	return linked, source.Path, err
}
