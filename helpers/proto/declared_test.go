package proto

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

func TestKfuncFlagsOf(t *testing.T) {
	assert.Equal(t, Acquire|ReturnsNull, KfuncFlagsOf(1<<0|1<<2))
	assert.Equal(t, KptrGet|TrustedArgs|Sleepable, KfuncFlagsOf(1<<3|1<<4|1<<5))
	assert.Equal(t, ImplicitArgs, KfuncFlagsOf(1<<16|1<<31), "bits without a meaning are left out")
}

// A nil Declared leaves everything to the table.
func TestNothingDeclared(t *testing.T) {
	var d *Declared
	k, ok := d.Lookup("bpf_throw")
	require.True(t, ok)
	want, _ := LookupKfunc("bpf_throw")
	assert.Same(t, want, k)
	_, ok = d.Lookup("module_function")
	assert.False(t, ok)
	assert.Empty(t, d.Contradictions(r(6, 12)))
}

func TestDeclaredFlagsWin(t *testing.T) {
	d := Declare([]KfuncSet{{Name: "generic", Flags: map[string]KfuncFlags{"bpf_list_pop_front": Acquire | ReturnsNull, "bpf_throw": Sleepable}}})
	assert.Equal(t, []Contradiction{{Name: "bpf_throw", File: Sleepable}}, d.Contradictions(r(6, 12)))
	assert.Equal(t, "bpf_throw: sleepable in the file, no flags in the table", d.Contradictions(r(6, 12))[0].String())
	k, ok := d.Lookup("bpf_throw")
	require.True(t, ok)
	assert.Equal(t, Sleepable, k.FlagsIn(r(6, 12)))
	assert.Equal(t, Sleepable|TrustedArgs, k.FlagsIn(r(7, 0)), "all kfuncs take trusted pointers alone then")
	assert.True(t, k.In(r(5, 15)), "the file has it, whatever the release")
	table, _ := LookupKfunc("bpf_throw")
	assert.Zero(t, table.Flags, "the table is not changed")
}

// Who may call a function that the table does not know: by the code that registers its set, by
// others of the set, else unknown.
func TestDeclaredCallers(t *testing.T) {
	caller := func(typ uapi.ProgType) Caller { return Caller{Type: typ} }
	flags := map[string]KfuncFlags{"new_one": 0}
	for _, tt := range []struct {
		name         string
		set          KfuncSet
		xdp, syscall bool
		any          bool
	}{
		{"registered", KfuncSet{Flags: flags, Programs: []uapi.ProgType{uapi.ProgTypeXDP}}, true, false, false},
		{"registered for two types", KfuncSet{Flags: flags, Programs: []uapi.ProgType{uapi.ProgTypeXDP, uapi.ProgTypeSyscall}}, true, true, false},
		{"with a function of XDP programs", KfuncSet{Flags: map[string]KfuncFlags{"new_one": 0, "bpf_dynptr_from_xdp": 0}}, true, false, false},
		{"with functions of different programs", KfuncSet{Flags: map[string]KfuncFlags{"new_one": 0, "bpf_dynptr_from_xdp": 0, "bpf_throw": 0}}, true, true, true},
		{"alone", KfuncSet{Flags: flags}, true, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k, ok := Declare([]KfuncSet{tt.set}).Lookup("new_one")
			require.True(t, ok)
			assert.Equal(t, tt.any, k.AnyCaller)
			assert.Equal(t, tt.xdp, k.For(r(6, 12), caller(uapi.ProgTypeXDP)))
			assert.Equal(t, tt.syscall, k.For(r(6, 12), caller(uapi.ProgTypeSyscall)))
		})
	}
	both := Declare([]KfuncSet{{Flags: flags, Programs: []uapi.ProgType{uapi.ProgTypeXDP}}, {Flags: map[string]KfuncFlags{"new_one": Acquire}, Programs: []uapi.ProgType{uapi.ProgTypeSyscall}}})
	k, _ := both.Lookup("new_one")
	assert.Equal(t, Acquire, k.Flags, "the flags of all sets")
	assert.True(t, k.For(r(6, 12), caller(uapi.ProgTypeXDP)) && k.For(r(6, 12), caller(uapi.ProgTypeSyscall)))
}
