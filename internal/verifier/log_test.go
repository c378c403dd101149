package verifier_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier"
)

// logOf is the log of a level on Linux 6.18.44.
func logOf(t *testing.T, p *verifier.Program, level int, text string) string {
	t.Helper()
	spec, err := embedded.Spec()
	require.NoError(t, err)
	p.Insns, err = decode.Assemble(text)
	require.NoError(t, err)
	p.License = "GPL"
	var log bytes.Buffer
	_, err = verifier.Verify(context.Background(), &verifier.Kernel{Release: since.R(6, 18), Patch: 44, BTF: spec}, p, verifier.Options{Log: &log, LogLevel: level})
	require.NoError(t, err)
	return log.String()
}

// The log names the type of a hook's argument, between the load and the state after it.
func TestLogsNameTypesOfArguments(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	id, ok := spec.FindID(btf.KindStruct, "task_struct")
	require.True(t, ok)
	p := &verifier.Program{Type: uapi.ProgTypeTracing, Attach: uapi.AttachTraceRawTp, AttachTo: "sched_wakeup"}
	log := logOf(t, p, 2, "r1 = *(u64 *)(r1 + 0)\nr0 = 0\nexit")
	want := fmt.Sprintf("0: (79) r1 = *(u64 *)(r1 +0)\nfunc 'sched_wakeup' arg0 has btf_id %d type STRUCT 'task_struct'\n1: R1=trusted_ptr_task_struct()\n", id)
	assert.Contains(t, log, want)
}

// At level 1 the path that is not taken first goes on behind the branch. The space before a state
// has replaced the end of that line.
func TestLogsOfLevel1GoOnBehindBranches(t *testing.T) {
	filter := func() *verifier.Program { return &verifier.Program{Type: uapi.ProgTypeSocketFilter} }
	log := logOf(t, filter(), 1, "call 7\nif r0 != 0 goto +2\nr0 = 0\nexit\nr0 = r9\nexit")
	assert.Contains(t, log, "1: (55) if r0 != 0x0 goto pc+2 4: R0=scalar(")
}
