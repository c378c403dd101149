package main

import (
	"cmp"
	"fmt"

	"github.com/bpfrun/bpfrun/offsets"
	"github.com/bpfrun/bpfrun/report"
)

// listBaked lists accesses at fixed offsets.
func (c *reloCommand) listBaked(paths []string) error {
	sources, err := c.kernels.sources()
	if err != nil {
		return err
	}
	doc := report.BakedDocument{Schema: report.Schema, Results: []report.BakedResult{}}
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
			r := report.BakedResult{Object: obj.Name, Kernel: linked.Target.Name, Accesses: []report.BakedAccess{}}
			for _, x := range offsets.Find(linked) {
				doc.Exit = exitExpectation
				r.Accesses = append(r.Accesses, report.BakedAccess{
					Program: x.Program, Insn: x.Insn, Source: x.Source, Type: x.Type, Offset: x.Offset, Size: x.Size, Meant: x.Meant, Hit: x.Hit, Instead: x.Instead,
				})
			}
			doc.Results = append(doc.Results, r)
		}
	}
	c.code = doc.Exit
	if c.json {
		return report.WriteJSON(c.stdout, doc)
	}
	for _, r := range doc.Results {
		if len(r.Accesses) == 0 && !c.quiet {
			fmt.Fprintf(c.stdout, "%s on %s: no access of a kernel type at a fixed offset found\n", r.Object, r.Kernel)
			continue
		}
		for _, x := range r.Accesses {
			fmt.Fprintf(c.stdout, "%s on %s: %s insn %d: %s at fixed offset %d\n", r.Object, r.Kernel, x.Program, x.Insn, x.Type, x.Offset)
			if x.Source != "" {
				fmt.Fprintf(c.stdout, "  %s\n", x.Source)
			}
			fmt.Fprintf(c.stdout, "  in the object's declaration: %s; in this kernel: %s\n  use %s\n", cmp.Or(x.Meant, "-"), cmp.Or(x.Hit, "-"), x.Instead)
		}
	}
	return nil
}
