package debug

import (
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/bpfrun/bpfrun/loader"
)

// checkpoints owns the marked positions of the run, each with its state as text for comparisons.
type checkpoints struct {
	*subject
	*frames
	marks []Checkpoint
}

// view is the state as text, by name: registers, global variables, map elements, events.
type view struct {
	names  []string
	values map[string]string
}

func (v *view) add(name, value string) {
	if _, seen := v.values[name]; !seen {
		v.names = append(v.names, name)
	}
	v.values[name] = value
}

// maxViewed limits the elements of each map that a checkpoint keeps.
const maxViewed = 4096

// see records the state for a later comparison.
func (cp *checkpoints) see() *view {
	v := &view{values: map[string]string{}}
	if cp.state != Idle {
		for i := range 11 {
			if n, ok := cp.m.Thread().FrameReg(0, i); ok {
				v.add(fmt.Sprintf("$r%d", i), cp.AddressText(n))
			}
		}
	}
	for _, def := range cp.linked.Maps {
		if def.DataKind != loader.DataNone {
			for _, g := range def.Vars {
				if x, ok, err := cp.Global(g.Name); ok && err == nil {
					v.add(g.Name, cp.Format(x, expr.FormatOptions{}))
				}
			}
			continue
		}
		m, err := cp.MapValue(def)
		if err != nil {
			continue
		}
		cp.seeMap(v, def.Name, m)
	}
	return v
}

func (cp *checkpoints) seeMap(v *view, name string, m *expr.Value) {
	lines, _ := cp.MapEntries(m, maxViewed)
	for i, line := range lines {
		key, value, ok := cutEntry(line)
		if !ok {
			key, value = fmt.Sprintf(" record %d", i+1), line
		}
		v.add(name+key, value)
	}
}

// cutEntry splits "[key] = value".
func cutEntry(line string) (key, value string, ok bool) {
	if line == "" || line[0] != '[' {
		return "", "", false
	}
	for i := range line {
		if i+4 <= len(line) && line[i:i+4] == "] = " {
			return line[:i+1], line[i+4:], true
		}
	}
	return "", "", false
}

// Difference is a value that differs from the one at a checkpoint; "" means absent.
type Difference struct{ Name, Old, New string }

// Diff compares the current state with that of a checkpoint.
func (cp *checkpoints) Diff(id int) ([]Difference, error) {
	c, ok := cp.Checkpoint(id)
	if !ok {
		return nil, fmt.Errorf("no checkpoint %d", id)
	}
	now := cp.see()
	var out []Difference
	for _, n := range c.seen.names {
		if v := now.values[n]; v != c.seen.values[n] {
			out = append(out, Difference{n, c.seen.values[n], v})
		}
	}
	for _, n := range now.names {
		if _, was := c.seen.values[n]; !was {
			out = append(out, Difference{n, "", now.values[n]})
		}
	}
	return out, nil
}

// Checkpoint is a marked position of the run.
type Checkpoint struct {
	ID   int
	Pos  uint64
	Note string // describes the position in lists
	seen *view
}

// Mark creates a checkpoint at the current position.
func (cp *checkpoints) Mark() (Checkpoint, error) {
	if cp.state == Idle {
		return Checkpoint{}, ErrIdle
	}
	c := Checkpoint{ID: len(cp.marks) + 1, Pos: cp.Pos(), Note: cp.Here().String(), seen: cp.see()}
	if cp.state == Ended {
		c.Note = "end of the run"
	}
	cp.marks = append(cp.marks, c)
	return c, nil
}

// Checkpoints returns the checkpoints of the run.
func (cp *checkpoints) Checkpoints() []Checkpoint { return slices.Clone(cp.marks) }

// Checkpoint returns a checkpoint by number.
func (cp *checkpoints) Checkpoint(id int) (Checkpoint, bool) {
	if id < 1 || id > len(cp.marks) {
		return Checkpoint{}, false
	}
	return cp.marks[id-1], true
}
