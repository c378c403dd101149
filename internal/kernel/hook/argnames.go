package hook

import (
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/progtype"
)

// Prefixes of trace record fields whose content is stored after the record.
var dynamicPrefixes = []string{"__data_loc_", "__rel_loc_"}

// ArgNames lists the names that [ContextSpec].Args accepts for this context: the hook's arguments
// and "ret", the arguments of the underlying system call with "call" if that can be chosen, the
// fields of a record or a sample.
func (c *Context) ArgNames() []string {
	var names []string
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, list := range [][]Arg{c.Args, c.inner} {
		for i := range list {
			add(list[i].Name)
		}
	}
	if c.Returns {
		add("ret")
	}
	if c.calls {
		add("call")
	}
	if c.Record != nil {
		for _, m := range c.Record.Layout().Type.Members {
			name := m.Name
			for _, prefix := range dynamicPrefixes {
				name = strings.TrimPrefix(name, prefix)
			}
			if name != "ent" && name != "__data" {
				add(name)
			}
		}
	}
	if progtype.Of(c.spec.ProgType).Takes.Has(progtype.TakesSample) {
		add("sample_period")
		add("addr")
	}
	return names
}

// TakesArg reports whether [ContextSpec].Args accepts the name. A field of a record may also be
// given as a path ("ent.pid").
func (c *Context) TakesArg(name string) bool {
	return slices.Contains(c.ArgNames(), name) || c.Record != nil && c.Record.Has(name)
}
