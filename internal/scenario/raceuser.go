package scenario

import (
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/find/race"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// userCalls are the calls of threads of user space, with how many words follow the name of the map.
var userCalls = map[string]struct {
	op          race.UserOp
	least, most int
}{
	"lookup": {race.Lookup, 1, 3}, "update": {race.Update, 2, 3}, "delete": {race.Delete, 1, 1}, "pop": {race.Pop, 0, 1},
	"read": {race.Read, 2, 2}, "write": {race.Write, 3, 3}, "consume": {race.Consume, 0, 0},
}

// updateFlags are the words after the value of an update.
var updateFlags = map[string]uint64{"any": uapi.Any, "noexist": uapi.NoExist, "exist": uapi.Exist}

// userSteps decodes the calls of a thread of user space, in terms of the object's maps.
func (r *Runner) userSteps(a *RaceActor) ([]race.UserStep, error) {
	var out []race.UserStep
	var wrong grammar.Mistakes
	for _, n := range a.User {
		u, err := r.userStep(n)
		if wrong.Add(err) {
			out = append(out, u)
		}
	}
	return out, wrong.Err()
}

func (r *Runner) userStep(n *grammar.Node) (race.UserStep, error) {
	u := race.UserStep{Text: n.Text}
	words := wordsOf(n.Text)
	if n.Kind != grammar.Scalar || len(words) < 2 {
		return u, n.Errorf("user: want a call such as lookup MAP KEY, got %s", n.Describe())
	}
	call, ok := userCalls[words[0]]
	names := []string{}
	for name := range userCalls {
		names = append(names, name)
	}
	slices.Sort(names)
	rest := words[2:]
	switch {
	case !ok:
		return u, n.Unknown("call", words[0], names)
	case len(rest) < call.least || len(rest) > call.most || words[0] == "lookup" && len(rest) == 2:
		return u, n.Errorf("user: %s of a map takes %d to %d words after its name, got %d", words[0], call.least, call.most, len(rest))
	}
	u.Op = call.op
	t, err := r.table(scalarAt(n, words[1]))
	if err != nil {
		return u, err
	}
	if u.Map = t.b; u.Op == race.Consume || len(rest) == 0 {
		return u, nil
	}
	if u.Key, err = t.key(scalarAt(n, rest[0])); err != nil {
		return u, n.Wrap("key of "+t.def.Name, err)
	}
	switch u.Op {
	case race.Lookup:
		if len(rest) == 3 && rest[1] != "as" {
			return u, n.Errorf("user: want lookup MAP KEY as NAME, got %s", grammar.Brief(n.Text))
		}
	case race.Update:
		value, err := snippetAt(n, rest[1])
		if err != nil {
			return u, err
		}
		one, err := t.value(value)
		if err != nil {
			return u, err
		}
		u.Value = percpuValue(t.b, one, r.m.Kernel().CPUs())
		if len(rest) == 3 {
			if u.Flags, ok = updateFlags[rest[2]]; !ok {
				return u, n.Unknown("flag", rest[2], []string{"any", "noexist", "exist"})
			}
		}
	case race.Read, race.Write:
		spec := t.spec
		if spec == nil || t.b.Spec().ValueType == 0 {
			return u, n.Errorf("user: map %s has no type of its values, so that it has no members", t.def.Name)
		}
		f, err := spec.ResolvePath(t.b.Spec().ValueType, rest[1])
		if err != nil {
			return u, n.Wrap("user", err)
		}
		size, err := spec.Sizeof(f.Type)
		if err != nil {
			return u, n.Wrap("user", err)
		}
		u.Off, u.Size = uint64(f.Offset()), uint64(size)
		if u.Op == race.Write {
			value, err := snippetAt(n, rest[2])
			if err != nil {
				return u, err
			}
			if u.Value, err = t.v.bytesOf(spec, f.Type, int(size), value); err != nil {
				return u, n.Wrap("user", err)
			}
		}
	}
	return u, nil
}

// percpuValue gives each CPU the value, as user space passes values of per-CPU maps.
func percpuValue(m maps.Map, value []byte, cpus int) []byte {
	if !m.Spec().Type.PerCPU() {
		return value
	}
	each := (len(value) + 7) &^ 7
	out := make([]byte, each*cpus)
	for c := range cpus {
		copy(out[c*each:], value)
	}
	return out
}

// scalar makes a node of a word.
func scalarAt(n *grammar.Node, text string) *grammar.Node {
	return &grammar.Node{Pos: n.Pos, Kind: grammar.Scalar, Text: text}
}

// snippet makes a node of a value within a text.
func snippetAt(n *grammar.Node, text string) (*grammar.Node, error) {
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return scalarAt(n, text), nil
	}
	v, err := grammar.ParseYAML(n.File, []byte(text))
	if err != nil {
		return nil, n.Errorf("user: %s is no value", grammar.Brief(text))
	}
	return v, nil
}

// wordsOf cuts a text into words at spaces outside of brackets and quotes.
func wordsOf(text string) []string {
	var out []string
	depth, from, quote := 0, -1, byte(0)
	for i := range len(text) {
		c := text[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case strings.IndexByte("{[(", c) >= 0:
			depth++
		case strings.IndexByte("}])", c) >= 0:
			depth--
		}
		if c == ' ' && depth <= 0 && quote == 0 {
			if from >= 0 {
				out = append(out, text[from:i])
			}
			from = -1
		} else if from < 0 {
			from = i
		}
	}
	if from >= 0 {
		out = append(out, text[from:])
	}
	return out
}
