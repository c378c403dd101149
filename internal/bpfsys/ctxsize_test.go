package bpfsys_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// loading are programs that load eight bytes of their context, in one of two branches.
func loading(off int16) []decode.Insn {
	return []decode.Insn{
		{Code: 0x79, Dst: 2, Src: 1, Off: 8}, {Code: 0x15, Dst: 2, Off: 1}, {Code: 0x79, Dst: 3, Src: 1, Off: off},
		{Code: 0xb7}, {Code: 0x95},
	}
}

// TestEventsRefuseProgramsThatReadMoreThanTheyHave (__bpf_probe_register, perf_event_set_bpf_prog):
// the verifier cannot know which event a program is for.
func TestEventsRefuseProgramsThatReadMoreThanTheyHave(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	for name, args := range map[string]int16{"sched_switch": 4, "sys_enter": 2, "sched_process_exit": 2} {
		for off, want := range map[int16]uapi.Errno{8 * (args - 1): 0, 8 * args: uapi.EINVAL} {
			p := k.must(k.load(uapi.ProgTypeRawTracepoint, loading(off)))
			_, r := k.try(uapi.CmdRawTracepointOpen, field{0, k.text(name)}, field{8, p})
			assert.Equal(t, want, r.errno, "%s: %d", name, off)
		}
	}
	// The last fields: next_prio at 60, four bytes; buf and count of read(2) at 24 and 32; ret at 16.
	for name, last := range map[string]int16{"sched/sched_switch": 56, "syscalls/sys_enter_read": 32, "syscalls/sys_exit_read": 16} {
		b, _ := k.s.ReadFile("/sys/kernel/tracing/events/" + name + "/id")
		id := uint64(0)
		_, err := fmt.Sscan(string(b), &id)
		assert.NoError(t, err, name)
		for off, want := range map[int16]uapi.Errno{last: 0, last + 8: uapi.EACCES} {
			fd, r := k.event(uapi.PerfTypeTracepoint, id)
			k.must(fd, r.errno)
			p := k.must(k.load(uapi.ProgTypeTracepoint, loading(off)))
			res := k.s.PerfIoctl(k, k.files[int32(fd)].Object.(*bpfsys.PerfEvent), 0x2400|uint32(uapi.PerfIoctlSetBPF), uint64(p))
			assert.Equal(t, want, res.Errno, "%s: %d", name, off)
		}
	}
}
