package minkernel

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// TestRulesAgreeWithTypes: of the programs of the committed objects, a release whose types are not
// at hand says by rules what it says with them, or it is unknown.
func TestRulesAgreeWithTypes(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../../../testdata/objects/clang-14/*.o", "../../../testdata/objects/clang-22/*.o", "../../../examples/*/*.o"} {
		list, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, list...)
	}
	files = slices.DeleteFunc(files, func(f string) bool {
		switch filepath.Base(f) {
		case "senders.o": // its programs loop for longer than a test may take
			return true
		case "balanced.o", "behind.o", "limits.o", "pointers.o": // they read registers of x86 by relocations, and 6.1's types here are of arm64
			return true
		}
		return false
	})
	require.Greater(t, len(files), 100)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	all := []*loader.Target{loader.NewTarget(embedded.Name, spec)}
	for _, name := range []string{"linux-5.10.262-amd64-cloud", "linux-6.1.176-arm64-cloud", "linux-7.2.13-amd64"} {
		spec, err := testbtf.Load("../../../testdata/btf/" + name + ".btf.xz")
		require.NoError(t, err)
		all = append(all, loader.NewTarget(name, spec))
	}
	for _, out := range []int{0, 2} { // those with neighbours on both sides
		release := uapi.ReleaseOf(all[out].Version)
		counts := map[string]int{}
		for _, f := range files {
			obj, err := loader.Open(f)
			if err != nil || !Usable(obj, all[out]) {
				continue
			}
			with := columns(obj, all, 0)
			without := columns(obj, slices.Delete(slices.Clone(all), out, out+1), 0)
			at := slices.IndexFunc(with, func(c Column) bool { return c.Release == release })
			common := newTargets(obj, loader.LoadOptions{})
			for n, p := range obj.Programs {
				own, err := (&search{targets: common, ctx: t.Context(), n: n, columns: with}).column(at, &waiver{})
				require.NoError(t, err)
				rules, err := (&search{targets: common, ctx: t.Context(), n: n, columns: without}).column(at, &waiver{})
				require.NoError(t, err)
				require.True(t, rules.ByRules)
				counts[own.Outcome.String()+", by rules "+rules.Outcome.String()]++
				opposite := own.Outcome == Loads && rules.Outcome == Refused || own.Outcome == Refused && rules.Outcome == Loads && rules.Patch == 0
				assert.False(t, opposite, "%s %s on %s: %s (%v), by rules %s (%v)", filepath.Base(f), p.Name, release, own.Outcome, own.Hold, rules.Outcome, rules.Hold)
			}
		}
		t.Log(release, counts)
		assert.Greater(t, counts["loads, by rules loads"], 300)
		assert.Greater(t, counts["refused, by rules refused"], 60)
	}
}

// TestTablesBetweenReleases: who may call a helper or a kfunc is known for the releases whose
// tables were read; between two of them that differ it is not, and a refusal there is no answer.
func TestTablesBetweenReleases(t *testing.T) {
	probe, tc := proto.Caller{Type: uapi.ProgTypeKprobe}, proto.Caller{Type: uapi.ProgTypeSchedCls}
	for _, c := range []struct {
		release uapi.Release
		caller  proto.Caller
		helper  uapi.FuncID
		since   uapi.Release
		doubt   bool
	}{
		{uapi.R(5, 10), probe, uapi.FuncSpinLock, uapi.R(5, 15), false},
		{uapi.R(5, 12), probe, uapi.FuncSpinLock, uapi.R(5, 15), false},
		{uapi.R(6, 14), tc, uapi.FuncPerfEventRead, uapi.R(6, 16), false},
		{uapi.R(6, 15), tc, uapi.FuncPerfEventRead, uapi.R(6, 16), true},
		{uapi.R(5, 16), probe, uapi.FuncLoop, uapi.R(5, 17), false}, // dated by its number
	} {
		h := &Hold{}
		h.setHelper(c.helper, &loader.Target{Version: uint32(c.release) << 8}, c.caller)
		assert.Equal(t, c.since, h.Since, "%s on %s", c.helper, c.release)
		assert.Equal(t, c.doubt, h.doubt != "", "%s on %s", c.helper, c.release)
		a := (&Answer{}).refuse(h)
		assert.Equal(t, map[bool]Outcome{false: Refused, true: Unknown}[c.doubt], a.Outcome, "%s on %s", c.helper, c.release)
	}
	h := &Hold{}
	h.setKfunc("bpf_dynptr_from_skb", &loader.Target{Version: uint32(uapi.R(6, 2)) << 8}, proto.Caller{Type: uapi.ProgTypeSchedCls})
	assert.Equal(t, uapi.R(6, 4), h.Since)
	assert.Empty(t, h.doubt)
}
