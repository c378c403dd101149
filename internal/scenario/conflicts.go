package scenario

import (
	"maps"
	"slices"
	"sync"

	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys"
)

// conflicts lists, for keys of a run, the keys that cannot be with them: both would make the same
// part of its input, and one would silently replace the other's, or the run has no such input. Keys
// that make different parts, and those that change what others made (helpers, truncate, context
// with packet), are not in it.
var conflicts = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{
		"chain":     {"prog", "pcap", "truncate", "elements", "map"},
		"functions": {"chain", "pcap", "truncate", "elements", "map", "function", "usdt"},
		"pcap":      {"packet", "repeat"},
		"truncate":  {"pcap"},
		"ctx":       {"args"},
	}
	for _, form := range subsys.Scenes() {
		out[form.Key()] = form.Without
	}
	return out
})

// noConflicts refuses the keys of a run that cannot be combined. Each error is at the key that is
// refused, and names both.
func noConflicts(n *grammar.Node) error {
	var wrong grammar.Mistakes
	for _, key := range slices.Sorted(maps.Keys(conflicts())) {
		if n.Get(key) == nil {
			continue
		}
		for _, other := range conflicts()[key] {
			if v := n.Get(other); v != nil {
				wrong.Add(v.Errorf("%s cannot be combined with %s: leave one of them out", key, other))
			}
		}
	}
	return wrong.Err()
}

// noOverlap refuses members of the context that two keys of a run set.
func (run *Run) noOverlap() error {
	var fields *grammar.Node
	if run.Context != nil {
		fields = run.Context.Get("fields")
	}
	given := map[string]string{}
	var wrong grammar.Mistakes
	for _, set := range []struct {
		key   string
		pairs []grammar.Pair
	}{{"ctx", membersOf(run.CtxFields)}, {"context.fields", membersOf(fields)}, {"args", run.Args}} {
		for _, p := range set.pairs {
			if first := given[p.Key.Text]; first != "" {
				wrong.Add(p.Key.Errorf("%s and %s both set %s: leave one of them out", first, set.key, p.Key.Text))
				continue
			}
			given[p.Key.Text] = set.key
		}
	}
	if fields != nil && run.Ctx != nil {
		wrong.Add(fields.Errorf("ctx and context.fields both set fields of the context: write the members under one of them"))
	}
	return wrong.Err()
}

// members returns the pairs of a mapping, and none of anything else.
func membersOf(n *grammar.Node) []grammar.Pair {
	if n == nil {
		return nil
	}
	return n.Pairs
}
