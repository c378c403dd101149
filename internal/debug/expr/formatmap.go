package expr

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/internal/maps"
)

func (pr *Printer) formatMap(v *Value, opt FormatOptions) string {
	most := maxElements
	switch {
	case opt.Full:
		most = 1 << 20
	case opt.Elements > 0:
		most = opt.Elements
	}
	lines, more := pr.mapEntries(v, most, FormatOptions{Letter: opt.Letter})
	if more > 0 {
		lines = append(lines, fmt.Sprintf("... %d more", more))
	}
	return "{" + strings.Join(lines, ", ") + "}"
}

// MapEntries formats a map, one line per element and at most most lines; more is the number of
// elements left out.
func (pr *Printer) MapEntries(v *Value, most int) (lines []string, more int) {
	return pr.mapEntries(v, most, FormatOptions{})
}

// mapEntries is MapEntries with format options for the values.
func (pr *Printer) mapEntries(v *Value, most int, opt FormatOptions) (lines []string, more int) {
	pr.Looking()
	if IsSender(v.Map) {
		if def := pr.DefOf(v.Map); def != nil {
			return pr.records(def.Name, pr.RecordsOf(def), most)
		}
		return nil, 0
	}
	kt, vt := pr.KeyType(v.Map), pr.ValueType(v.Map)
	for _, e := range v.Map.Entries() {
		if len(lines) == most {
			more++
			continue
		}
		key := pr.Format(&Value{Type: kt, Data: e.Key}, FormatOptions{})
		if len(e.Key) == 0 {
			key = ""
		}
		var value string
		switch {
		case e.Ref != nil:
			value = pr.RefText(e.Ref)
		case e.PerCPU != nil:
			parts := make([]string, len(e.PerCPU))
			for cpu, b := range e.PerCPU {
				parts[cpu] = fmt.Sprintf("cpu%d: %s", cpu, pr.Format(&Value{Type: vt, Data: b}, opt))
			}
			value = strings.Join(parts, ", ")
		default:
			value = pr.Format(&Value{Type: vt, Data: e.Value}, opt)
		}
		lines = append(lines, fmt.Sprintf("[%s] = %s", key, value))
	}
	return lines, more
}

// RefText describes a map, program or other kernel object that a value refers to.
func (pr *Printer) RefText(ref any) string {
	if m, ok := ref.(maps.Map); ok {
		return "map " + m.Spec().Name
	}
	for _, name := range pr.m.Names() {
		if pr.m.IsProgram(name, ref) {
			return "program " + name
		}
	}
	return "a kernel object"
}

func (pr *Printer) records(mapName string, list [][]byte, most int) (lines []string, more int) {
	for i, data := range list {
		if i >= most {
			return lines, len(list) - i
		}
		lines = append(lines, pr.RecordText(mapName, data))
	}
	return lines, 0
}

// RecordText formats a record sent to user space, using the object's type that matches it.
func (pr *Printer) RecordText(mapName string, data []byte) string {
	id := pr.m.EventTypes().Find(mapName, len(data))
	if spec := pr.m.EventTypes().Spec(); id != 0 && spec != nil {
		return spec.TypeString(id) + " " + spec.FormatString(id, data)
	}
	t := pr.Basic.Named("unsigned char")
	t.Elems = len(data)
	return pr.Format(&Value{Type: t, Data: data}, FormatOptions{})
}
