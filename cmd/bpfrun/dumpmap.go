package main

import (
	"strings"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// checkDump refuses unknown maps and unknown formats.
func (o runOptions) checkDump(obj *loader.Object) error {
	switch report.MapFormat(o.dumpFormat) {
	case report.MapPlain, report.MapJSON, report.MapPretty, "": // empty: not the run command
	default:
		return usagef("--dump-format %q: want plain, json or pretty", o.dumpFormat)
	}
	for _, name := range o.dumpMaps {
		if _, ok := obj.Map(name); !ok {
			var names []string
			for _, m := range obj.Maps {
				names = append(names, m.Name)
			}
			return usagef("--dump-map %s: no such map in %s (available: %s)", name, obj.Name, strings.Join(names, ", "))
		}
	}
	return nil
}

// writeMaps writes maps before the table, or to standard error if there is a document.
func (c *runCommand) writeMaps(m *machine.Machine) error {
	w := c.stdout
	if c.json {
		w = c.stderr
	}
	for _, name := range c.dumpMaps {
		b, ok := m.MapByName(name)
		if !ok {
			continue // not created; the table shows the reason
		}
		if err := report.WriteMapDump(w, m.Linked().Object.BTF, b, c.sim.cpus, report.MapFormat(c.dumpFormat)); err != nil {
			return err
		}
	}
	return nil
}
