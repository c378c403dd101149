package scenario

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestIgnoredFindings: findings that a file declares no mistakes are neither in results nor in what
// findings: none compares.
func TestIgnoredFindings(t *testing.T) {
	for ignore, want := range map[string]string{"": "[overread]", "ignore: [{kind: overread, reason: x}]": "none", "ignore: [{kind: overread, prog: in_loop, reason: x}]": "[overread]"} {
		r, err := openScenario(t, "../../testdata/objects/clang-14/overreads.o", "runs: [{prog: guessed, expect: {findings: "+want+"}}]\n"+ignore)
		require.NoError(t, err)
		results, err := r.All(t.Context(), nil)
		require.NoError(t, err)
		assert.True(t, results[0].Passed(), "%s: %s", ignore, failures(results[0]))
	}
}

// TestEveryRunFindsLeaks: what a run finds does not depend on how many runs of its program the file
// has before it, on either engine.
func TestEveryRunFindsLeaks(t *testing.T) {
	var text strings.Builder
	text.WriteString("runs:\n")
	for i := range 40 {
		fmt.Fprintf(&text, "- {name: r%d, prog: stack_tail, expect: {findings: [leak]}}\n", i)
	}
	for _, engine := range []machine.Engine{machine.EngineInterpreter, machine.EngineJIT} {
		if engine == machine.EngineJIT && !machine.NativeCode() {
			continue
		}
		r, err := openWith(t, "../../testdata/objects/clang-14/leaks.o", text.String(), machine.Config{Seed: 1, Engine: engine})
		require.NoError(t, err)
		results, err := r.All(t.Context(), nil)
		require.NoError(t, err)
		for i, res := range results {
			assert.True(t, res.Passed(), "%s: run %d: %s", engine, i, failures(res))
		}
	}
}

func TestMistakesInIgnored(t *testing.T) {
	for _, tt := range []struct{ name, ignore, want string }{
		{"no list", "ignore: leak\n", "want a list of {kind, prog, reason}, got"},
		{"no reason", "ignore: [{kind: leak}]\n", "reason"},
		{"an empty reason", "ignore: [{kind: leak, reason: ''}]\n", "reason: want a string"},
		{"another kind", "ignore: [{kind: leek, reason: x}]\n", "nearest: leak"},
		{"a program in the kind", "ignore: [{kind: 'leak:on_exec', reason: x}]\n", `unknown kind of finding "leak:on_exec"`},
		{"another program", "ignore: [{kind: leak, prog: on_exce, reason: x}]\n", "nearest: on_exec"},
		{"no list of names", "vary: counts\n", "vary: want a list of maps and variables, got"},
		{"no map", "vary: [no_such_map]\n", `unknown map or variable "no_such_map"`},
		{"right", "ignore: [{kind: leak, prog: on_exec, reason: x}, {kind: data-race, reason: y}]\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := openText(t, "exec", "runs: [{prog: on_exec}]\n"+tt.ignore)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			assert.Contains(t, err.Error(), tt.want)
		})
	}
}
