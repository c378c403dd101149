package verifier_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// verdictOn verifies a program that is attached to a function of another one of its object.
func verdictOn(t *testing.T, version uint32, prog, target string) *verifier.Verdict {
	t.Helper()
	obj, err := loader.Open("../../testdata/objects/clang-14/extends.o")
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	tgt := loader.NewTarget(embedded.Name, spec, loader.WithVersion(version))
	attach := map[string]string{prog: target}
	if target == "on_target" || target == "new_add" {
		attach[target] = "target"
	}
	linked, err := obj.Load(tgt, loader.LoadOptions{AttachProgs: attach})
	require.NoError(t, err)
	lp, _ := linked.Program(prog)
	v, err := verifier.NewChecker(linked, verifier.Options{}).Verdict(t.Context(), lp)
	require.NoError(t, err)
	require.NotNil(t, v)
	return v
}

// TestExtensionsHaveTheTypeOfWhatTheyReplace (bpf_check_attach_target, btf_check_func_type_match).
func TestExtensionsHaveTheTypeOfWhatTheyReplace(t *testing.T) {
	const v612, v68, v67, v61 = 6<<16 | 12<<8 | 107, 6<<16 | 8<<8, 6<<16 | 7<<8, 6<<16 | 1<<8
	for _, c := range []struct {
		version               uint32
		prog, target, refused string
	}{
		{v612, "new_add", "target", ""},
		{v612, "new_length", "target", ""},
		{v612, "new_target", "target", ""},
		{v612, "err_arguments", "target", "err_arguments() has 1 args while add() has 2 args"},
		{v612, "err_static", "target", "Cannot replace static functions"},
		{v612, "new_length", "target:add", "new_length() has 1 args while add() has 2 args"},
		{v612, "err_arguments", "target:length", "arg0 in err_arguments() is INT while length() has PTR"},
		{v612, "new_length", "on_target", "Cannot replace static functions"}, // its context has no type
		{v67, "new_length", "on_target", "Cannot extend fentry/fexit"},
		{v68, "after_target", "on_target", ""},
		{v67, "after_target", "on_target", "Cannot recursively attach"},
		{v61, "after_target", "on_target", "Cannot recursively attach"},
	} {
		v := verdictOn(t, c.version, c.prog, c.target)
		what := c.prog + " on " + c.target
		if c.refused == "" {
			assert.Equal(t, verifier.Accepted, v.Outcome, "%s: %s %s", what, v.Message, v.Missing)
			continue
		}
		assert.Equal(t, verifier.Refused, v.Outcome, what)
		assert.Equal(t, c.refused, v.Message, what)
	}
}

// TestReliableFunctions: the types of static functions count if every call passes what they say
// (btf_check_subprog_call).
func TestReliableFunctions(t *testing.T) {
	for _, c := range []struct {
		object, prog string
		want         []string
	}{
		{"extends.o", "target", nil}, // the compiler does not pass the second argument, a constant
		{"subprog.o", "calls", []string{"branch", "leaf_b", "note", "leaf_a"}},
		{"subprog.o", "keeps_registers", []string{"five", "note"}},
	} {
		obj, err := loader.Open("../../testdata/objects/clang-14/" + c.object)
		require.NoError(t, err)
		spec, err := embedded.Spec()
		require.NoError(t, err)
		linked, err := obj.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{})
		require.NoError(t, err)
		lp, _ := linked.Program(c.prog)
		v, err := verifier.NewChecker(linked, verifier.Options{}).Verdict(t.Context(), lp)
		require.NoError(t, err)
		var got []string
		for _, f := range lp.Funcs {
			if slices.Contains(v.Reliable, f.Start) {
				got = append(got, f.Name)
			}
		}
		assert.ElementsMatch(t, c.want, got, c.prog)
	}
}

// TestExtensionsWithoutTheirTarget: they are verified as if they replaced a function of their own
// type, in a program of the type whose context it takes, and run on such a context.
func TestExtensionsWithoutTheirTarget(t *testing.T) {
	obj, err := loader.Open("../../testdata/objects/clang-14/extcontexts.o")
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	linked, err := obj.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{})
	require.NoError(t, err)
	checker := verifier.NewChecker(linked, verifier.Options{})
	for _, lp := range linked.Programs {
		v, err := checker.Verdict(t.Context(), lp)
		require.NoError(t, err)
		assert.Equal(t, verifier.Accepted, v.Outcome, "%s: %s%s", lp.Name, v.Message, v.Missing)
	}
	for _, r := range progtype.All() {
		if context := r.Context.User; context != "" {
			_, ok := linked.Program("on_" + context)
			assert.True(t, ok, "extcontexts.bpf.c lacks struct %s", context)
		}
	}
}
