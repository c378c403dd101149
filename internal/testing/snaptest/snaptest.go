// Package snaptest checks that restoring a snapshot brings back every field of a state. It is for
// tests only.
package snaptest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/exp/constraints"

	"github.com/bpfrun/bpfrun/internal/undo"
)

// Field changes one field of a state and reads it.
type Field struct {
	// Set gives the field its nth value; different n give different values.
	Set func(n int)
	// Get returns a copy of the value.
	Get func() any
}

// Number returns the row of a numeric field.
func Number[T constraints.Integer](p *T) Field {
	return Value(p, func(n int) T { return T(n) })
}

// Bool returns the row of a boolean.
func Bool[T ~bool](p *T) Field { return Value(p, func(n int) T { return n%2 != 0 }) }

// Text returns the row of a string.
func Text(p *string) Field { return Value(p, func(n int) string { return fmt.Sprint(n) }) }

// Value returns the row of a field that is copied by assignment; value makes its nth value.
func Value[T any](p *T, value func(n int) T) Field {
	return Field{func(n int) { *p = value(n) }, func() any { return *p }}
}

// Pointer returns the row of a pointer, compared by address.
func Pointer[T any](p **T) Field {
	made := map[int]*T{}
	return Field{func(n int) {
		if made[n] == nil {
			made[n] = new(T)
		}
		*p = made[n]
	}, func() any { return fmt.Sprintf("%p", *p) }}
}

// Slice returns the row of a slice: it grows, and its first element changes in place.
func Slice[S ~[]T, T any](p *S, value func(n int) T) Field {
	return Field{func(n int) {
		*p = append(*p, value(n))
		(*p)[0] = value(n)
	}, func() any { return slices.Clone(*p) }}
}

// Map returns the row of a map, which gets another key in place.
func Map[M ~map[K]V, K comparable, V any](p *M, key func(n int) K, value V) Field {
	return Field{func(n int) {
		if *p == nil {
			*p = M{}
		}
		(*p)[key(n)] = value
	}, func() any { return maps.Clone(*p) }}
}

// UndoMap returns the row of a map with undo, which gets another key.
func UndoMap[K comparable, V any](p *undo.Map[K, V], key func(n int) K, value V) Field {
	return Field{func(n int) { p.Set(key(n), value) }, func() any { return maps.Collect(p.All()) }}
}

// Check fills all fields of a state, takes a snapshot, changes the fields, restores and compares,
// twice. state is a pointer to a struct. A field without a row fails the test unless its tag
// snapshot gives the reason: "fixed" never changes, "part" has a snapshot of its own.
func Check(t *testing.T, state any, rows map[string]Field, snapshot func() (restore func())) {
	t.Helper()
	typ := reflect.TypeOf(state).Elem()
	known := map[string]bool{}
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Name == "_" || f.Tag.Get("snapshot") != "" {
			continue
		}
		known[f.Name] = true
		require.Contains(t, rows, f.Name, "field %s of %v: restore it, and add a row here", f.Name, typ)
	}
	names := slices.Sorted(maps.Keys(rows))
	for _, n := range names {
		require.True(t, known[n], "%v has no field %s that changes", typ, n)
		rows[n].Set(1)
	}
	was := map[string]any{}
	for _, n := range names {
		was[n] = rows[n].Get()
	}
	restore := snapshot()
	for again := range 2 {
		for _, n := range names {
			rows[n].Set(2 + again*2)
			require.False(t, assert.ObjectsAreEqual(was[n], rows[n].Get()), "the row of %s changes nothing", n)
		}
		restore()
		for _, n := range names {
			// The values may lead to all of simulated memory, so they are not printed.
			assert.True(t, assert.ObjectsAreEqual(was[n], rows[n].Get()), "field %s of %v is not what it was", n, typ)
		}
	}
}
