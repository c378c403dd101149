package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// TestDeletedStorageWaitsForAGracePeriod counts the calls of the function that ends a grace period
// of RCU Tasks Trace. A tool that waits until deleted elements are free (kern_sync_rcu_tasks_trace
// of test_progs) deletes one and loops until a program there has run.
func TestDeletedStorageWaitsForAGracePeriod(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	for _, tt := range []struct {
		name    string
		version uint32
		do      func(k *caller, storage int64, key uint64) uapi.Errno
		ends    uint64
	}{
		{"the element is created", 6<<16 | 12<<8, func(*caller, int64, uint64) uapi.Errno { return 0 }, 0},
		{"it is deleted", 6<<16 | 12<<8, func(k *caller, m int64, key uint64) uapi.Errno { return k.elem(uapi.CmdMapDeleteElem, m, key, 0, 0) }, 1},
		{"it is replaced", 6<<16 | 12<<8, func(k *caller, m int64, key uint64) uapi.Errno {
			return k.elem(uapi.CmdMapUpdateElem, m, key, k.word(2), uapi.Exist)
		}, 1},
		{"there is none to delete", 6<<16 | 12<<8, func(k *caller, m int64, _ uint64) uapi.Errno {
			assert.Equal(t, uapi.ENOENT, k.elem(uapi.CmdMapDeleteElem, m, k.fdKey(pidFD+1), 0, 0))
			return 0
		}, 0},
		{"a program deletes it", 6<<16 | 12<<8, func(k *caller, m int64, _ uint64) uapi.Errno {
			p := k.must(k.load(uapi.ProgTypeSyscall, []decode.Insn{
				{Code: 0x85, Imm: 158},                          // bpf_get_current_task_btf
				{Code: 0xbf, Dst: 6},                            // r6 = r0
				{Code: 0xbf, Dst: 2},                            // r2 = r0
				{Code: 0x18, Dst: 1, Src: 1, Imm: int32(m)}, {}, // r1 = map
				{Code: 0xb7, Dst: 3}, {Code: 0xb7, Dst: 4, Imm: 1}, // no value, create
				{Code: 0x85, Imm: 156},                          // bpf_task_storage_get
				{Code: 0x18, Dst: 1, Src: 1, Imm: int32(m)}, {}, // r1 = map
				{Code: 0xbf, Dst: 2, Src: 6}, {Code: 0x85, Imm: 157}, {Code: 0x95}, // bpf_task_storage_delete
			}, field{44, 16}))
			_, r := k.try(uapi.CmdProgTestRun, field{0, p}, field{36, 0})
			return r.errno
		}, 1},
		{"Linux 5.16", 5<<16 | 16<<8, func(k *caller, m int64, key uint64) uapi.Errno { return k.elem(uapi.CmdMapDeleteElem, m, key, 0, 0) }, 0},
		{"Linux 5.17", 5<<16 | 17<<8, func(k *caller, m int64, key uint64) uapi.Errno { return k.elem(uapi.CmdMapDeleteElem, m, key, 0, 0) }, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := &caller{newTaskOn(t, loader.NewTarget(tt.name, spec, loader.WithVersion(tt.version))), spec}
			k.files[pidFD] = bpfsys.File{Kind: bpfsys.PidFile, PID: 1, TGID: 1}
			k.files[pidFD+1] = bpfsys.File{Kind: bpfsys.PidFile, PID: 2, TGID: 2}
			count := k.must(k.createMap(uapi.MapTypeArray, 4, 8, 1, 0))
			p := k.must(k.load(uapi.ProgTypeTracing, []decode.Insn{
				{Code: 0x18, Dst: 1, Src: 2, Imm: int32(count)}, {}, {Code: 0xb7, Dst: 2, Imm: 1},
				{Code: 0xdb, Dst: 1, Src: 2}, {Code: 0xb7}, {Code: 0x95}, // lock *(u64 *)r1 += 1
			}, field{68, int(uapi.AttachTraceFentry)}, field{108, k.typeID(btf.KindFunc, "rcu_tasks_trace_postgp")}, field{112, 0}))
			k.must(rawOpened(k, p))
			m, r := k.create(uapi.MapTypeTaskStorage)
			require.Zero(t, r.errno, r.notes)
			key := k.fdKey(pidFD)
			require.Zero(t, k.elem(uapi.CmdMapUpdateElem, m, key, k.word(1), 0))
			require.Zero(t, tt.do(k, m, key), k.notes)
			ends, e := k.read(int64(count), k.put(make([]byte, 4)))
			require.Zero(t, e)
			assert.Equal(t, tt.ends, ends, k.notes)
		})
	}
}

// rawOpened attaches a program where it was loaded for.
func rawOpened(k *caller, p int) (int64, uapi.Errno) {
	fd, r := k.try(uapi.CmdRawTracepointOpen, field{0, uint64(0)}, field{8, p})
	return fd, r.errno
}
