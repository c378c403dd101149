package helpers

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
)

// kfuncGaps compares kfuncs of kernels with what is simulated and with the list of what is not.
func kfuncGaps(known map[string]bool, simulated func(string) bool, list []Unsimulated) (unlisted, listedThough, unknown []string) {
	listed := map[string]bool{}
	for _, u := range list {
		listed[u.Name] = true
		if simulated(u.Name) {
			listedThough = append(listedThough, u.Name)
		}
		if !known[u.Name] {
			unknown = append(unknown, u.Name)
		}
	}
	for name := range known {
		if !simulated(name) && !listed[name] {
			unlisted = append(unlisted, name)
		}
	}
	slices.Sort(unlisted)
	return unlisted, listedThough, unknown
}

// TestEveryKfunc: a kfunc that Linux 7.2's BTF tags, or that has a prototype (those of modules), is
// simulated or on the list of those that are not, never both.
func TestEveryKfunc(t *testing.T) {
	spec, err := testbtf.Load(filepath.Join("..", "testdata", "btf", "linux-7.2.13-amd64.btf.xz"))
	require.NoError(t, err)
	known := map[string]bool{}
	for _, id := range spec.Kfuncs() {
		fn, err := spec.Type(id)
		require.NoError(t, err)
		known[fn.Name] = true
	}
	require.Len(t, known, 308, "the tags of Linux 7.2")
	for _, k := range proto.Kfuncs() {
		known[k.Name] = true
	}
	simulated := func(name string) bool { _, ok := kfuncByName()[name]; return ok }
	unlisted, listedThough, unknown := kfuncGaps(known, simulated, UnsimulatedKfuncs())
	assert.Empty(t, unlisted, "neither simulated nor listed in unsimulated.go")
	assert.Empty(t, listedThough, "listed in unsimulated.go and simulated")
	assert.Empty(t, unknown, "listed in unsimulated.go, and no kernel has it")
	names := make([]string, 0, len(unsimulated))
	for _, u := range unsimulated {
		assert.NotEmpty(t, u.Why, u.Name)
		names = append(names, u.Name)
	}
	assert.True(t, slices.IsSorted(names), "unsimulated.go is sorted by name")
	assert.Len(t, slices.Compact(names), len(unsimulated), "a kfunc is listed once")
}

// TestKfuncGaps: each kind of gap is found.
func TestKfuncGaps(t *testing.T) {
	simulated := func(name string) bool { return name == "done" || name == "both" }
	known := map[string]bool{"done": true, "both": true, "gap": true, "refused": true}
	unlisted, listedThough, unknown := kfuncGaps(known, simulated, []Unsimulated{{"both", "x"}, {"refused", "x"}, {"gone", "x"}})
	assert.Equal(t, []string{"gap"}, unlisted)
	assert.Equal(t, []string{"both"}, listedThough)
	assert.Equal(t, []string{"gone"}, unknown)
}
