package debug

import (
	"fmt"

	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/maps"
)

// mapValue is a map as a whole.
func (vs *values) mapValue(def *loader.Map) (*Value, error) {
	m, ok := vs.m.Map(def)
	if !ok {
		return nil, &UnavailableError{"map " + def.Name, fmt.Sprintf("type %v is not simulated", def.Type)}
	}
	return &Value{kind: aMap, m: m, name: def.Name}, nil
}

// keyType and valueType of a map; values without BTF are bytes.
func (ty *types) keyType(m maps.Map) Type {
	sp := m.Spec()
	if sp.BTF != nil && sp.KeyType != 0 {
		return Type{Spec: sp.BTF, ID: sp.KeyType}
	}
	return ty.bytesType(int(sp.KeySize))
}

func (ty *types) valueType(m maps.Map) Type {
	sp := m.Spec()
	if sp.BTF != nil && sp.ValueType != 0 {
		return Type{Spec: sp.BTF, ID: sp.ValueType}
	}
	return ty.bytesType(int(sp.ValueSize))
}
