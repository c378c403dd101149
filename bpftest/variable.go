package bpftest

import (
	"encoding/binary"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// Variable is a global variable of an object. Get it with [Object.Var].
type Variable struct {
	o      *Object
	name   string
	v      loader.Var
	frozen bool
}

// Var returns a global variable by name. If the object has no such variable, the test ends.
func (o *Object) Var(name string) *Variable {
	o.t.Helper()
	def, v, ok := machine.Variable(o.m.Linked(), name)
	if !ok {
		o.fail(unknown("global variable", name, machine.VariableNames(o.m.Linked())))
		return nil
	}
	return &Variable{o, name, v, def.Frozen()}
}

// Size returns the variable's size in bytes.
func (v *Variable) Size() int { return int(v.v.Size) }

// Get reads the variable into out, as [Map.Lookup] does with values.
func (v *Variable) Get(out any) error {
	b, err := v.o.m.ReadVariable(v.name)
	if err != nil {
		return err
	}
	return unmarshal("variable "+v.name, b, out, v.o.order())
}

// Set changes the variable between runs. For constants it returns [ErrReadOnly]: set them before
// loading, with the option [Set].
func (v *Variable) Set(value any) error {
	if v.frozen {
		return &ReadOnlyError{v.name}
	}
	b, err := marshal("variable "+v.name, value, v.Size(), v.o.order())
	if err != nil {
		return err
	}
	return v.o.m.WriteVariable(v.name, b)
}

// Get reads a global variable as a Go value. If the variable is missing or has another size, the
// test ends.
func Get[T any](o *Object, name string) T {
	o.t.Helper()
	var v T
	o.fail(o.Var(name).Get(&v))
	return v
}

// order returns the byte order of the object.
func (o *Object) order() binary.ByteOrder { return o.m.Linked().Object.ByteOrder }
