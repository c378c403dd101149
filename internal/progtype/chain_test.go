package progtype

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// What programs of one hook return, and what the kernel makes of it.
func TestDecisions(t *testing.T) {
	tc, cg, lsm, tracing := uapi.ProgTypeSchedCls, uapi.ProgTypeCgroupSkb, uapi.ProgTypeLSM, uapi.ProgTypeTracing
	eperm, eacces := -int32(uapi.EPERM), -int32(uapi.EACCES)
	for _, tt := range []struct {
		name    string
		typ     uapi.ProgType
		attach  uapi.AttachType
		rets    []int32
		retvals []int32
		ran     int
		verdict string
	}{
		{"filters, until one decides", tc, 0, []int32{-1, 2, 0}, nil, 2, "TC_ACT_SHOT"},
		{"no filter decides", tc, 0, []int32{-1, -1}, nil, 2, "TC_ACT_OK"},
		{"a filter's return value that is no action", tc, 0, []int32{3, 0}, nil, 2, "TC_ACT_OK"},
		{"tcx, next and pass", tc, uapi.AttachTcxIngress, []int32{-1, 0, 2}, nil, 2, "TCX_PASS"},
		{"tcx drops", tc, uapi.AttachTcxEgress, []int32{-1, 2}, nil, 2, "TCX_DROP"},
		{"tcx, a value that it does not know, ends", tc, uapi.AttachTcxEgress, []int32{4, 2}, nil, 1, "TCX_PASS"},
		{"tcx, none decides", tc, uapi.AttachTcxEgress, []int32{-1}, nil, 1, "TCX_PASS"},
		{"netkit redirects", tc, uapi.AttachNetkitPrimary, []int32{-1, 7, 2}, nil, 2, "NETKIT_REDIRECT"},
		{"netkit, a value that it does not know", tc, uapi.AttachNetkitPeer, []int32{4, 0}, nil, 1, "NETKIT_DROP"},
		{"netkit, none decides", tc, uapi.AttachNetkitPeer, []int32{-1}, nil, 1, "NETKIT_PASS"},
		{"cgroups, all allow", cg, uapi.AttachCgroupInetEgress, []int32{1, 3}, nil, 2, "allow"},
		{"cgroups, all run although one denies", cg, uapi.AttachCgroupInetEgress, []int32{0, 1, 1}, nil, 3, "deny (-EPERM)"},
		{"cgroups, the lowest bit counts", cg, uapi.AttachCgroupInetEgress, []int32{2}, nil, 1, "deny (-EPERM)"},
		{"cgroups, a program sets the error", cg, uapi.AttachCgroupInetEgress, []int32{0, 1}, []int32{eacces, eacces}, 2, "deny (-EACCES)"},
		{"cgroups, an error from a program that allows", cg, uapi.AttachCgroupInetEgress, []int32{1}, []int32{eacces}, 1, "deny (-EACCES)"},
		{"LSM, until an error", lsm, uapi.AttachLSMMac, []int32{0, eperm, 0}, nil, 2, "-EPERM"},
		{"LSM, no error", lsm, uapi.AttachLSMMac, []int32{0, 0}, nil, 2, "0"},
		{"fmod_ret", tracing, uapi.AttachModifyReturn, []int32{0, 5, 0}, nil, 2, "5"},
		{"fentry", tracing, uapi.AttachTraceFentry, []int32{0, 5, 0}, nil, 3, ""},
		{"netfilter", uapi.ProgTypeNetfilter, uapi.AttachNetfilter, []int32{1, 0, 1}, nil, 2, "NF_DROP"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, ok := NewDecision(tt.typ, tt.attach)
			require.True(t, ok)
			ran := 0
			for i, ret := range tt.rets {
				ran++
				retval := int32(0)
				if tt.retvals != nil {
					retval = tt.retvals[i]
				}
				if !d.Add(uint32(ret), retval) {
					break
				}
			}
			assert.Equal(t, tt.ran, ran)
			assert.Equal(t, tt.verdict, d.Verdict())
		})
	}
	_, ok := NewDecision(uapi.ProgTypeXDP, uapi.AttachXDP)
	assert.False(t, ok, "a device has one XDP program")
}
