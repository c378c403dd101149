package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// maxRuns limits the number of runs of a file after its parameters are expanded.
const maxRuns = 50_000

// expanded returns the items of runs with the file's defaults applied. A run with each: yields one
// item for each set of parameters. Mistakes are collected; items without mistakes are returned in
// any case.
func expanded(runs []*grammar.Node, defaults *grammar.Node) ([]*grammar.Node, error) {
	var out []*grammar.Node
	var wrong grammar.Mistakes
	for _, n := range runs {
		if n.Kind != grammar.Mapping {
			out = append(out, n) // decoding reports the mistake
			continue
		}
		n = withDefaults(n, defaults)
		each := n.Get("each")
		if each == nil {
			out = append(out, n)
			continue
		}
		sets, err := parameterSets(each)
		if !wrong.Add(err) {
			continue
		}
		if len(out)+len(sets) > maxRuns {
			wrong.Add(each.Errorf("more than %d runs in the file", maxRuns))
			break
		}
		used := map[string]bool{}
		for _, set := range sets {
			run, err := fillRun(n, set, used)
			if !wrong.Add(err) {
				used = nil
				break // the other sets fail in the same way
			}
			out = append(out, run)
		}
		if used == nil {
			continue
		}
		for _, p := range sets[0] {
			if !used[p.Key.Text] {
				wrong.Add(p.Key.Errorf("parameter %s is not used in the run: write ${%s} where its value goes", p.Key.Text, p.Key.Text))
			}
		}
	}
	return out, wrong.Err()
}

// withDefaults returns a run with the members of defaults that it lacks. Mappings are merged; any
// other member of the run replaces the default.
func withDefaults(n, defaults *grammar.Node) *grammar.Node {
	if defaults == nil || defaults.Kind != grammar.Mapping {
		return n
	}
	less := *defaults
	less.Pairs = slices.DeleteFunc(slices.Clone(defaults.Pairs), func(p grammar.Pair) bool {
		switch p.Key.Text {
		case "packet", "truncate": // a run has one packet or a capture
			return n.Get("pcap") != nil
		case "pcap":
			return n.Get("packet") != nil
		}
		return false
	})
	return overlaid(n, &less)
}

func overlaid(n, under *grammar.Node) *grammar.Node {
	out := *n
	out.Pairs = slices.Clone(n.Pairs)
	for _, p := range under.Pairs {
		i := slices.IndexFunc(out.Pairs, func(q grammar.Pair) bool { return q.Key.Text == p.Key.Text })
		switch {
		case i < 0:
			out.Pairs = append(out.Pairs, p)
		case out.Pairs[i].Value.Kind == grammar.Mapping && p.Value.Kind == grammar.Mapping && out.Pairs[i].Value.Tag == "" && p.Value.Tag == "":
			out.Pairs[i].Value = overlaid(out.Pairs[i].Value, p.Value)
		}
	}
	return &out
}

// parameterSets returns the sets of parameters of each:, which is a list of mappings, or a mapping
// of lists that is expanded to all combinations.
func parameterSets(n *grammar.Node) ([][]grammar.Pair, error) {
	var sets [][]grammar.Pair
	switch n.Kind {
	case grammar.Sequence:
		for _, item := range n.Items {
			if item.Kind != grammar.Mapping || len(item.Pairs) == 0 {
				return nil, item.Errorf("each: want parameters such as {port: 80}, got %s", item.Describe())
			}
			sets = append(sets, item.Pairs)
		}
	case grammar.Mapping:
		sets = [][]grammar.Pair{nil}
		for _, p := range n.Pairs {
			if p.Value.Kind != grammar.Sequence || len(p.Value.Items) == 0 {
				return nil, p.Value.Errorf("each.%s: want a list of values, got %s", p.Key.Text, p.Value.Describe())
			}
			if len(sets)*len(p.Value.Items) > maxRuns {
				return nil, p.Key.Errorf("more than %d combinations", maxRuns)
			}
			var next [][]grammar.Pair
			for _, set := range sets {
				for _, v := range p.Value.Items {
					next = append(next, append(set[:len(set):len(set)], grammar.Pair{Key: p.Key, Value: v}))
				}
			}
			sets = next
		}
	}
	if len(sets) == 0 || len(sets[0]) == 0 {
		return nil, n.Errorf("each: want a list of parameters such as [{port: 80}, {port: 443}], or {port: [80, 443]}, got %s", n.Describe())
	}
	for _, set := range sets {
		for _, p := range set {
			if !isWord(p.Key.Text) {
				return nil, p.Key.Errorf("parameter %s: want a word", grammar.Brief(p.Key.Text))
			}
		}
	}
	return sets, nil
}

func isWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// fillRun returns a run with one set of parameters filled in. Parameters that its name does not
// mention are appended to the name.
func fillRun(n *grammar.Node, set []grammar.Pair, used map[string]bool) (*grammar.Node, error) {
	f := filler{values: map[string]*grammar.Node{}, used: used}
	for _, p := range set {
		f.values[p.Key.Text] = p.Value
		f.names = append(f.names, p.Key.Text)
	}
	out := *n
	out.Pairs = nil
	named := false
	for _, p := range n.Pairs {
		if p.Key.Text == "each" {
			continue
		}
		v, err := f.fill(p.Value)
		if err != nil {
			return nil, err
		}
		named = named || p.Key.Text == "name" && v.Text != p.Value.Text
		out.Pairs = append(out.Pairs, grammar.Pair{Key: p.Key, Value: v})
	}
	if named {
		return &out, nil
	}
	base := out.Get("name")
	if base == nil {
		base = out.Get("prog")
	}
	if base == nil {
		return &out, nil // decoding reports that it needs a program
	}
	var parts []string
	for _, p := range set {
		parts = append(parts, p.Key.Text+"="+shortText(p.Value))
	}
	name := *base
	name.Text, name.Quoted = base.Text+" ("+strings.Join(parts, ", ")+")", true
	out.Pairs = slices.DeleteFunc(out.Pairs, func(p grammar.Pair) bool { return p.Key.Text == "name" })
	out.Pairs = append(out.Pairs, grammar.Pair{Key: &grammar.Node{Pos: name.Pos, Text: "name"}, Value: &name})
	return &out, nil
}

// short formats a value for the name of a run.
func shortText(n *grammar.Node) string {
	switch n.Kind {
	case grammar.Scalar:
		return strings.TrimSpace(n.Tag + " " + n.Text)
	case grammar.Null:
		return "null"
	}
	return fmt.Sprintf("line %d", n.Line)
}

// filler substitutes parameters for ${NAME}.
type filler struct {
	values map[string]*grammar.Node
	names  []string
	used   map[string]bool
}

// fill returns a node with its parameters filled in, or the node itself if it has none. A value
// that consists of ${NAME} alone becomes the parameter, of any kind; inside a string, the parameter
// must be a scalar.
func (f *filler) fill(n *grammar.Node) (*grammar.Node, error) {
	switch n.Kind {
	case grammar.Scalar:
		return f.scalar(n)
	case grammar.Sequence:
		var items []*grammar.Node
		for i, item := range n.Items {
			v, err := f.fill(item)
			if err != nil {
				return nil, err
			}
			if v != item && items == nil {
				items = slices.Clone(n.Items)
			}
			if items != nil {
				items[i] = v
			}
		}
		if items != nil {
			out := *n
			out.Items = items
			return &out, nil
		}
	case grammar.Mapping:
		var pairs []grammar.Pair
		for i, p := range n.Pairs {
			key, err := f.fill(p.Key)
			if err != nil {
				return nil, err
			}
			if key.Kind != grammar.Scalar {
				return nil, p.Key.Errorf("a key must be a plain value, but the parameter is %s", key.Describe())
			}
			v, err := f.fill(p.Value)
			if err != nil {
				return nil, err
			}
			if (v != p.Value || key != p.Key) && pairs == nil {
				pairs = slices.Clone(n.Pairs)
			}
			if pairs != nil {
				pairs[i] = grammar.Pair{Key: key, Value: v}
			}
		}
		if pairs != nil {
			out := *n
			out.Pairs = pairs
			return &out, nil
		}
	}
	return n, nil
}

func (f *filler) scalar(n *grammar.Node) (*grammar.Node, error) {
	var b strings.Builder
	rest, filled := n.Text, false
	for {
		before, after, ok := strings.Cut(rest, "${")
		name, tail, closed := strings.Cut(after, "}")
		if !ok || !closed {
			b.WriteString(rest)
			break
		}
		if strings.HasSuffix(before, "$") { // $${ escapes a dollar sign and a brace
			b.WriteString(before + "${")
			rest = after
			continue
		}
		v := f.values[name]
		if v == nil {
			return nil, n.Unknown("parameter", name, f.names)
		}
		f.used[name] = true
		if before == "" && tail == "" && !filled {
			out := *v
			if n.Tag != "" {
				out.Tag = n.Tag
			}
			return &out, nil
		}
		if v.Kind != grammar.Scalar || v.Tag != "" {
			return nil, n.Errorf("${%s} inside a string: the parameter is %s, want a plain value", name, v.Describe())
		}
		b.WriteString(before + v.Text)
		rest, filled = tail, true
	}
	if !filled {
		return n, nil
	}
	out := *n
	out.Text = b.String()
	return &out, nil
}
