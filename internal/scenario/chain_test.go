package scenario

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestChain: programs of one hook run in order on one context until one decides, and expectations
// are about all of them.
func TestChain(t *testing.T) {
	for _, c := range []struct{ name, run, want string }{
		{"decides", "{chain: [mark, drop_marked, last], expect: {ret: 2, chain: {verdict: TCX_DROP, ran: [mark, drop_marked]}}}", ""},
		{"in another order", "{chain: [drop_marked, mark, last], expect: {ret: 0, chain: {verdict: TCX_PASS, ran: [drop_marked, mark, last]}}}", ""},
		{"a wrong verdict", "{chain: [drop_marked, mark], expect: {chain: {verdict: TCX_DROP}}}", "chain.verdict: want TCX_DROP, got TCX_PASS"},
		{"not all ran", "{chain: [mark, drop_marked, last], expect: {chain: {ran: [mark, drop_marked, last]}}}",
			"chain.ran: want mark, drop_marked, last, got mark, drop_marked"},
		{"fields are those of the first", "{chain: [drop_marked, last], args: {mark: 7}, expect: {ret: TC_ACT_SHOT, chain: {verdict: TCX_DROP}}}", ""},
		{"what the others left", "{chain: [deny, look], expect: {globals: {seen: -1}, chain: {verdict: deny (-EPERM), ran: [deny, look]}}}", ""},
		{"changes of all", "{chain: [deny, look], expect: {others: unchanged}}", "global seen: want unchanged, got -1"},
		{"twice", "{chain: [mark, last], repeat: 2, after: 1s, settle: 1s, expect: {ret: 0, chain: {verdict: TCX_PASS}}}", ""},
	} {
		r, err := openScenario(t, "../../testdata/objects/clang-14/chain.o", "runs: ["+c.run+"]")
		require.NoError(t, err, c.name)
		results, err := r.All(t.Context(), nil)
		require.NoError(t, err, c.name)
		assert.Equal(t, c.want, failures(results[0]), c.name)
	}
}

func TestChainMistakes(t *testing.T) {
	for _, c := range []struct{ run, want string }{
		{"{chain: mark}", "chain: want a list of programs, got"},
		{"{chain: []}", "chain: want a list of programs"},
		{"{chain: [mark, nonesuch]}", `unknown program "nonesuch"`},
		{"{chain: [mark], prog: last}", "chain cannot be combined with prog"},
		{"{chain: [mark, odd]}", "do not share a hook: mark (tcx/ingress) and odd (netkit/primary)"},
		{"{chain: [alone]}", "a hook has one program of type xdp"},
		{"{chain: [mark], expect: {chain: {ran: [last]}}}", `unknown program of the chain "last"`},
		{"{chain: [mark], expect: {chain: {ran: mark}}}", "ran: want a list of programs"},
		{"{chain: [mark], expect: {chain: {result: x}}}", `unknown key of expect.chain "result"`},
		{"{prog: mark, expect: {chain: {verdict: TCX_PASS}}}", "chain: the run is of one program"},
	} {
		_, err := openScenario(t, "../../testdata/objects/clang-14/chain.o", "runs: ["+c.run+"]")
		assert.ErrorContains(t, err, c.want, c.run)
	}
}

// TestChainIsNotStaged: a debugger steps through one program.
func TestChainIsNotStaged(t *testing.T) {
	r, err := openScenario(t, "../../testdata/objects/clang-14/chain.o", "runs: [{chain: [mark, last]}]")
	require.NoError(t, err)
	_, err = r.Stage(t.Context(), r.File().Runs[0])
	assert.ErrorContains(t, err, "a chain cannot be stepped through")
}
