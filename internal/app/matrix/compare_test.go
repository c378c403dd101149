package matrix

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// eventSpec holds struct event { u32 pid; u32 uid; char comm[8]; u64 ptr; u32 a:4, b:4, c:12, :4; } as type
// 5.
func eventSpec(t *testing.T) (*btf.Spec, btf.ID) {
	b := btf.NewBuilder(nil)
	u32 := b.Int("unsigned int", 4, 0)
	char := b.Int("char", 1, btf.IntSigned)
	u64 := b.Int("unsigned long", 8, 0)
	comm := b.Array(char, u32, 8)
	event := b.Struct("event", 32, btf.Member{Name: "pid", Type: u32}, btf.Member{Name: "uid", Type: u32, BitOffset: 32},
		btf.Member{Name: "comm", Type: comm, BitOffset: 64}, btf.Member{Name: "ptr", Type: u64, BitOffset: 128},
		btf.Member{Name: "a", Type: u32, BitOffset: 192, BitfieldSize: 4}, btf.Member{Name: "b", Type: u32, BitOffset: 196, BitfieldSize: 4},
		btf.Member{Name: "c", Type: u32, BitOffset: 200, BitfieldSize: 12}, btf.Member{Name: "", Type: u32, BitOffset: 212, BitfieldSize: 4})
	s, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	return s, event
}

func TestDifferences(t *testing.T) {
	spec, typ := eventSpec(t)
	data := func(change func(b []byte)) []byte {
		b := make([]byte, 32)
		copy(b[8:], "bash")
		if change != nil {
			change(b)
		}
		return b
	}
	hash := &loader.Map{Name: "m", KeyType: 1, ValueType: typ}
	globals := &loader.Map{Name: ".bss", DataKind: loader.DataBSS, Vars: []loader.Var{{Name: "hits", Off: 0, Size: 4, Type: 1}, {Name: "misses", Off: 4, Size: 4, Type: 1}}}
	names := map[uint64]string{1<<63 | 7: "current.cred"}
	ref := outcome{spec: spec, names: names, ret: 1,
		events: []event{{"rb", typ, data(nil)}}, packet: []byte{1, 2, 3},
		changes: []change{{id: ".bss", place: ".bss", def: globals, val: make([]byte, 8)}, {id: "m1", place: "m[1]", def: hash, val: data(nil)}},
	}
	for _, c := range []struct {
		name   string
		change func(o *outcome)
		want   []string
	}{
		{"equal", func(*outcome) {}, nil},
		{"return", func(o *outcome) { o.ret = ^uint64(21) }, []string{"returns -22, not 1"}},
		{"return address", func(o *outcome) { o.ret = 1<<63 | 7 }, []string{"returns &current.cred, not 1"}},
		{"packet byte", func(o *outcome) { o.packet = []byte{1, 9, 3} }, []string{"packet byte 1 is 0x09, not 0x02"}},
		{"packet length", func(o *outcome) { o.packet = nil }, []string{"packet has 0 bytes, not 3"}},
		{"no event", func(o *outcome) { o.events = nil }, []string{"sends 0 events, not 1"}},
		{"event elsewhere", func(o *outcome) { o.events = []event{{"other", typ, data(nil)}} }, []string{"event to other, not to rb"}},
		{"bytes behind the end of a string", func(o *outcome) {
			o.events = []event{{"rb", typ, data(func(b []byte) { b[14] = 0x61 })}}
		}, []string{`event rb.comm = "bash" with byte 6 0x61, not 0x00`}},
		{"typed fields", func(o *outcome) {
			o.events = []event{{"rb", typ, data(func(b []byte) {
				b[4] = 5
				b[9] = 'u'
				binary.LittleEndian.PutUint64(b[16:], 1<<63|7)
			})}}
		}, []string{`event rb.uid = 5, not 0`, `event rb.comm = "bush", not "bash"`, `event rb.ptr = &current.cred, not 0`}},
		{"bitfield", func(o *outcome) { o.events = []event{{"rb", typ, data(func(b []byte) { b[24] = 0x10 })}} },
			[]string{"event rb.b = 1, not 0"}},
		{"bitfields beside each other", func(o *outcome) {
			o.events = []event{{"rb", typ, data(func(b []byte) { b[24], b[25] = 0x21, 3 })}}
		}, []string{"event rb.a = 1, not 0", "event rb.b = 2, not 0", "event rb.c = 3, not 0"}},
		{"a bitfield of two bytes", func(o *outcome) {
			o.events = []event{{"rb", typ, data(func(b []byte) { b[26] = 1 })}}
		}, []string{"event rb.c = 256, not 0"}},
		{"untyped", func(o *outcome) { o.events = []event{{"rb", 0, data(func(b []byte) { b[17] = 1 })}} },
			[]string{"event rb byte 16 = 0001000000000000, not 0000000000000000"}},
		{"size", func(o *outcome) { o.events = []event{{"rb", typ, make([]byte, 40)}} }, []string{"event rb has 40 bytes, not 32"}},
		{"map value", func(o *outcome) {
			o.changes = []change{o.changes[0], {id: "m1", place: "m[1]", def: hash, val: data(func(b []byte) { b[0] = 1 })}}
		}, []string{"map m[1].pid = 1, not 0"}},
		{"other key", func(o *outcome) {
			o.changes = []change{o.changes[0], {id: "m2", place: "m[2]", def: hash, val: data(nil)}}
		}, []string{"map m[1] set not here", "map m[2] set only here"}},
		{"deleted", func(o *outcome) {
			o.changes = []change{o.changes[0], {id: "m1", place: "m[1]", def: hash, deleted: true}}
		}, []string{"map m[1] deleted only here"}},
		{"global", func(o *outcome) {
			o.changes = []change{{id: ".bss", place: ".bss", def: globals, val: []byte{0, 0, 0, 0, 2, 0, 0, 0}}, o.changes[1]}
		}, []string{"global misses = 2, not 0"}},
		{"effects", func(o *outcome) { o.effects = []string{"send_signal 9"} }, []string{"effects send_signal 9, not none"}},
	} {
		o := ref
		c.change(&o)
		assert.Equal(t, c.want, o.differences(&ref), c.name)
	}
}

