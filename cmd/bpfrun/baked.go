package main

import "github.com/bpfrun/bpfrun/internal/app/report"

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
			doc.Add(linked)
		}
	}
	c.code = doc.Exit
	if c.json {
		return report.WriteJSON(c.stdout, doc)
	}
	return report.WriteBaked(c.stdout, &doc, c.quiet)
}
