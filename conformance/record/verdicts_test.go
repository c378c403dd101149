package record

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/conformance/verdicts"
)

func TestReadLog(t *testing.T) {
	l := &verdicts.Line{Errno: "EINVAL"}
	readLog(l, "Unreleased reference id=2 alloc_insn=4\nBPF_EXIT instruction in main prog would lead to reference leak\nverification time 80 usec\nstack depth 8+0 max 8\n"+
		"processed 11 insns (limit 1000000) max_states_per_insn 0 total_states 1 peak_states 2 mark_read 0\n")
	classify(l)
	assert.Equal(t, "BPF_EXIT instruction in main prog would lead to reference leak", l.Reason)
	assert.Len(t, l.Messages, 2)
	require.NotNil(t, l.Processed)
	assert.Equal(t, []int{11, 1, 2}, []int{*l.Processed, *l.Total, *l.Peak})
	assert.Equal(t, "8+0", l.StackDepth)
	assert.Equal(t, 80, *l.Usec)
	assert.Equal(t, verdicts.ByVerifier, l.Class)
}

func TestClassifyTellsWhoRefused(t *testing.T) {
	zero, some := 0, 3
	for _, tt := range []struct {
		name          string
		line          verdicts.Line
		verdict, want string
	}{
		{"poison", verdicts.Line{Errno: "EINVAL", Reason: "invalid func unknown#195896080"}, verdicts.Skipped, verdicts.ByCORE},
		{"missing kfunc", verdicts.Line{Errno: "EINVAL", Reason: "invalid func unknown#2002000001"}, verdicts.Skipped, verdicts.ByEnv},
		{"not permitted", verdicts.Line{Errno: "EPERM"}, verdicts.Skipped, verdicts.ByEnv},
		{"before verification", verdicts.Line{Errno: "EINVAL"}, verdicts.Skipped, verdicts.ByEnv},
		{"nothing processed", verdicts.Line{Errno: "ENOTSUPP", Stats: verdicts.Stats{Processed: &zero}}, verdicts.Skipped, verdicts.ByEnv},
		{"silent refusal", verdicts.Line{Errno: "EINVAL", Stats: verdicts.Stats{Processed: &some}}, verdicts.Refused, verdicts.ByVerifier},
		{"message", verdicts.Line{Errno: "EACCES", Reason: "R1 !read_ok"}, verdicts.Refused, verdicts.ByVerifier},
	} {
		classify(&tt.line)
		assert.Equal(t, []string{tt.verdict, tt.want}, []string{tt.line.Verdict, tt.line.Class}, tt.name)
	}
}

func TestLastInsn(t *testing.T) {
	for log, want := range map[string]int{
		"0: R1=ctx() R10=fp0\n0: (bf) r6 = r1\n1: (61) r2 = *(u32 *)(r1 +4)\ninvalid bpf_context access": 1,
		"12: R0=1 R10=fp0 (95) exit\nR0 !read_ok":                                                        12,
		"unreachable insn 4":                 -1,
		"from 3 to 9: R0=1\n9: (07) r1 += 4": 9,
	} {
		n, ok := lastInsn(log)
		if want < 0 {
			assert.False(t, ok, log)
			continue
		}
		assert.True(t, ok, log)
		assert.Equal(t, want, n, log)
	}
}
