package bpfsys_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

func TestFiltersOfPerfEvents(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	b, _ := k.s.ReadFile("/sys/kernel/tracing/events/sched/sched_switch/id")
	id := uint64(0)
	_, err := fmt.Sscan(string(b), &id)
	require.NoError(t, err)
	set := func(typ uapi.PerfType, config uint64, filters ...string) (e uapi.Errno) {
		fd, r := k.event(typ, config)
		require.Zero(t, r.errno)
		for _, f := range filters {
			k.used = 0x8000
			e = k.s.PerfIoctl(k, k.files[int32(fd)].Object.(*bpfsys.PerfEvent), 0x2400|uint32(uapi.PerfIoctlSetFilter), k.text(f)).Errno
		}
		return e
	}
	for filter, want := range map[string]uapi.Errno{
		"prev_pid > 0": 0, "prev_pid==0x10&&!(next_prio<120 || next_pid != -1)": 0, `prev_comm == "bash" || next_comm ~ "sh*"`: 0, "common_pid & 3": 0, "COMM == 'x'": 0, "cpu & CPUS{0-3,7}": 0,
		"": uapi.EINVAL, "nothing == 1": uapi.EINVAL, "prev_pid": uapi.EINVAL, "prev_pid ~ 1": uapi.EINVAL, `prev_pid == "x"`: uapi.EINVAL, "prev_comm == 1": uapi.EINVAL, `prev_comm < "x"`: uapi.EINVAL,
		"(prev_pid == 1": uapi.EINVAL, "prev_pid == 1)": uapi.EINVAL, "prev_pid == 1 &&": uapi.EINVAL, "prev_pid = 1": uapi.EINVAL, strings.Repeat("(", 4000): uapi.EINVAL,
	} {
		assert.Equal(t, want, set(uapi.PerfTypeTracepoint, id, filter), "%.40q", filter)
	}
	assert.Equal(t, uapi.EEXIST, set(uapi.PerfTypeTracepoint, id, "prev_pid > 0", "prev_pid > 0"))
	assert.Equal(t, uapi.EINVAL, set(uapi.PerfTypeSoftware, 0, "prev_pid > 0"), "it has no fields")
}
