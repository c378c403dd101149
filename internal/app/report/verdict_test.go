package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/verifier"
)

func TestTableTellsWhatTheVerifierCannotSay(t *testing.T) {
	for _, tt := range []struct {
		name    string
		verdict verifier.Verdict
		verbose bool
		want    string // "" for nothing
	}{
		{"accepted", verifier.Verdict{Outcome: verifier.Accepted, ProcessedInsns: 7, TotalStates: 1}, false, ""},
		{"accepted, verbose", verifier.Verdict{Outcome: verifier.Accepted, ProcessedInsns: 7, TotalStates: 1}, true, "  verifier accepted, 7 instructions processed, 1 states\n"},
		{"unknown", verifier.Verdict{Missing: "kfunc x"}, false, "  verifier cannot say: kfunc x\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &RunDocument{Object: "a.o", Programs: []Program{{Name: "p", Status: "ok", Runs: []Run{{Ret: "0x0"}}, Verifier: verdictOf(&tt.verdict)}}}
			var b strings.Builder
			require.NoError(t, WriteTable(&b, d, TableOptions{Verbose: tt.verbose}))
			if tt.want == "" {
				assert.NotContains(t, b.String(), "verifier")
			} else {
				assert.Contains(t, b.String(), tt.want)
			}
			assert.Contains(t, b.String(), "1 program: 1 ok\n")
		})
	}
}
