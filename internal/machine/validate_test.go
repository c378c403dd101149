package machine_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
)

// TestReadsAtFixedOffsets: offsets compiled in are right on one kernel, and hit another member or
// none on others.
func TestReadsAtFixedOffsets(t *testing.T) {
	for _, tt := range []struct {
		kernel string
		want   []string
	}{
		{embedded.Name, []string{"reads task_struct.pid of current at the fixed offset 2432", "reads task_struct.tgid of current at the fixed offset 2436"}},
		{"../../testdata/btf/linux-7.2.13-amd64.btf.xz", []string{
			"reads task_struct.rcu_read_unlock_special.s of current at the fixed offset 2432",
			"reads padding of task_struct of current at the fixed offset 2436",
		}},
	} {
		t.Run(tt.kernel, func(t *testing.T) {
			m := compose(t, load(t, "../../testdata/objects/clang-14/baked.o", target(t, tt.kernel)), machine.Config{})
			for _, prog := range []string{"by_probe_read", "by_load"} {
				v := m.Validate(run(t, m, prog))
				assert.Equal(t, [3]int{2, 0, 2}, [3]int{v.Reads, v.Proved, v.Baked})
				var got []string
				for _, f := range v.Findings {
					assert.Equal(t, machine.Baked, f.Kind, f.Text)
					got = append(got, f.Text)
				}
				assert.Equal(t, tt.want, got)
			}
		})
	}
}
