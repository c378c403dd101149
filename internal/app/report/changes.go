package report

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// Change is a map element that a run changed. It holds the bytes: text and JSON are made when they
// are printed, since a run may change a hundred thousand elements of which ten are shown.
type Change struct {
	machine.Change
	linked *loader.Linked
}

func newChange(m *machine.Machine, c machine.Change) Change { return Change{c, m.Linked()} }

// changeForm is the JSON form of a Change: bytes as hexadecimal digits, Old and New null where
// there is no element.
type changeForm struct {
	Map  string  `json:"map"`
	Key  string  `json:"key"`
	CPU  *int    `json:"cpu,omitempty"`
	Old  *string `json:"old"`
	New  *string `json:"new"`
	Text string  `json:"text"`
}

// MarshalJSON formats the change only when it is written.
func (c Change) MarshalJSON() ([]byte, error) {
	out := changeForm{Map: c.Map, Key: HexBytes(c.Key), Old: hexOrNil(c.Old), New: hexOrNil(c.New), Text: c.Text()}
	if c.CPU >= 0 {
		out.CPU = &c.CPU
	}
	return marshalForm(out)
}

// Text formats the changed element, "[1000]: 1 -> 2", or for a data section the variables that
// differ: ".counter: 0 -> 1".
func (c Change) Text() string {
	def, ok := c.linked.Map(c.Map)
	if !ok {
		return ""
	}
	spec := c.linked.Object.BTF
	if def.DataKind != loader.DataNone {
		return " " + variableChanges(spec, def, c.Change)
	}
	key := keyText(spec, def.KeyType, c.Key, c.linked.Object.ByteOrder)
	if c.CPU >= 0 {
		key += fmt.Sprintf(" cpu %d", c.CPU)
	}
	switch {
	case c.Old == nil:
		return fmt.Sprintf("[%s] = %s (new)", key, typedText(spec, def.ValueType, c.New))
	case c.New == nil:
		return fmt.Sprintf("[%s] deleted (was %s)", key, typedText(spec, def.ValueType, c.Old))
	default:
		return fmt.Sprintf("[%s]%s", key, valueChange(spec, def.ValueType, c.Old, c.New))
	}
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

// keyText is like typedText, but formats an untyped key of integer size as a number.
func keyText(spec *btf.Spec, id btf.ID, b []byte, order binary.ByteOrder) string {
	if spec == nil || id == 0 {
		switch len(b) {
		case 4:
			return fmt.Sprint(order.Uint32(b))
		case 8:
			return fmt.Sprint(order.Uint64(b))
		}
	}
	return typedText(spec, id, b)
}

// valueChange formats a new value together with the old one: " = 2 (was 1)", or for structs and
// arrays the members that differ: ".calls = 2 (was 1), .state = DONE (was NEW)".
func valueChange(spec *btf.Spec, id btf.ID, before, after []byte) string {
	if spec != nil && id != 0 {
		opt := btf.DecodeOptions{MaxElems: 4096}
		old, err1 := spec.DecodeValue(id, before, opt)
		now, err2 := spec.DecodeValue(id, after, opt)
		if err1 == nil && err2 == nil {
			d := valueDiff{}
			d.compare("", old, now, false)
			return d.String()
		}
	}
	return fmt.Sprintf(" = %s (was %s)", typedText(spec, id, after), typedText(spec, id, before))
}

// valueDiff collects the leaves in which two values differ.
type valueDiff struct {
	parts []string
	more  int
}

// mostParts is the number of differing members of one value that are listed.
const mostParts = 12

func (d *valueDiff) String() string {
	if d.more > 0 {
		return strings.Join(d.parts, ", ") + fmt.Sprintf(", ... and %d more members", d.more)
	}
	return strings.Join(d.parts, ", ")
}

func (d *valueDiff) compare(path string, old, now any, hex bool) {
	switch now := now.(type) {
	case btf.Object:
		if old, ok := old.(btf.Object); ok && len(old) == len(now) {
			for i, e := range now {
				d.compare(path+"."+e.Name, old[i].Value, e.Value, hex || strings.HasSuffix(e.Name, "flags") || strings.HasSuffix(e.Name, "mask"))
			}
			return
		}
	case btf.List:
		if old, ok := old.(btf.List); ok && len(old) == len(now) {
			for i, v := range now {
				d.compare(fmt.Sprintf("%s[%d]", path, i), old[i], v, hex)
			}
			return
		}
	}
	opt := btf.FormatOptions{Hex: hex}
	was, is := btf.FormatValue(old, opt), btf.FormatValue(now, opt)
	switch {
	case was == is:
	case len(d.parts) == mostParts:
		d.more++
	default:
		d.parts = append(d.parts, fmt.Sprintf("%s = %s (was %s)", path, is, was))
	}
}

// shortHex formats at most 32 bytes, followed by the total number if there are more.
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
			parts = append(parts, v.Name+valueChange(spec, v.Type, before, after))
		}
	}
	if len(parts) == 0 {
		return "changed outside of its variables"
	}
	return strings.Join(parts, ", ")
}
