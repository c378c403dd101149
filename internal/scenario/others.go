package scenario

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/loader"
)

// others checks "others: unchanged". Everything that the run changed in maps and global variables
// must be named in maps, globals, or the buffers' records. Which elements of a named map may change
// is up to maps itself (!exact).
func (j *judge) others(e *Expect) error {
	n := e.Others
	if n == nil {
		return nil
	}
	if n.Kind != grammar.Scalar || n.Text != "unchanged" {
		return n.Errorf("others: want unchanged, got %s", n.Describe())
	}
	if j.Checking {
		return nil
	}
	named := map[string]bool{}
	for _, pairs := range [][]grammar.Pair{e.Maps, e.Ringbuf, e.Perf} {
		for _, p := range pairs {
			named[p.Key.Text] = true
		}
	}
	failed := false
	fail := func(what, got string) {
		failed = true
		j.Expect(n.Pos, what, false, "unchanged", got)
	}
	for i := range j.res.Changes {
		c := &j.res.Changes[i]
		def, ok := j.r.m.Linked().Map(c.Map)
		switch {
		case ok && def.DataKind != loader.DataNone:
			for _, v := range def.Vars {
				was, is := part(c.Old, v), part(c.New, v)
				if !bytes.Equal(was, is) && !namesVariable(e.Globals, v.Name) {
					fail("global "+v.Name, j.variableText(v, is))
				}
			}
		case !named[c.Map]:
			fail(c.Map+j.elementText(c), j.changeText(c))
		}
	}
	sent := map[string]int{}
	var order []string
	for _, ev := range j.res.Events {
		if !named[ev.Map] {
			if sent[ev.Map]++; sent[ev.Map] == 1 {
				order = append(order, ev.Map)
			}
		}
	}
	for _, name := range order {
		fail(name, "records: "+itoa(sent[name]))
	}
	if !failed {
		j.Expect(n.Pos, "others", true, "", "")
	}
	return nil
}

// part returns the bytes of a variable within its section, or nil for a section that was all zero.
func part(data []byte, v loader.Var) []byte {
	out := make([]byte, v.Size)
	if int(v.Off) < len(data) {
		copy(out, data[v.Off:])
	}
	return out
}

// namesVariable reports whether an expectation names a variable or a part of it.
func namesVariable(pairs []grammar.Pair, name string) bool {
	for _, p := range pairs {
		rest, ok := strings.CutPrefix(p.Key.Text, name)
		if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

func (j *judge) variableText(v loader.Var, data []byte) string {
	if spec := j.r.m.Linked().Object.BTF; spec != nil && v.Type != 0 {
		return spec.FormatString(v.Type, data)
	}
	return briefBytes(data)
}

func (j *judge) elementText(c *machine.Change) string {
	t, err := j.r.table(&grammar.Node{Text: c.Map})
	if err != nil || c.Key == nil {
		return ""
	}
	return "[" + t.keyText(c.Key) + "]"
}

func (j *judge) changeText(c *machine.Change) string {
	if c.New == nil {
		return "deleted"
	}
	t, err := j.r.table(&grammar.Node{Text: c.Map})
	if s := t; err == nil && s.spec != nil && s.b.Spec().ValueType != 0 {
		return s.spec.FormatString(s.b.Spec().ValueType, c.New)
	}
	return briefBytes(c.New)
}

func briefBytes(b []byte) string {
	const most = 32
	if len(b) > most {
		return fmt.Sprintf("%x", b[:most]) + "..."
	}
	return fmt.Sprintf("%x", b)
}
