package minkernel_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/app/minkernel"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

const (
	k510 = "linux-5.10.262-amd64-cloud"
	k61  = "linux-6.1.176-arm64-cloud"
	k612 = embedded.Name
	k72  = "linux-7.2.13-amd64"
)

// kernels are the committed kernels of these names.
func kernels(t testing.TB, names ...string) []*loader.Target {
	var out []*loader.Target
	for _, name := range names {
		if name == embedded.Name {
			spec, err := embedded.Spec()
			require.NoError(t, err)
			out = append(out, loader.NewTarget(name, spec))
			continue
		}
		spec, err := testbtf.Load("../../../testdata/btf/" + name + ".btf.xz")
		require.NoError(t, err)
		out = append(out, loader.NewTarget(name, spec))
	}
	return out
}

func find(t testing.TB, object string, cfg minkernel.Config, names ...string) *minkernel.Result {
	obj, err := loader.Open("../../../testdata/objects/" + object)
	require.NoError(t, err)
	res, err := minkernel.Find(context.Background(), obj, kernels(t, names...), cfg)
	require.NoError(t, err)
	return res
}

// program is what a program needs, in words.
func program(res *minkernel.Result, name string) string {
	for _, p := range res.Programs {
		if p.Name != name {
			continue
		}
		if p.Oldest < 0 {
			return "nothing loads it"
		}
		at := func(column int, byRules bool) string {
			text := res.Columns[column].Release.String()
			if byRules {
				text += " by rules"
			}
			return text
		}
		a := &p.Answers[p.Oldest]
		text := at(p.Oldest, a.ByRules)
		if a.Patch > 0 {
			text += fmt.Sprintf(" update %d", a.Patch)
		}
		if p.From != p.Oldest {
			text += ", all from " + at(p.From, false)
		}
		if p.Held != nil {
			text += fmt.Sprintf("; %s (%s)", p.Held.Text(), p.Held.Since)
		}
		if p.Next != nil {
			text += "; without " + at(p.Next.Oldest, p.Next.ByRules)
			if p.Next.Held != nil {
				text += ", " + p.Next.Held.Text()
			}
		}
		return text
	}
	return "no such program"
}

// TestOldestRelease: for each kind of thing that a release brings, the release, and what the
// program would need without it.
func TestOldestRelease(t *testing.T) {
	res := find(t, "clang-14/needs.o", minkernel.Config{}, k510, k612, k72)
	for name, want := range map[string]string{
		"plain":       "5.10",
		"tai":         "6.1 by rules; helper bpf_ktime_get_tai_ns (6.1); without 5.10",
		"tai_guarded": "5.10",
		"callback":    "5.17 by rules; helper bpf_loop (5.17); without 5.13 by rules, instruction: addresses of functions can be loaded",
		"in_bloom":    "5.16 by rules; map type bloom_filter (5.16); without 5.10",
		"state":       "6.12; CO-RE field task_struct___new.__state (0.0); without 5.10",
		"iterates":    "6.4 by rules; kfunc bpf_iter_num_new (6.4); without 5.10",
		"filter":      "6.4 by rules; program type netfilter (6.4)",
		"exchanges":   "5.12 by rules; instruction: atomics other than add (5.12); without 5.10",
		"unwritten": "6.1 by rules update 191, all from 6.6; verifier rule: privileged programs may read stack below the deepest written byte; " +
			"privileged programs may read stack that was never written (6.8); without 5.10",
	} {
		assert.Equal(t, want, program(res, name), name)
	}
}

// TestTypesDecide: between a kernel without the field and one with it, nothing says which release
// has it; with more types at hand, fewer releases are unknown.
func TestTypesDecide(t *testing.T) {
	unknown := func(res *minkernel.Result) (out []string) {
		for _, p := range res.Programs {
			for i, a := range p.Answers {
				if a.Outcome == minkernel.Unknown {
					out = append(out, res.Columns[i].Release.String())
					assert.Contains(t, a.Why, "types")
				}
			}
		}
		return out
	}
	only := minkernel.Config{Only: []string{"state"}}
	assert.Len(t, unknown(find(t, "clang-14/needs.o", only, k510, k612, k72)), 21)
	assert.Len(t, unknown(find(t, "clang-14/needs.o", only, k510, k61, k72)), 10, "5.11 to 6.0")
	assert.Len(t, unknown(find(t, "clang-14/needs.o", only, k612)), 32, "the types of one kernel say nothing about others")
	assert.Len(t, unknown(find(t, "clang-14/needs.o", only, k510)), 32, "whatever they say")
}

// TestBisectionIsChecked: the oldest release is the same with and without the check; a release that
// refuses the program between others that load it shows only with it.
func TestBisectionIsChecked(t *testing.T) {
	checked := find(t, "clang-14/needs.o", minkernel.Config{}, k510, k612, k72)
	quick := find(t, "clang-14/needs.o", minkernel.Config{Unchecked: true}, k510, k612, k72)
	asked := 0
	for i, p := range quick.Programs {
		for j, a := range p.Answers {
			if a.Outcome != minkernel.NotAsked {
				asked++
				assert.Equal(t, checked.Programs[i].Answers[j].Outcome, a.Outcome, "%s on %s", p.Name, quick.Columns[j].Release)
			}
		}
		if p.Name != "unwritten" { // 6.1 has the rule by an update, 6.2 never got it
			assert.Equal(t, checked.Programs[i].Oldest, p.Oldest, p.Name)
		}
	}
	assert.Less(t, asked, 7*len(quick.Programs))
}

// TestReleasesOutsideTheRules: of releases whose rules are not known nothing is said, and without
// types nothing at all.
func TestReleasesOutsideTheRules(t *testing.T) {
	res := find(t, "clang-14/needs.o", minkernel.Config{Also: uapi.R(5, 4), Only: []string{"plain"}}, k612)
	require.Equal(t, uapi.R(5, 4), res.Columns[0].Release)
	assert.Equal(t, minkernel.Unknown, res.Programs[0].Answers[0].Outcome)
	assert.Contains(t, res.Programs[0].Answers[0].Why, "5.10")
	assert.Equal(t, "5.10 by rules", program(res, "plain"))
	assert.Nil(t, res.Programs[0].Held)

	obj, err := loader.Open("../../../testdata/objects/clang-14/needs.o")
	require.NoError(t, err)
	_, err = minkernel.Find(context.Background(), obj, nil, minkernel.Config{})
	assert.ErrorIs(t, err, minkernel.ErrNoKernels)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = minkernel.Find(ctx, obj, kernels(t, k612), minkernel.Config{})
	assert.ErrorIs(t, err, context.Canceled)
}
