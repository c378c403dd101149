package verifier_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/internal/verifier/klog"
)

func TestHistoryFollowsTheRegister(t *testing.T) {
	l := linkAll(t, embeddedTarget(t), "../../testdata/objects/clang-22/faults.o")
	checker := verifier.NewChecker(l, verifier.Options{})
	for _, tt := range []struct {
		program string
		want    []verifier.Cause
	}{
		{"err_null_lookup", []verifier.Cause{{6, "R0", "map_value_or_null(id=1,map=table,ks=4,vs=8)", "call bpf_map_lookup_elem#1"}}},
		{"err_record_end", []verifier.Cause{
			{4, "R0", "ringbuf_mem_or_null(id=2,ref_obj_id=2,sz=64)", "call bpf_ringbuf_reserve#131"},
			{5, "R0", "ringbuf_mem(ref_obj_id=2,sz=64)", "if r0 == 0x0 goto pc+9"},
			{8, "R2", "ringbuf_mem(ref_obj_id=2,sz=64)", "r2 = r0"},
			{9, "R2", "ringbuf_mem(ref_obj_id=2,off=64,sz=64)", "r2 += r1"},
		}},
		{"err_leaked_record", []verifier.Cause{{4, "reference 2", "ringbuf_mem_or_null(id=2,ref_obj_id=2,sz=64)", "call bpf_ringbuf_reserve#131"}}},
		{"err_endless_loop", nil},
	} {
		t.Run(tt.program, func(t *testing.T) {
			lp, ok := l.Program(tt.program)
			require.True(t, ok)
			_, err := checker.Verdict(context.Background(), lp)
			require.NoError(t, err)
			got, err := checker.History(context.Background(), lp)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestLogsAreMatchedByNameOrInstructions(t *testing.T) {
	l := linkAll(t, embeddedTarget(t), "../../testdata/objects/clang-22/faults.o")
	for _, tt := range []struct{ file, program string }{
		{"libbpf-6.18.log", "err_map_value_end"},
		{"cilium-6.18.log", "err_leaked_record"},
		{"cilium-verbose-6.18.log", "err_leaked_record"}, // by its instructions
	} {
		f, err := os.Open("klog/testdata/" + tt.file)
		require.NoError(t, err)
		defer f.Close()
		logs, err := klog.Parse(f)
		require.NoError(t, err)
		require.Len(t, logs, 1)
		lp, fits := verifier.MatchLog(l, logs[0])
		require.NotNil(t, lp, tt.file)
		assert.Equal(t, tt.program, lp.Name)
		assert.True(t, fits)
	}
	other := linkAll(t, embeddedTarget(t), "../../testdata/objects/clang-22/subprog.o")
	lp, _ := verifier.MatchLog(other, &klog.Log{Steps: []klog.Step{{Insn: 0, Code: 0x85}, {Insn: 1, Code: 0x85}}})
	assert.Nil(t, lp)
}

func TestStateOf(t *testing.T) {
	for _, tt := range []struct{ state, what, want string }{
		{"R1=ctx() R2_w=scalar(umax=7,var_off=(0x0; 0x7)) fp-8=mm", "R2", "scalar(umax=7,var_off=(0x0; 0x7))"},
		{"R1=ctx() fp-8=????mmmm", "fp-8", "????mmmm"},
		{"R10=fp0", "R1", ""},
		{"frame1: R6=1", "R6", "1"},
		{"", "R1", ""},
		{"R1=((", "R1", "(("},
	} {
		assert.Equal(t, tt.want, verifier.StateOf(tt.state, tt.what), tt.state)
	}
}
