package verifier_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// TestSchedulersByCid: programs of struct sched_ext_ops_cid have the rights of those of struct
// sched_ext_ops in the same place: what they may write, which may sleep, and which arguments may be
// null.
func TestSchedulersByCid(t *testing.T) {
	const kernel = "../../testdata/btf/linux-7.2.13-amd64.btf.xz"
	spec, err := testbtf.Load(kernel)
	require.NoError(t, err)
	k := verifier.KernelOf(loader.NewTarget(kernel, spec))
	field := func(typ, path string) int {
		id, ok := spec.FindID(btf.KindStruct, typ)
		require.True(t, ok, typ)
		f, err := spec.ResolvePath(id, path)
		require.NoError(t, err)
		return int(f.Offset())
	}
	slice, weight := field("task_struct", "scx.slice"), field("task_struct", "scx.weight")
	write := func(off, size int) string {
		return fmt.Sprintf("r6 = *(u64 *)(r1 + 0)\nr2 = 0\n*(u%d *)(r6 + %d) = r2\nr0 = 0\nexit", 8*size, off)
	}
	const idle = "r0 = 0\nexit"
	for _, tt := range []struct {
		cid, cpu  string // members in the same place
		text      string
		sleepable bool
		want      string // %[1]s the member, %[2]s the struct
	}{
		{"set_cmask", "set_cpumask", write(slice, 8), false, ""},
		{"set_cmask", "set_cpumask", write(weight, 4), false, fmt.Sprintf("no write support to task_struct at off %d", weight)},
		{"dispatch", "dispatch", "r6 = *(u64 *)(r1 + 8)\nr0 = *(u32 *)(r6 + 0)\nr0 = 0\nexit", false, "R6 invalid mem access 'trusted_ptr_or_null_'"},
		{"select_cid", "select_cpu", idle, true, "attach to unsupported member %[1]s of struct %[2]s"},
		{"dump_cid", "dump_cpu", idle, true, "attach to unsupported member %[1]s of struct %[2]s"},
		{"cid_online", "cpu_online", idle, true, ""},
		{"cid_offline", "cpu_offline", idle, true, ""},
		{"init", "init", idle, true, ""},
	} {
		for typ, member := range map[string]string{"sched_ext_ops_cid": tt.cid, "sched_ext_ops": tt.cpu} {
			id, ok := spec.FindID(btf.KindStruct, typ)
			require.True(t, ok)
			so := verifier.StructOpsMember{Struct: typ, Member: member, Type: id, Index: -1}
			for i, m := range spec.MustType(id).Members {
				if m.Name == member {
					so.Index = i
				}
			}
			require.NotEqual(t, -1, so.Index, "%s.%s", typ, member)
			v := verdict(t, k, &verifier.Program{Type: uapi.ProgTypeStructOps, License: "GPL", StructOps: &so, Sleepable: tt.sleepable}, tt.text)
			want := tt.want
			if tt.sleepable && want != "" {
				want = fmt.Sprintf(want, member, typ)
			}
			assert.Equal(t, want, v.Message, "%s.%s: %s", typ, member, v.Missing)
		}
	}
}
