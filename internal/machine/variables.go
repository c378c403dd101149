package machine

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/loader"
)

// Variable finds a global variable of the object by name, preferring one that is not static, and
// the map of its data section.
func Variable(l *loader.Linked, name string) (*loader.Map, loader.Var, bool) {
	return loader.FindVariable(l.Maps, name, nil)
}

// VariableNames lists the global variables of an object in section order.
func VariableNames(l *loader.Linked) []string {
	return loader.VariableNames(l.Maps, nil)
}

// globals accesses the global variables of an object's programs, which are stored in maps. It has
// no state of its own.
type globals struct {
	reg *registry
	mem *mem.Memory
}

// variable returns the bytes of a global variable in simulated memory.
func (gl *globals) variable(name string) ([]byte, error) {
	def, v, ok := Variable(gl.reg.linked, name)
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrNoVariable, name)
	}
	b := gl.reg.byDef[def]
	if b == nil || b.m == nil {
		return nil, fmt.Errorf("%w: %s: section %s was not created", ErrNoVariable, name, def.Section)
	}
	addr := uint64(0)
	if direct, ok := b.m.(maps.ValueBase); ok {
		addr, _ = direct.DirectValue(0)
	}
	r := gl.mem.Find(addr)
	if r == nil {
		return nil, fmt.Errorf("%w: %s: section %s has no address", ErrNoVariable, name, def.Section)
	}
	bytes := gl.mem.Bytes(r)[addr-r.Base:]
	end := uint64(v.Off) + uint64(v.Size)
	if end > uint64(len(bytes)) || end > uint64(b.m.Spec().ValueSize) {
		return nil, fmt.Errorf("global %s is outside its section", name)
	}
	gl.mem.Written(addr+uint64(v.Off), uint64(v.Size)) // perhaps
	return bytes[v.Off:end:end], nil
}

// ReadVariable returns a copy of the bytes of a global variable.
func (gl *globals) ReadVariable(name string) ([]byte, error) {
	if a, at, size, ok := gl.arenaVariable(name); ok {
		b := make([]byte, size)
		return b, a.Peek(at, b)
	}
	b, err := gl.variable(name)
	if err != nil {
		return nil, err
	}
	return append([]byte(nil), b...), nil
}

// WriteVariable replaces the first bytes of a global variable between runs. Conclusions that
// constant propagation drew from read-only variables at load time remain: set those in
// [loader.LoadOptions].
func (gl *globals) WriteVariable(name string, data []byte) error {
	if a, at, size, ok := gl.arenaVariable(name); ok {
		if len(data) > size {
			return fmt.Errorf("global %s has %d bytes, got %d", name, size, len(data))
		}
		return a.Poke(at, data)
	}
	b, err := gl.variable(name)
	if err != nil {
		return err
	}
	if len(data) > len(b) {
		return fmt.Errorf("global %s has %d bytes, got %d", name, len(b), len(data))
	}
	copy(b, data)
	return nil
}
