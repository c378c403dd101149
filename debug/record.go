package debug

import (
	"fmt"

	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/maps"
)

// recordRef means that a value is part of a record sent to user space: MAP[INDEX] from byte off.
type recordRef struct {
	def        *loader.Map
	index, off int
}

// within is the reference of a part that begins lo bytes after.
func (r *recordRef) within(lo uint64) *recordRef {
	if r == nil {
		return nil
	}
	return &recordRef{r.def, r.index, r.off + int(lo)}
}

// defOf returns the definition of a map of the object, nil for inner maps.
func (vs *values) defOf(m maps.Map) *loader.Map {
	for _, def := range vs.linked.Maps {
		if x, ok := vs.m.Map(def); ok && x == m {
			return def
		}
	}
	return nil
}

// recordsOf returns the records of the run in a ring or perf buffer, oldest first.
func (vs *values) recordsOf(def *loader.Map) [][]byte {
	if list, ok := vs.now.sent(def); ok {
		return list
	}
	m, ok := vs.m.Map(def)
	if !ok {
		return nil
	}
	var out [][]byte
	for _, r := range sent(m) {
		out = append(out, r.Data)
	}
	return out
}

// sent returns the records of a map that has some.
func sent(m maps.Map) []maps.Record {
	switch m := m.(type) {
	case maps.RingBuffer:
		return m.Records()
	case maps.PerfArray:
		return m.Records()
	}
	return nil
}

// isSender reports whether a map sends records to user space.
func isSender(m maps.Map) bool {
	switch m.(type) {
	case maps.RingBuffer, maps.PerfArray:
		return true
	}
	return false
}

// recordElement is m[N] of a ring or perf buffer: record N of the run, in the type that fits it.
func (vs *values) recordElement(x *Value, n uint64) (*Value, error) {
	def := vs.defOf(x.m)
	if def == nil {
		return nil, fmt.Errorf("%s is not a map of the object", x.name)
	}
	list := vs.recordsOf(def)
	if n >= uint64(len(list)) {
		return nil, &absentError{what: fmt.Sprintf("%s has %d records in this run, from 0", x.name, len(list))}
	}
	data := list[n]
	return &Value{Type: vs.recordType(def.Name, data), Data: data, rec: &recordRef{def, int(n), 0}}, nil
}

// recordType is the type of the object that fits a record, an array of bytes when none does.
func (vs *values) recordType(mapName string, data []byte) Type {
	if id := vs.m.EventTypes().Find(mapName, len(data)); id != 0 {
		return Type{Spec: vs.m.EventTypes().Spec(), ID: id}
	}
	t := vs.basic.named("unsigned char")
	t.Elems = len(data)
	return t
}
