package fuzz

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/loader"
)

// given adds to the scenario what options of the loader say and a file can say too: where programs
// are attached, and global variables. It returns the flags that say the rest: without them the
// files of the search would be about another object.
func (f *Fuzzer) given() string {
	load := f.opt.Scenario.Load
	for _, name := range slices.Sorted(maps.Keys(load.Attach)) {
		putNew(f.root.Child("hooks"), name, grammar.Quote(load.Attach[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(load.AttachProgs)) {
		putNew(f.root.Child("attach"), name, grammar.Quote(load.AttachProgs[name]))
	}
	linked := f.first.linked()
	flags := slices.Clone(f.opt.Flags)
	for _, path := range slices.Sorted(maps.Keys(load.Globals)) {
		name := path[:max(strings.IndexAny(path+".", ".["), 1)]
		def, v, ok := loader.FindVariable(linked.Maps, name, (*loader.Map).Settable)
		var value *grammar.Node
		if ok && int(v.Off+v.Size) <= len(def.Data) {
			value, ok = f.first.whole.VariableNode(name, def.Data[v.Off:v.Off+v.Size])
		} else {
			ok = false
		}
		if !ok {
			flags = append(flags, fmt.Sprintf("--global %s=%s", path, load.Globals[path]))
			continue
		}
		putNew(f.root.Child("globals"), name, value)
	}
	for _, name := range slices.Sorted(maps.Keys(load.MapSizes)) {
		flags = append(flags, fmt.Sprintf("--map-size %s=%d", name, load.MapSizes[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(load.InnerMaps)) {
		flags = append(flags, fmt.Sprintf("--inner-map %s=%s", name, load.InnerMaps[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(load.Externs)) {
		flags = append(flags, fmt.Sprintf("--extern %s=%d", name, load.Externs[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(load.NoLoad)) {
		if load.NoLoad[name] {
			flags = append(flags, "--no-load "+name)
		}
	}
	return strings.Join(flags, " ")
}

// putNew adds a member that a mapping does not have.
func putNew(n *grammar.Node, name string, value *grammar.Node) {
	if n.Get(name) == nil {
		n.Put(name, value)
	}
}
