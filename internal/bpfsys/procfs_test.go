package bpfsys_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestTheTaskOfAnEventIsInProc, also where the event names none: tools look up the pid of a record.
func TestTheTaskOfAnEventIsInProc(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	prog, e := k.load(uapi.ProgTypeRawTracepoint, []decode.Insn{{Code: 0x85, Imm: int32(uapi.FuncGetCurrentPidTgid)}, {Code: 0x77, Imm: 32}, {Code: 0x95}})
	require.Zero(t, e, "%v", k.notes)
	_, e, _ = k.call(rawOpen, field{0, k.text("sys_enter")}, field{8, int(prog)})
	require.Zero(t, e)
	for cpu, task := range []map[string]any{nil, nil, {"pid": int64(77), "comm": "cat"}} {
		fired, err := k.s.Fire(bpfsys.Event{Hook: "sys_enter", Task: task, CPU: cpu % 2})
		require.NoError(t, err)
		id := int(fired[0].Ret)
		require.NotZero(t, id)
		assert.True(t, k.s.HasTask(id), "%d", id)
		entry := k.s.Task(fmt.Sprint(id, "/comm"), nil)
		assert.Equal(t, bpfsys.IsFile, entry.Kind)
		assert.NotEmpty(t, entry.Text)
	}
	assert.False(t, k.s.HasTask(4))
}
