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
	for i := range mapTypes {
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
