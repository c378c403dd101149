package expr

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/loader"
)

// MapValue returns an entire map as a value.
func (vs *Values) MapValue(def *loader.Map) (*Value, error) {
	vs.Elsewhere()
	m, ok := vs.m.Map(def)
	if !ok {
		return nil, &UnavailableError{"map " + def.Name, fmt.Sprintf("type %v is not simulated", def.Type)}
	}
	return &Value{Kind: WholeMap, Map: m, Name: def.Name}, nil
}

// KeyType returns the type of a map's keys; without BTF, raw bytes.
func (ty *Types) KeyType(m maps.Map) Type {
	sp := m.Spec()
	if sp.BTF != nil && sp.KeyType != 0 {
		return Type{Spec: sp.BTF, ID: sp.KeyType}
	}
	return ty.bytesType(int(sp.KeySize))
}

// ValueType returns the type of a map's values; without BTF, raw bytes.
func (ty *Types) ValueType(m maps.Map) Type {
	sp := m.Spec()
	if sp.BTF != nil && sp.ValueType != 0 {
		return Type{Spec: sp.BTF, ID: sp.ValueType}
	}
	return ty.bytesType(int(sp.ValueSize))
}
