package helpers

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// TestWildSizesAllocateNothing: a result that does not fit its destination is refused before there
// is room for it on the host.
func TestWildSizesAllocateNothing(t *testing.T) {
	const wild = 1 << 28
	for _, c := range []struct {
		id   uapi.FuncID
		typ  uapi.ProgType
		args func(ctx, out uint64) []uint64
	}{
		{uapi.FuncProbeReadKernel, uapi.ProgTypeKprobe, func(_, out uint64) []uint64 { return []uint64{out, wild, out} }},
		{uapi.FuncProbeReadKernelStr, uapi.ProgTypeKprobe, func(_, out uint64) []uint64 { return []uint64{out, wild, out} }},
		{uapi.FuncProbeReadUser, uapi.ProgTypeKprobe, func(_, out uint64) []uint64 { return []uint64{0, wild, out} }},
		{uapi.FuncGetCurrentComm, uapi.ProgTypeKprobe, func(_, out uint64) []uint64 { return []uint64{out, wild} }},
		{uapi.FuncGetStack, uapi.ProgTypeKprobe, func(ctx, out uint64) []uint64 { return []uint64{ctx, out, wild, 0} }},
		{uapi.FuncGetNsCurrentPidTgid, uapi.ProgTypeKprobe, func(_, out uint64) []uint64 { return []uint64{0, 0, out, wild} }},
		{uapi.FuncPerfProgReadValue, uapi.ProgTypePerfEvent, func(ctx, out uint64) []uint64 { return []uint64{ctx, out, wild} }},
		{uapi.FuncSkbLoadBytes, uapi.ProgTypeSchedCls, func(ctx, out uint64) []uint64 { return []uint64{ctx, 0, out, wild} }},
		{uapi.FuncSkbGetTunnelOpt, uapi.ProgTypeSchedCls, func(ctx, out uint64) []uint64 { return []uint64{ctx, out, wild} }},
		{uapi.FuncGetsockopt, uapi.ProgTypeSockOps, func(ctx, out uint64) []uint64 { return []uint64{ctx, 6, 13, out, wild} }},
		{uapi.FuncSysctlGetName, uapi.ProgTypeCgroupSysctl, func(ctx, out uint64) []uint64 { return []uint64{ctx, out, wild, 0} }},
		{uapi.FuncSysctlGetCurrentValue, uapi.ProgTypeCgroupSysctl, func(ctx, out uint64) []uint64 { return []uint64{ctx, out, wild} }},
	} {
		r := newRig(t, newest)
		ctx := r.context(c.typ, hook.ContextSpec{}).Addr
		if c.id == uapi.FuncSkbGetTunnelOpt {
			r.ok(uapi.FuncSkbSetTunnelKey, ctx, r.space(44), 44, 0)
			r.ok(uapi.FuncSkbSetTunnelOpt, ctx, r.space(4), 4)
		}
		var before, after runtime.MemStats
		args := c.args(ctx, r.space(16))
		runtime.ReadMemStats(&before)
		_, f := r.call(c.id, args...)
		runtime.ReadMemStats(&after)
		require.NotNil(t, f, "%v", c.id)
		assert.NotNil(t, f.Mem, "%v", c.id)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(wild/16), "%v", c.id)
	}
}

// TestRecordedEffectsAreBounded: a loop of helpers that leave something after ends before the
// host's memory does.
func TestRecordedEffectsAreBounded(t *testing.T) {
	for _, id := range []uapi.FuncID{uapi.FuncTracePrintk, uapi.FuncSendSignal, uapi.FuncCloneRedirect} {
		r := newRig(t, newest)
		ctx := r.context(uapi.ProgTypeSchedCls, hook.ContextSpec{}).Addr
		args := map[uapi.FuncID][]uint64{uapi.FuncTracePrintk: {r.str("line"), 5}, uapi.FuncSendSignal: {9}, uapi.FuncCloneRedirect: {ctx, 2, 0}}[id]
		r.env.Run.Host = &mem.Host{}
		r.ok(id, args...)
		r.env.Run.Host.Limit = 2*r.env.Run.Host.Used() - 1
		assert.Positive(t, r.env.Run.kept, "%v", id)
		_, f := r.call(id, args...)
		require.NotNil(t, f, "%v", id)
		assert.Equal(t, vm.NotSimulated, f.Kind, "%v", id)
	}
}
