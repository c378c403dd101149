package loader

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
)

// TestMisspeltHooks: hooks that the kernel lacks are told apart from those to which nothing is
// attached.
func TestMisspeltHooks(t *testing.T) {
	spec, err := testbtf.Load("../testdata/btf/linux-7.2.13-amd64.btf.xz")
	require.NoError(t, err)
	target := NewTarget("linux-7.2.13-amd64", spec)
	for hook, want := range map[string]string{
		"vfs_unlink": "", "sched_switch": "", "sched/sched_switch": "", "syscall/openat": "", "perf_event": "", "xdp": "", "nothing_like_any_hook_at_all": "",
		"vfs_unlinkk": "vfs_unlink", "sched_swich": "sched_switch", "sched/sched_swich": "sched/sched_switch", "syscall/opnat": "syscall/openat",
	} {
		near := target.Misspelt(hook)
		if want == "" {
			assert.Empty(t, near, hook)
		} else {
			assert.Contains(t, near, want, hook)
		}
	}
}
