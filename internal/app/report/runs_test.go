package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestManyRunsAreShownInPart: the first runs, the last, and every one that ended as none before.
func TestManyRunsAreShownInPart(t *testing.T) {
	runs := make([]Run, 20)
	for i := range runs {
		runs[i] = Run{Ret: "0x0", Output: fmt.Sprintf("run %d.\n", i)}
	}
	runs[9].Ret, runs[10].Ret = "0x1", "0x1"
	runs[12].Fault = &Fault{Kind: "null"}
	show := func(runs []Run, verbose bool) string {
		var b strings.Builder
		writeRuns(&b, runs, func(kind, text string) { b.WriteString(kind + " " + text + "\n") }, style{}, TableOptions{Verbose: verbose})
		return b.String()
	}
	got := show(runs, false)
	for i := range runs {
		shown := i < 2 || i == 9 || i == 12 || i == 19
		assert.Equal(t, shown, strings.Contains(got, fmt.Sprintf("run %d.", i)), "run %d in\n%s", i, got)
	}
	assert.Contains(t, got, "... 15 more runs: 14 0, 1 1 (-v shows all); the last one:\n")
	for name, all := range map[string]string{"-v": show(runs, true), "few": show(runs[:4], false)} {
		assert.NotContains(t, all, "more runs", name)
		assert.Contains(t, all, "run 2.", name)
	}
	for i := range runs {
		runs[i].Ret, runs[i].titled = Hex64(uint64(i)), false
	}
	assert.Contains(t, show(runs, false), "more runs: ", "results that all differ are not all shown")
	runs[0].titled = true
	assert.NotContains(t, show(runs, false), "more runs", "runs of a scenario are all shown")
}
