package verifier_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier"
)

// The value that bpf_set_retval sets is checked for hooks of cgroups from 7.2 on, as 32 bits;
// device programs call it if they were loaded with their attach type.
func TestRangeOfSetRetval(t *testing.T) {
	const allowed = "At bpf_set_retval the register R1 has "
	for _, c := range []struct {
		typ     uapi.ProgType
		at      uapi.AttachType
		value   string
		release since.Release
		want    string
	}{
		{uapi.ProgTypeCgroupDevice, uapi.AttachCgroupDevice, "w1 = -12", since.R(7, 2), ""},
		{uapi.ProgTypeCgroupDevice, uapi.AttachCgroupDevice, "r1 = -4095", since.R(7, 2), ""},
		{uapi.ProgTypeCgroupDevice, uapi.AttachCgroupDevice, "r1 = 1", since.R(7, 2), allowed + "smin=1 smax=1 should have been in [-4095, 0]"},
		{uapi.ProgTypeCgroupDevice, uapi.AttachCgroupDevice, "r1 = -4096", since.R(7, 2), allowed + "smin=-4096 smax=-4096 should have been in [-4095, 0]"},
		{uapi.ProgTypeCgroupDevice, uapi.AttachCgroupDevice, "r1 = 1", since.R(7, 1), ""},
		{uapi.ProgTypeCgroupDevice, 0, "r1 = 0", since.R(7, 2), "program of this type cannot use helper bpf_set_retval#187"},
		{uapi.ProgTypeCgroupSysctl, uapi.AttachCgroupSysctl, "r1 = 1", since.R(7, 2), allowed + "smin=1 smax=1 should have been in [-4095, 0]"},
		{uapi.ProgTypeCgroupSockopt, uapi.AttachCgroupSetsockopt, "r1 = 1", since.R(7, 2), allowed + "smin=1 smax=1 should have been in [-4095, 0]"},
		{uapi.ProgTypeCgroupSockopt, uapi.AttachCgroupGetsockopt, "r1 = 1", since.R(7, 2), ""},
		{uapi.ProgTypeCgroupSockopt, uapi.AttachCgroupSetsockopt, "call 186\nr1 = r0", since.R(7, 2), ""},
	} {
		v := verdict(t, &verifier.Kernel{Release: c.release}, &verifier.Program{Type: c.typ, Attach: c.at}, c.value+"\ncall 187\nr0 = 1\nexit")
		assert.Equal(t, c.want, v.Message, "%s of %s on %s: %s", c.value, c.typ, c.release, v.Missing)
		assert.Equal(t, c.want == "", v.Outcome == verifier.Accepted)
	}
}

// A program that may sleep traces, by its arguments' types, only tracepoints of system calls (7.2,
// the release that lets it sleep).
func TestSleepingAtTracepoints(t *testing.T) {
	k := verifier.KernelOf(embeddedTarget(t))
	k.Release = since.R(7, 2)
	for name, want := range map[string]string{
		"sys_enter": "", "sys_exit": "", "sched_switch": "Sleepable program cannot attach to non-faultable tracepoint sched_switch",
	} {
		v := verdict(t, k, &verifier.Program{Type: uapi.ProgTypeTracing, Attach: uapi.AttachTraceRawTp, AttachTo: name, Sleepable: true}, "r0 = 0\nexit")
		assert.Equal(t, want, v.Message, "%s: %s", name, v.Missing)
	}
}
