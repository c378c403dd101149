package expr

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/loader"
)

// RecordRef marks a value as part of a record sent to user space: MAP[INDEX] from byte off.
type RecordRef struct {
	Def        *loader.Map
	Index, Off int
}

// within returns a reference to the part that begins lo bytes further on.
func (r *RecordRef) within(lo uint64) *RecordRef {
	if r == nil {
		return nil
	}
	return &RecordRef{r.Def, r.Index, r.Off + int(lo)}
}

// DefOf returns the definition of a map in the object, nil for inner maps.
func (vs *Values) DefOf(m maps.Map) *loader.Map {
	for _, def := range vs.linked.Maps {
		if x, ok := vs.m.Map(def); ok && x == m {
			return def
		}
	}
	return nil
}

// RecordsOf returns the run's records in a ring or perf buffer, oldest first.
func (vs *Values) RecordsOf(def *loader.Map) [][]byte {
	if list, ok := vs.Now.Sent(def); ok {
		return list
	}
	m, ok := vs.m.Map(def)
	if !ok {
		return nil
	}
	var out [][]byte
	for _, r := range RecordsIn(m) {
		out = append(out, r.Data)
	}
	return out
}

// RecordsIn returns the records of a map, nil for maps without records.
func RecordsIn(m maps.Map) []maps.Record {
	switch m := m.(type) {
	case maps.RingBuffer:
		return m.Records()
	case maps.PerfArray:
		return m.Records()
	}
	return nil
}

// IsSender reports whether a map sends records to user space.
func IsSender(m maps.Map) bool {
	switch m.(type) {
	case maps.RingBuffer, maps.PerfArray:
		return true
	}
	return false
}

// RecordElement evaluates m[N] of a ring or perf buffer: record N of the run, in the type that
// matches it.
func (vs *Values) RecordElement(x *Value, n uint64) (*Value, error) {
	def := vs.DefOf(x.Map)
	if def == nil {
		return nil, fmt.Errorf("%s is not a map of the object", x.Name)
	}
	list := vs.RecordsOf(def)
	if n >= uint64(len(list)) {
		return nil, &absentError{what: fmt.Sprintf("%s has %d records in this run, numbered from 0", x.Name, len(list))}
	}
	data := list[n]
	return &Value{Type: vs.recordType(def.Name, data), Data: data, Rec: &RecordRef{def, int(n), 0}}, nil
}

// recordType returns the object's type that matches a record, or an array of bytes.
func (vs *Values) recordType(mapName string, data []byte) Type {
	if id := vs.m.EventTypes().Find(mapName, len(data)); id != 0 {
		return Type{Spec: vs.m.EventTypes().Spec(), ID: id}
	}
	t := vs.Basic.Named("unsigned char")
	t.Elems = len(data)
	return t
}
