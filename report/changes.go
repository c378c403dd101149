package report

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
)

// newChange renders a changed element: "[1000]: 1 -> 2", and of a data section the variables
// that differ: ".counter: 0 -> 1".
func newChange(m *machine.Machine, c machine.Change) Change {
	out := Change{Map: c.Map, Key: HexBytes(c.Key), Old: hexOrNil(c.Old), New: hexOrNil(c.New)}
	if c.CPU >= 0 {
		cpu := c.CPU
		out.CPU = &cpu
	}
	def, ok := m.Linked().Map(c.Map)
	if !ok {
		return out
	}
	spec := m.Linked().Object.BTF
	if def.DataKind != loader.DataNone {
		out.Text = " " + variableChanges(spec, def, c)
		return out
	}
	key := typedText(spec, def.KeyType, c.Key)
	if c.CPU >= 0 {
		key += fmt.Sprintf(" cpu %d", c.CPU)
	}
	switch {
	case c.Old == nil:
		out.Text = fmt.Sprintf("[%s] = %s (new)", key, typedText(spec, def.ValueType, c.New))
	case c.New == nil:
		out.Text = fmt.Sprintf("[%s] deleted (was %s)", key, typedText(spec, def.ValueType, c.Old))
	default:
		out.Text = fmt.Sprintf("[%s] = %s (was %s)", key, typedText(spec, def.ValueType, c.New), typedText(spec, def.ValueType, c.Old))
	}
	return out
}

func hexOrNil(b []byte) *string {
	if b == nil {
		return nil
	}
	s := HexBytes(b)
	return &s
}

func typedText(spec *btf.Spec, id btf.ID, b []byte) string {
	if spec == nil || id == 0 {
		return shortHex(b)
	}
	return spec.FormatString(id, b)
}

// shortHex writes bytes for people: at most 32 of them, then how many there are.
func shortHex(b []byte) string {
	const most = 32
	if len(b) <= most {
		return HexBytes(b)
	}
	return fmt.Sprintf("%x... (%d bytes)", b[:most], len(b))
}

// variableChanges lists the variables of a data section that differ.
func variableChanges(spec *btf.Spec, def *loader.Map, c machine.Change) string {
	var parts []string
	at := func(b []byte, v loader.Var) []byte {
		if uint64(v.Off)+uint64(v.Size) > uint64(len(b)) {
			return make([]byte, v.Size)
		}
		return b[v.Off : v.Off+v.Size]
	}
	for _, v := range def.Vars {
		before, after := at(c.Old, v), at(c.New, v)
		if !bytes.Equal(before, after) {
			parts = append(parts, fmt.Sprintf("%s = %s (was %s)", v.Name, typedText(spec, v.Type, after), typedText(spec, v.Type, before)))
		}
	}
	if len(parts) == 0 {
		return "changed outside of its variables"
	}
	return strings.Join(parts, ", ")
}
