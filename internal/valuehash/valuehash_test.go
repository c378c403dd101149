package valuehash

import (
	"crypto/sha256"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type inner struct{ a, b string }

type value struct {
	text   string
	list   []string
	bytes  []byte
	array  [2]int
	table  map[string]int
	signed map[int8]bool
	keyed  map[inner]uint
	next   *value
	any    any
	f      func()
	flag   bool
	flags  []bool
}

func sum(t *testing.T, v any) [32]byte {
	t.Helper()
	h := New(sha256.New())
	h.Add(v)
	require.NoError(t, h.Err())
	return [32]byte(h.Sum(nil))
}

// Values of other contents have other hashes, and those of equal contents equal ones, whichever
// copies they are.
func TestHashesTellContentsApart(t *testing.T) {
	loop := &value{text: "loop"}
	loop.next = loop
	values := map[string]func() any{
		"zero":           func() any { return value{} },
		"text":           func() any { return value{text: "a"} },
		"list":           func() any { return value{list: []string{"ab", "c"}} },
		"list cut":       func() any { return value{list: []string{"a", "bc"}} },
		"empty list":     func() any { return value{list: []string{}} },
		"bytes":          func() any { return value{bytes: []byte("a")} },
		"flags":          func() any { return value{flags: []bool{true, false}} },
		"other flags":    func() any { return value{flags: []bool{false, true}} },
		"more flags":     func() any { return value{flags: []bool{true, false, false}} },
		"array":          func() any { return value{array: [2]int{0, 1}} },
		"table":          func() any { return value{table: map[string]int{"a": 1, "b": 2, "c": 3}} },
		"table swapped":  func() any { return value{table: map[string]int{"a": 2, "b": 1, "c": 3}} },
		"empty table":    func() any { return value{table: map[string]int{}} },
		"signed":         func() any { return value{signed: map[int8]bool{-1: true, 1: false}} },
		"signed swapped": func() any { return value{signed: map[int8]bool{-1: false, 1: true}} },
		"keyed":          func() any { return value{keyed: map[inner]uint{{"a", "b"}: 1, {"b", "a"}: 2}} },
		"keyed swapped":  func() any { return value{keyed: map[inner]uint{{"a", "b"}: 2, {"b", "a"}: 1}} },
		"next":           func() any { return value{next: &value{}} },
		"next's text":    func() any { return value{next: &value{text: "a"}} },
		"loop":           func() any { return *loop },
		"any":            func() any { return value{any: int32(1)} },
		"any other type": func() any { return value{any: uint32(1)} },
		"flag":           func() any { return value{flag: true} },
	}
	seen := map[[32]byte]string{}
	for name, make := range values {
		for range 8 { // maps have another order each time
			s := sum(t, make())
			if seen[s] == "" {
				seen[s] = name
			}
			assert.Equal(t, name, seen[s])
		}
	}
	assert.Len(t, seen, len(values))
}

func TestFunctionsHaveNoContent(t *testing.T) {
	for name, v := range map[string]any{"function": value{f: func() {}}, "in an interface": value{any: value{f: func() {}}}, "float": 1.5, "channel": make(chan int)} {
		h := New(sha256.New())
		h.Add(v)
		assert.Error(t, h.Err(), name)
	}
}

func TestSpecialValuesAreNotFollowed(t *testing.T) {
	h := New(sha256.New())
	h.Special = func(v reflect.Value) bool { return v.Kind() == reflect.Func }
	h.Add(value{f: func() {}})
	assert.NoError(t, h.Err())
}
