package differ_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/machine/differ"
	"github.com/bpfrun/bpfrun/loader"
)

// run makes the default run of a program of an object.
func run(t testing.TB, object, program string) differ.Run {
	obj, err := loader.Open("../../../testdata/objects/clang-14/" + object)
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	linked, err := obj.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{})
	require.NoError(t, err)
	m, err := machine.New(linked, machine.Config{Seed: 1})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	res, err := m.Run(t.Context(), program, machine.Input{})
	require.NoError(t, err)
	return differ.Run{Result: res, Linked: linked}
}

// TestBuilds: what changed between two builds of one source, and nothing else.
func TestBuilds(t *testing.T) {
	for _, c := range []struct{ program, want string }{
		{"longer", ""},      // other instructions for the same sum
		{"stores_task", ""}, // an address, in a value that got another member
		{"stricter", "the return value is 2, but 1"},
		{"counted", "the run ends as ok, but as fault"},
	} {
		assert.Equal(t, c.want, differ.Between(run(t, "builds_old.o", c.program), run(t, "builds_new.o", c.program)), c.program)
	}
}

// TestPlaces: values are compared by the names of variables and members, whole without names, and
// by what runs left there.
func TestPlaces(t *testing.T) {
	a, b := run(t, "builds_old.o", "stores_task"), run(t, "builds_new.o", "stores_task")
	require.Len(t, a.Changes, 1)
	require.NotEqual(t, len(a.Changes[0].New), len(b.Changes[0].New))
	assert.Contains(t, differ.Between(differ.Run{Result: a.Result}, differ.Run{Result: b.Result}), "maps differ: counts[00000000] has 16 bytes, but 24", "without objects the sizes differ")
	b.Changes[0].New[0] = 7
	assert.Equal(t, "maps differ: counts[00000000].packets = 0100000000000000, but counts[00000000].packets = 0700000000000000", differ.Between(a, b))
	b.Changes[0].New = nil
	assert.Equal(t, "maps differ: nothing, but counts[00000000] deleted", differ.Between(a, b))
	b.Changes = nil
	assert.Contains(t, differ.Between(a, b), "maps differ: counts[00000000].packets = 0100000000000000, but nothing")

	a, b = run(t, "builds_old.o", "stores_task"), run(t, "builds_new.o", "stores_task")
	a.Changes[0].Old = bytes.Clone(a.Changes[0].New)
	assert.Empty(t, differ.Between(a, b), "all members of an element count, also what the run found there")

	x, y := run(t, "globals.o", "globals"), run(t, "globals.o", "globals")
	require.NotEmpty(t, x.Changes)
	assert.Empty(t, differ.Between(x, y))
	for i, c := range y.Changes {
		if c.Map == ".bss" {
			y.Changes[i].New[len(c.New)-1] ^= 1
		}
	}
	assert.Regexp(t, `^maps differ: zero_struct\S+ = 00, but zero_struct\S+ = 01$`, differ.Between(x, y), "the variable is named")
}

// TestLongValues: of values that are long the first byte or field that differs is shown, with its
// path, and never all of them.
func TestLongValues(t *testing.T) {
	const object = "searched_old.o"
	x, y := run(t, object, "filled"), run(t, object, "filled")
	require.Len(t, y.Changes, 1)
	y.Changes[0].New[24+41], y.Changes[0].New[24+50] = 9, 9
	assert.Equal(t, "maps differ: table[03000000].name[41] = 00, but table[03000000].name[41] = 09", differ.Between(x, y))
	assert.Equal(t, "maps differ: table[03000000]+65 = 00, but table[03000000]+65 = 09", differ.Between(differ.Run{Result: x.Result}, differ.Run{Result: y.Result}), "without types")
	y.Changes[0].New = y.Changes[0].New[:40]
	assert.Equal(t, "maps differ: table[03000000] has 88 bytes, but 40", differ.Between(differ.Run{Result: x.Result}, differ.Run{Result: y.Result}))
	y.Changes = nil
	assert.Equal(t, "maps differ: table[03000000] = 0000000000000000... (88 bytes), but nothing", differ.Between(differ.Run{Result: x.Result}, differ.Run{Result: y.Result}))

	x.Events, y.Events = []machine.Event{{Map: "notes", Data: make([]byte, 64)}}, []machine.Event{{Map: "notes", Data: make([]byte, 64)}}
	y.Events[0].Data[33] = 5
	assert.Equal(t, "record 0 of notes differs: byte 33 is 00, but 05", differ.Between(x, y))
	y.Events[0].Data = make([]byte, 60)
	assert.Equal(t, "record 0 of notes differs: it has 64 bytes, but 60", differ.Between(x, y))
	y.Events[0].Map = "others"
	assert.Equal(t, "record 0 of notes differs: it is sent to others", differ.Between(x, y))
}
