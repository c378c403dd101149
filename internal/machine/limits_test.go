package machine_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
)

// TestLimitsAreFindings: what a run reaches that the kernel limits is a finding, whichever engine
// runs it and however often; what stays just below is not.
func TestLimitsAreFindings(t *testing.T) {
	for _, c := range []struct{ object, prog, want, source string }{
		{"limits", "around", "bpf_tail_call does nothing here: the run has made 33 tail calls, and the kernel makes no more", "testdata/src/limits.bpf.c:47:2"},
		{"limits", "flood", "ring buffer records of 4096 bytes, which was empty before the run, has no room for 2 records of this run", ""},
		{"limits", "rmdir_entry", "", ""},
		{"balanced", "around", "", ""},
		{"balanced", "bursts", "", ""},
	} {
		for _, engine := range []machine.Engine{machine.EngineInterpreter, machine.EngineJIT} {
			linked := load(t, "../../testdata/objects/clang-14/"+c.object+".o", target(t, embedded.Name))
			m := compose(t, linked, machine.Config{Engine: engine, EagerLoops: true})
			for range 3 { // native code takes over
				var got []finding.Finding
				for _, f := range run(t, m, c.prog).Findings {
					f.Line = ""
					if got = append(got, f); f.Insn >= 0 {
						got[len(got)-1].Insn = 0
					}
				}
				var want []finding.Finding
				if c.want != "" {
					want = []finding.Finding{{Kind: finding.Limit, Program: c.prog, Insn: -1, Source: c.source, Text: c.want}}
					if c.source != "" {
						want[0].Insn = 0
					}
				}
				assert.Equal(t, want, got, "%s by %s", c.prog, engine)
			}
		}
	}
}
