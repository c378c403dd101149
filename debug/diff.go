package debug

import (
	"fmt"

	"github.com/bpfrun/bpfrun/loader"
)

// view is the state as text: registers, global variables, map elements, events, by name.
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

// maxViewed bounds the map elements a checkpoint keeps of each map.
const maxViewed = 4096

// see notes the state for a later comparison.
func (s *Session) see() *view {
	v := &view{values: map[string]string{}}
	if s.state != Idle {
		for i := range 11 {
			if n, ok := s.m.Thread().FrameReg(0, i); ok {
				v.add(fmt.Sprintf("$r%d", i), s.addressText(n))
			}
		}
	}
	for _, def := range s.linked.Maps {
		if def.DataKind != loader.DataNone {
			for _, g := range def.Vars {
				if x, ok, err := s.global(g.Name); ok && err == nil {
					v.add(g.Name, s.Format(x, FormatOptions{}))
				}
			}
			continue
		}
		m, err := s.mapValue(def)
		if err != nil {
			continue
		}
		s.seeMap(v, def.Name, m)
	}
	return v
}

func (s *Session) seeMap(v *view, name string, m *Value) {
	lines, _ := s.MapEntries(m, maxViewed)
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

// Difference is one thing that is not what it was at a checkpoint; "" stands for what was or is not there.
type Difference struct{ Name, Old, New string }

// Diff compares the state with that at a checkpoint.
func (s *Session) Diff(id int) ([]Difference, error) {
	c, ok := s.Checkpoint(id)
	if !ok {
		return nil, fmt.Errorf("there is no checkpoint %d", id)
	}
	now := s.see()
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
