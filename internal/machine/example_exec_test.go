package machine_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// execEvent is struct event of examples/exec: pid, ppid, uid, old_pid, when, comm[16],
// filename[64].
type execEvent struct {
	pid, ppid, uid, oldPid uint32
	comm, filename         string
}

func decodeExec(t *testing.T, b []byte) execEvent {
	t.Helper()
	require.GreaterOrEqual(t, len(b), 104)
	text := func(b []byte) string {
		for i, c := range b {
			if c == 0 {
				return string(b[:i])
			}
		}
		return string(b)
	}
	u := binary.LittleEndian.Uint32
	return execEvent{u(b), u(b[4:]), u(b[8:]), u(b[12:]), text(b[24:40]), text(b[40:104])}
}

// TestExecOnEveryKernel: the record of the first example holds the values of the simulated task on
// every kernel, wherever its fields lie, and no two values or seeds agree, so that no constant
// passes.
func TestExecOnEveryKernel(t *testing.T) {
	onKernels(t, func(t *testing.T, tgt *loader.Target) {
		if tgt.BTF.ByteOrder() != binary.ByteOrder(binary.LittleEndian) {
			obj, err := loader.Open("../../examples/exec/exec.bpf.o")
			require.NoError(t, err)
			_, err = obj.Load(tgt, loader.LoadOptions{})
			require.ErrorContains(t, err, "endian")
			return
		}
		linked := load(t, "../../examples/exec/exec.bpf.o", tgt)
		var seen []execEvent
		for _, seed := range []uint64{1, 7, 1 << 40} {
			m := compose(t, linked, machine.Config{Seed: seed})
			res := run(t, m, "on_exec")
			require.Equal(t, machine.StatusOK, res.Status, "%v", res.Fault)
			require.Len(t, res.Events, 1)
			e := decodeExec(t, res.Events[0].Data)

			cur := m.Kernel().Current()
			field := func(path string) uint32 {
				v, err := cur.Uint(path)
				require.NoError(t, err)
				return uint32(v)
			}
			comm, err := cur.String("comm")
			require.NoError(t, err)
			assert.Equal(t, field("tgid"), e.pid)
			assert.Equal(t, field("real_parent.tgid"), e.ppid)
			assert.Equal(t, field("cred.uid.val"), e.uid)
			assert.Equal(t, field("pid"), e.oldPid)
			assert.Equal(t, comm, e.comm)
			assert.Equal(t, "/usr/bin/"+comm, e.filename)
			pid, tgid := m.Kernel().PidTgid()
			assert.Equal(t, []uint32{field("pid"), field("tgid")}, []uint32{pid, tgid})

			require.Len(t, res.Changes, 1)
			assert.Equal(t, "execs_by_uid", res.Changes[0].Map)
			assert.Equal(t, e.uid, binary.LittleEndian.Uint32(res.Changes[0].Key))
			assert.Equal(t, uint64(1), binary.LittleEndian.Uint64(res.Changes[0].New))

			ids := []uint32{e.pid, e.ppid, e.uid}
			for _, s := range seen {
				assert.NotContains(t, []uint32{s.pid, s.ppid, s.uid}, e.pid)
				assert.NotEqual(t, s.ppid, e.ppid)
				assert.NotEqual(t, s.uid, e.uid)
				assert.NotEqual(t, s.comm, e.comm)
			}
			assert.NotEqual(t, ids[0], ids[1])
			assert.NotEqual(t, ids[0], ids[2])
			assert.NotEqual(t, ids[1], ids[2])
			seen = append(seen, e)

			// The next run of the program is the next event of the same task.
			again := run(t, m, "on_exec")
			require.Len(t, again.Changes, 1)
			assert.Equal(t, uint64(2), binary.LittleEndian.Uint64(again.Changes[0].New))
			m.Close()
		}
	})
}

// TestReadsNameTheFieldsMeant: every kernel read of the example is of a field its source names,
// through a relocated instruction.
func TestReadsNameTheFieldsMeant(t *testing.T) {
	onKernels(t, func(t *testing.T, tgt *loader.Target) {
		if tgt.BTF.ByteOrder() != binary.ByteOrder(binary.LittleEndian) {
			t.Skip("another byte order")
		}
		m := compose(t, load(t, "../../examples/exec/exec.bpf.o", tgt), machine.Config{Seed: 3})
		res := run(t, m, "on_exec")
		fields := map[string]bool{}
		for _, a := range res.Reads {
			fields[a.Type+"."+a.Path] = true
			assert.True(t, a.Default, "%s.%s", a.Type, a.Path)
		}
		assert.Equal(t, map[string]bool{"task_struct.tgid": true, "task_struct.real_parent": true, "task_struct.cred": true, "cred.uid.val": true}, fields)
	})
}