func TestCompareRow(t *testing.T) {
	targets := []Target{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	row := func() *Row { return &Row{Cells: []*Cell{{Result: RunOK}, {Result: RunOK}, {Result: RunOK}}} }
	r := row()
	compareRow(r, []*outcome{{ret: 0}, {ret: 0}, {ret: 1}}, 0, targets)
	assert.Equal(t, []Outcome{RunOK, RunOK, RunDiffers}, []Outcome{r.Cells[0].Result, r.Cells[1].Result, r.Cells[2].Result})
	assert.Equal(t, "differs from a: returns 1, not 0", r.Cells[2].Detail)

	// The base did not run: the first kernel that did stands in.
	r = row()
	r.Cells[0] = &Cell{Result: RunNone, Load: LoadAbsent}
	compareRow(r, []*outcome{nil, {ret: 0}, {ret: 1}}, 0, targets)
	assert.Equal(t, "differs from b: returns 1, not 0", r.Cells[2].Detail)
	assert.Equal(t, RunOK, r.Cells[1].Result)

	r = row()
	compareRow(r, []*outcome{{ret: 0}, {ret: 0}, {ret: 1}}, 2, targets)
	assert.Equal(t, "differs from c: returns 0, not 1", r.Cells[0].Detail)
}

// TestUntypedRunsAreComparedWithEachOther: what ran without the types of its arguments differs from
// what ran with them for that reason alone.
func TestUntypedRunsAreComparedWithEachOther(t *testing.T) {
	targets := []Target{{Name: "a"}, {Name: "b"}}
	for _, c := range []struct {
		ref, other bool // untyped
		result     Outcome
		load       Load
	}{
		{false, false, RunDiffers, LoadOK}, {true, true, RunDiffers, LoadOK}, {true, false, RunDiffers, LoadOK}, {false, true, RunOK, LoadUnknown},
	} {
		r := &Row{Cells: []*Cell{{Load: LoadOK, Result: RunOK}, {Load: LoadOK, Result: RunOK}}}
		compareRow(r, []*outcome{{untyped: c.ref}, {untyped: c.other, ret: 1}}, 0, targets)
		assert.Equal(t, c.result, r.Cells[1].Result, "%+v", c)
		assert.Equal(t, c.load, r.Cells[1].Load, "%+v", c)
	}
}

// TestReference: the base if it ran, and there is one, else the first that did.
func TestReference(t *testing.T) {
	ran := &outcome{}
	for _, c := range []struct {
		outcomes   []*outcome
		base, want int
	}{
		{[]*outcome{ran, ran}, 1, 1}, {[]*outcome{ran, ran}, 0, 0}, {[]*outcome{nil, ran}, 0, 1}, {[]*outcome{nil, ran}, -1, 1}, {[]*outcome{nil, ran}, 2, 1}, {[]*outcome{nil, nil}, 0, -1},
	} {
		assert.Equal(t, c.want, reference(c.outcomes, c.base), "%+v", c)
	}
}

// TestDifferencesAreCut: all are listed up to a limit, and those beyond it counted.
func TestDifferencesAreCut(t *testing.T) {
	assert.Equal(t, "differs from k: a; b; c; d", explainDifferences("k", []string{"a", "b", "c", "d"}))
	assert.Equal(t, "differs from k: a; b; c; d; and 2 more", explainDifferences("k", []string{"a", "b", "c", "d", "e", "f"}))
}

// TestNamedAddressesAreNoNumbers: what stands for an address is larger than most numbers, so that
// it is not taken for one of them.
func TestNamedAddressesAreNoNumbers(t *testing.T) {
	target, err := kernels(k72)[0].Open()
	require.NoError(t, err)
	l, err := open(t, "examples/exec/exec.bpf.o")[0].Load(target, loader.LoadOptions{})
	require.NoError(t, err)
	m, err := machine.New(l, machine.Config{})
	require.NoError(t, err)
	defer m.Close()
	n := &namer{m: m, order: binary.LittleEndian, names: map[uint64]string{}}
	task := m.Kernel().Current().Addr()
	for off := uint64(0); off < 512; off += 8 {
		assert.Greater(t, n.word(task+off), uint64(1<<63), off)
	}
	assert.Greater(t, len(n.names), 16)
	assert.EqualValues(t, 7, n.word(7))
}

func TestWords(t *testing.T) {
	for word, c := range map[string]Cell{
		"ok":            {Load: LoadOK, Result: RunOK},
		"changed":       {Load: LoadOK, Result: RunOK, Relocations: Relocations{OK: 2, Changed: 1}},
		"dead":          {Load: LoadOK, Result: RunOK, Relocations: Relocations{OK: 2, Changed: 1, PoisonedDead: 1}},
		"may-break":     {Load: LoadOK, Result: RunOK, Relocations: Relocations{PoisonedMay: 1}},
		"BREAK":         {Load: LoadError, Result: RunNone, Relocations: Relocations{PoisonedReached: 1}},
		"differs":       {Load: LoadOK, Result: RunDiffers, Relocations: Relocations{PoisonedMay: 1}},
		"fault":         {Load: LoadOK, Result: RunFault},
		"not-simulated": {Load: LoadOK, Result: RunNotSimulated},
		"absent":        {Load: LoadAbsent, Result: RunNone},
		"error":         {Load: LoadError, Result: RunNone},
		"n/a":           {Load: LoadError, Result: RunNone, Mismatch: true},
		"off":           {Load: LoadOK, Result: RunNone, Disabled: true},
	} {
		assert.Equal(t, word, c.Word())
	}
}

func TestWhatAKernelLacks(t *testing.T) {
	for _, err := range []error{loader.ErrUnknownToTarget, loader.ErrNoHook, loader.ErrExtern} {
		assert.True(t, lacks(fmt.Errorf("x: %w", err)), "%v", err)
	}
	for _, err := range []error{nil, loader.ErrCORE, loader.ErrNotAllowed, errors.New("x")} {
		assert.False(t, lacks(err), "%v", err)
	}
}

// TestFactsOfKernels: of those with types, and of one without.
func TestFactsOfKernels(t *testing.T) {
	assert.Equal(t, &Facts{}, factsOf(&loader.Target{}))
	assert.Equal(t, &Facts{Release: "6.12", Version: "6.12", VersionKnown: "name"}, factsOf(loader.NewTarget("6.12", nil)))
	b := btf.NewBuilder(nil)
	b.Int("unsigned long", 8, 0)
	s, err := b.Spec(binary.BigEndian)
	require.NoError(t, err)
	f := factsOf(&loader.Target{BTF: s})
	assert.True(t, f.BigEndian)
	assert.Equal(t, 8, f.PointerSize)
	assert.Equal(t, 2, f.Types)
}
