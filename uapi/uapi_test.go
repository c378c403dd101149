package uapi

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNumbersAndNames(t *testing.T) {
	assert.EqualValues(t, 211, MaxFuncID)
	assert.Equal(t, "bpf_map_lookup_elem", FuncMapLookupElem.String())
	assert.Equal(t, "bpf_cgrp_storage_delete", FuncCgrpStorageDelete.String())
	assert.Equal(t, "unknown#212", FuncID(212).String())
	assert.Equal(t, "unknown#-1", FuncID(-1).String())
	assert.EqualValues(t, 35, MapTypeRhash)
	assert.Equal(t, "percpu_hash", MapTypePercpuHash.String())
	assert.Equal(t, "sched_cls", ProgTypeSchedCls.String())
	assert.EqualValues(t, 32, ProgTypeNetfilter)
	assert.Equal(t, "trace_fentry", AttachTraceFentry.String())
	assert.EqualValues(t, 61, AttachTraceFsessionMulti)
	assert.False(t, MapType(36).Known())
	assert.True(t, MapTypeArena.Known())
}

// TestNamesComplete requires a unique name for every number, and that parsing inverts it.
func TestNamesComplete(t *testing.T) {
	for i := range progTypeNames {
		got, ok := ParseProgType(ProgType(i).String())
		assert.True(t, ok)
		assert.EqualValues(t, i, got)
	}
	for i := range attachTypeNames {
		got, ok := ParseAttachType(AttachType(i).String())
		assert.True(t, ok)
		assert.EqualValues(t, i, got)
	}
	for i := range mapTypeNames {
		got, ok := ParseMapType(MapType(i).String())
		assert.True(t, ok)
		assert.EqualValues(t, i, got)
	}
	for i := range funcNames {
		got, ok := ParseFuncID(FuncID(i).String())
		assert.True(t, ok)
		assert.EqualValues(t, i, got)
		got, ok = ParseFuncID(FuncID(i).String()[4:])
		assert.True(t, ok)
		assert.EqualValues(t, i, got)
	}
	_, ok := ParseFuncID("bpf_no_such_helper")
	assert.False(t, ok)
}

func TestErrno(t *testing.T) {
	assert.Equal(t, "ENOENT", ENOENT.Error())
	assert.Equal(t, "ENOTSUPP", ENOTSUPP.Error())
	assert.Equal(t, "ok", Errno(0).Error())
	assert.Equal(t, "errno 41", Errno(41).Error())
	assert.Equal(t, "errno -1", Errno(-1).Error())
	assert.EqualValues(t, -22, EINVAL.Neg())
	assert.Equal(t, uint64(0xffffffffffffffea), EINVAL.Ret())
	for i, n := range errnoNames {
		if n == "" {
			continue
		}
		got, ok := ParseErrno(n)
		assert.True(t, ok)
		assert.EqualValues(t, i, got)
	}
	got, ok := ParseErrno("EWOULDBLOCK")
	assert.True(t, ok)
	assert.Equal(t, EAGAIN, got)
}

func TestVerdictName(t *testing.T) {
	for _, c := range []struct {
		prog ProgType
		ret  int32
		want string
	}{
		{ProgTypeXDP, 2, "XDP_PASS"},
		{ProgTypeXDP, 9, ""},
		{ProgTypeSchedCls, -1, "TC_ACT_UNSPEC"},
		{ProgTypeSchedAct, 8, "TC_ACT_TRAP"},
		{ProgTypeSkMsg, 1, "SK_PASS"},
		{ProgTypeLwtXmit, 128, "BPF_LWT_REROUTE"},
		{ProgTypeFlowDissector, 129, "BPF_FLOW_DISSECTOR_CONTINUE"},
		{ProgTypeNetfilter, 1, "NF_ACCEPT"},
		{ProgTypeCgroupSkb, 0, "deny"},
		{ProgTypeLSM, -1, "-EPERM"},
		{ProgTypeLSM, -2147483648, ""},
		{ProgTypeLSM, 0, ""},
		{ProgTypeKprobe, 0, ""},
		{ProgTypeSocketFilter, 64, ""},
	} {
		assert.Equal(t, c.want, VerdictName(c.prog, c.ret), "%s %d", c.prog, c.ret)
	}
	v, ok := ParseVerdict("TC_ACT_SHOT")
	assert.True(t, ok)
	assert.EqualValues(t, 2, v)
	_, ok = ParseVerdict("allow")
	assert.False(t, ok)
}
