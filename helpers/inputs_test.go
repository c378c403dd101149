package helpers

import (
	"encoding/binary"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// TestReturnWidths: until 6.3 the map operations returned 32 bits.
func TestReturnWidths(t *testing.T) {
	for _, c := range []struct {
		version uint32
		want    uint64
	}{{uapi.VersionCode(5, 10), 0xfffffffe}, {uapi.VersionCode(6, 1), 0xfffffffe}, {uapi.VersionCode(6, 4), neg(uapi.ENOENT)}, {newest, neg(uapi.ENOENT)}} {
		r := newRig(t, c.version)
		m := r.newMap(hash)
		q := r.newMap(maps.Spec{Type: uapi.MapTypeQueue, ValueSize: 8, MaxEntries: 1})
		assert.Equal(t, c.want, r.ok(uapi.FuncMapDeleteElem, m.Addr(), r.space(4)), "delete, version %#x", c.version)
		assert.Equal(t, c.want, r.ok(uapi.FuncMapUpdateElem, m.Addr(), r.space(4), r.space(8), uapi.Exist), "update")
		assert.Equal(t, c.want, r.ok(uapi.FuncMapPopElem, q.Addr(), r.space(8)), "pop")
		assert.Equal(t, c.want, r.ok(uapi.FuncMapPeekElem, q.Addr(), r.space(8)), "peek")
		assert.Zero(t, r.ok(uapi.FuncMapPushElem, q.Addr(), r.space(8), 0))
	}
}

func TestMapArguments(t *testing.T) {
	r := newRig(t, newest)
	m := r.newMap(hash)
	for _, id := range []uapi.FuncID{uapi.FuncMapLookupElem, uapi.FuncMapDeleteElem} {
		_, f := r.call(id, 0x1234, r.space(4))
		require.NotNil(t, f, "%v of no map", id)
		_, f = r.call(id, m.Addr(), r.space(3))
		require.NotNil(t, f, "%v with a short key", id)
	}
	_, f := r.call(uapi.FuncMapUpdateElem, m.Addr(), r.space(4), r.space(7), 0)
	require.NotNil(t, f, "a short value")
	_, f = r.call(uapi.FuncMapPushElem, m.Addr(), r.space(8), 0)
	require.NotNil(t, f, "a hash is not a queue")
	_, f = r.call(uapi.FuncMapLookupPercpuElem, m.Addr(), r.space(4), 0)
	require.NotNil(t, f, "values are shared")
}

// TestCsumDiffVersions: the sum was 32 bits wide and sizes multiples of four before 6.13.
func TestCsumDiffVersions(t *testing.T) {
	for _, c := range []struct {
		version  uint32
		from, to uint64
		want     uint64
	}{
		{uapi.VersionCode(6, 12), 0, 16, 0x332f0400}, {uapi.VersionCode(6, 12), 3, 0, neg(uapi.EINVAL)}, {uapi.VersionCode(6, 12), 0, 516, neg(uapi.EINVAL)}, {uapi.VersionCode(6, 12), 0, 0, 0},
		{newest, 0, 16, 0x372f}, {newest, 0, 516, 0},
	} {
		r := newRig(t, c.version)
		buf := r.alloc(append([]byte("0123456789abcdef"), make([]byte, 600)...))
		got := r.ok(uapi.FuncCsumDiff, buf, c.from, buf, c.to, 0)
		if c.want != 0 || c.to == 0 {
			assert.Equal(t, c.want, got, "%#x %d %d", c.version, c.from, c.to)
		}
	}
}

func TestPerfEvents(t *testing.T) {
	r := newRig(t, newest)
	m := r.newMap(maps.Spec{Type: uapi.MapTypePerfEventArray, KeySize: 4, ValueSize: 4, MaxEntries: 2})
	arr := m.(maps.PerfArray)
	data := r.str("sample")
	assert.Zero(t, r.ok(uapi.FuncPerfEventOutput, 0, m.Addr(), 0xffffffff, data, 7))
	assert.Zero(t, r.ok(uapi.FuncPerfEventOutput, 0, m.Addr(), 0, data, 4))
	assert.Equal(t, neg(uapi.EOPNOTSUPP), r.ok(uapi.FuncPerfEventOutput, 0, m.Addr(), 1, data, 4), "the buffer of another CPU")
	assert.Equal(t, neg(uapi.E2BIG), r.ok(uapi.FuncPerfEventOutput, 0, m.Addr(), 2, data, 4))
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncPerfEventOutput, 0, m.Addr(), 1<<32, data, 4), "no packet to append")
	require.Len(t, arr.Records(), 2)
	c := r.context(tc, hook.ContextSpec{})
	assert.Zero(t, r.ok(uapi.FuncPerfEventOutput, c.Addr, m.Addr(), 0xffffffff|14<<32, data, 7))
	records := arr.Records()
	require.Len(t, records, 3)
	want := append([]byte("sample\x00"), net.DefaultPacket()[:14]...)
	assert.Equal(t, want, records[2].Data[:len(want)])
	_, f := r.call(uapi.FuncPerfEventOutput, 0, r.newMap(hash).Addr(), 0, data, 4)
	require.NotNil(t, f)

	buf := r.space(24)
	v := r.ok(uapi.FuncPerfEventRead, m.Addr(), 0)
	assert.Zero(t, r.ok(uapi.FuncPerfEventReadValue, m.Addr(), 0, buf, 24))
	assert.GreaterOrEqual(t, r.u64(buf), v, "counters do not run backwards")
	assert.Zero(t, r.ok(uapi.FuncPerfProgReadValue, 0, buf, 24))
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncPerfProgReadValue, 0, buf, 16))
	assert.Zero(t, r.u64(buf), "zeroed")
}

func TestStacks(t *testing.T) {
	r := newRig(t, newest)
	m := r.newMap(maps.Spec{Type: uapi.MapTypeStackTrace, KeySize: 4, ValueSize: 80, MaxEntries: 16})
	id := r.ok(uapi.FuncGetStackid, 0, m.Addr(), 0)
	require.Less(t, id, uint64(16))
	ips, ok := m.(maps.StackTrace).Stack(uint32(id))
	require.True(t, ok)
	buf := r.space(80)
	n := r.ok(uapi.FuncGetStack, 0, buf, 80, 0)
	require.Equal(t, uint64(8*len(ips)), n)
	assert.Equal(t, ips[0], r.u64(buf))
	assert.Equal(t, n-8, r.ok(uapi.FuncGetStack, 0, buf, 80, 1), "one frame less")
	assert.Equal(t, ips[1], r.u64(buf))
	assert.EqualValues(t, 8, r.ok(uapi.FuncGetStack, 0, buf, 8, 0))
	assert.NotZero(t, r.ok(uapi.FuncGetTaskStack, r.kernel.Current().Addr(), buf, 80, 0))
	user := r.ok(uapi.FuncGetStack, 0, buf, 80, 1<<8)
	require.NotZero(t, user)
	assert.True(t, r.kernel.IsUserAddress(r.u64(buf)))
	_, f := r.call(uapi.FuncGetStack, 0, buf, 80, 1<<8|1<<11)
	require.NotNil(t, f)
	assert.Equal(t, vm.NotSimulated, f.Kind)
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncGetStackid, 0, m.Addr(), 1<<12))
	assert.Equal(t, neg(uapi.EFAULT), r.ok(uapi.FuncGetStackid, 0, m.Addr(), 255), "more frames skipped than there are")
}

func TestTaskInputs(t *testing.T) {
	r := newRig(t, newest)
	task := r.kernel.Current()
	for path, v := range map[string]any{"pid": 4243, "tgid": 4242, "comm": "worker", "cred.uid.val": 1001, "cred.gid.val": 1002} {
		require.NoError(t, task.Set(path, v), path)
	}
	assert.Equal(t, uint64(4242<<32|4243), r.ok(uapi.FuncGetCurrentPidTgid))
	assert.Equal(t, uint64(1002<<32|1001), r.ok(uapi.FuncGetCurrentUidGid))
	assert.Equal(t, task.Addr(), r.ok(uapi.FuncGetCurrentTask))
	assert.Equal(t, task.Addr(), r.ok(uapi.FuncGetCurrentTaskBtf))
	buf := r.alloc([]byte("zzzzzzzzzzzzzzzzzzzz"))
	assert.Zero(t, r.ok(uapi.FuncGetCurrentComm, buf, 16))
	assert.Equal(t, "worker\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00zzzz", string(r.bytes(buf, 20)))
	assert.Zero(t, r.ok(uapi.FuncGetCurrentComm, buf, 4))
	assert.Equal(t, "wor\x00", string(r.bytes(buf, 4)))
	_, f := r.call(uapi.FuncGetCurrentComm, buf, 21)
	require.NotNil(t, f)
	cg := r.ok(uapi.FuncGetCurrentCgroupId)
	assert.NotZero(t, cg)
	assert.EqualValues(t, 1, r.ok(uapi.FuncGetCurrentAncestorCgroupId, 0))
	assert.Equal(t, cg, r.ok(uapi.FuncGetCurrentAncestorCgroupId, 2))
	dev, ino := r.kernel.PidNamespace()
	assert.Zero(t, r.ok(uapi.FuncGetNsCurrentPidTgid, dev, ino, buf, 8))
	assert.Equal(t, uint64(4242<<32|4243), r.u64(buf))
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncGetNsCurrentPidTgid, dev, ino+1, buf, 8))
	assert.Zero(t, r.u64(buf), "zeroed")
	require.Nil(t, r.mem.Store(buf, 8, 5))
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncGetNsCurrentPidTgid, dev, ino, buf, 16))
	regs := r.ok(uapi.FuncTaskPtRegs, task.Addr())
	require.NotZero(t, regs)
	assert.Equal(t, regs, r.ok(uapi.FuncTaskPtRegs, task.Addr()))
	for _, id := range []uapi.FuncID{uapi.FuncSendSignal, uapi.FuncSendSignalThread} {
		assert.Zero(t, r.ok(id, 9))
		assert.Equal(t, neg(uapi.EINVAL), r.ok(id, 65))
	}
	require.Len(t, r.env.Run.Events, 2)
	assert.Equal(t, Event{Kind: Signal, Number: 9}, r.env.Run.Events[0])
	arr := r.newMap(maps.Spec{Type: uapi.MapTypeCgroupArray, KeySize: 4, ValueSize: 4, MaxEntries: 2})
	assert.Equal(t, neg(uapi.E2BIG), r.ok(uapi.FuncCurrentTaskUnderCgroup, arr.Addr(), 2))
	assert.Equal(t, neg(uapi.EAGAIN), r.ok(uapi.FuncCurrentTaskUnderCgroup, arr.Addr(), 0))
	require.Zero(t, arr.(maps.RefArray).SetRef(0, cg))
	assert.EqualValues(t, 1, r.ok(uapi.FuncCurrentTaskUnderCgroup, arr.Addr(), 0))
	require.Zero(t, arr.(maps.RefArray).SetRef(1, cg+1))
	assert.Zero(t, r.ok(uapi.FuncCurrentTaskUnderCgroup, arr.Addr(), 1))
}

func TestScalarInputs(t *testing.T) {
	a, b := newRig(t, newest), newRig(t, newest)
	clock := a.kernel.Clock()
	assert.Equal(t, clock.Mono(), a.ok(uapi.FuncKtimeGetNs))
	assert.Equal(t, clock.Boot(), a.ok(uapi.FuncKtimeGetBootNs))
	assert.Equal(t, clock.TAI(), a.ok(uapi.FuncKtimeGetTaiNs))
	coarse := a.ok(uapi.FuncKtimeGetCoarseNs)
	assert.LessOrEqual(t, coarse, clock.Mono())
	assert.Equal(t, clock.Jiffies(), a.ok(uapi.FuncJiffies64))
	assert.Zero(t, a.ok(uapi.FuncGetNumaNodeId))
	r1, r2 := a.ok(uapi.FuncGetPrandomU32), a.ok(uapi.FuncGetPrandomU32)
	assert.NotEqual(t, r1, r2)
	assert.Equal(t, r1, b.ok(uapi.FuncGetPrandomU32), "the same seed")
	assert.Less(t, r1, uint64(1<<32))
	a.thread.CPU = 1
	assert.EqualValues(t, 1, a.ok(uapi.FuncGetSmpProcessorId))
}

func TestPercpuVariables(t *testing.T) {
	r := newRig(t, newest)
	base, ok := r.kernel.KsymAddr("cpu_number")
	if !ok {
		base, ok = r.kernel.KsymAddr("runqueues")
	}
	require.True(t, ok)
	p0, p1 := r.ok(uapi.FuncPerCpuPtr, base, 0), r.ok(uapi.FuncPerCpuPtr, base, 1)
	require.NotZero(t, p0)
	assert.NotEqual(t, p0, p1)
	assert.Zero(t, r.ok(uapi.FuncPerCpuPtr, base, 2), "no such CPU")
	assert.Equal(t, p0, r.ok(uapi.FuncThisCpuPtr, base))
	r.thread.CPU = 1
	assert.Equal(t, p1, r.ok(uapi.FuncThisCpuPtr, base))
	_, f := r.call(uapi.FuncThisCpuPtr, r.space(8))
	require.NotNil(t, f)
	assert.Equal(t, base, r.kok("bpf_rdonly_cast", base, 0))
}

func TestTracingInputs(t *testing.T) {
	r := newRig(t, newest)
	run := r.env.Run
	run.FuncIP, run.Cookie, run.FuncArgs = 0xffffffff81000000, 77, 2
	ctx := r.alloc(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 11), 22), 33))
	out := r.space(8)
	assert.Equal(t, run.FuncIP, r.ok(uapi.FuncGetFuncIp, ctx))
	assert.EqualValues(t, 77, r.ok(uapi.FuncGetAttachCookie, ctx))
	assert.EqualValues(t, 2, r.ok(uapi.FuncGetFuncArgCnt, ctx))
	assert.Zero(t, r.ok(uapi.FuncGetFuncArg, ctx, 1, out))
	assert.EqualValues(t, 22, r.u64(out))
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncGetFuncArg, ctx, 2, out))
	assert.EqualValues(t, 22, r.u64(out), "left alone on failure")
	assert.Equal(t, neg(uapi.EOPNOTSUPP), r.ok(uapi.FuncGetFuncRet, ctx, out))
	run.FuncReturns = true
	assert.Zero(t, r.ok(uapi.FuncGetFuncRet, ctx, out))
	assert.EqualValues(t, 33, r.u64(out))
	assert.Zero(t, r.ok(uapi.FuncOverrideReturn, ctx, neg(uapi.EPERM)))
	assert.Equal(t, []Event{{Kind: OverrideReturn, Number: neg(uapi.EPERM)}}, run.Events)
	buf := r.space(48)
	assert.Equal(t, neg(uapi.ENOENT), r.ok(uapi.FuncGetBranchSnapshot, buf, 48, 0))
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncGetBranchSnapshot, buf, 48, 1))
	assert.Equal(t, neg(uapi.ENOENT), r.ok(uapi.FuncReadBranchRecords, ctx, buf, 48, 1))
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncReadBranchRecords, ctx, buf, 48, 2))
	assert.Zero(t, r.ok(uapi.FuncGetRetval))
	assert.Zero(t, r.ok(uapi.FuncSetRetval, neg(uapi.EPERM)))
	assert.Equal(t, neg(uapi.EPERM), r.ok(uapi.FuncGetRetval))
}

func TestSymbols(t *testing.T) {
	r := newRig(t, newest)
	out := r.space(8)
	name := r.str("vfs_read")
	assert.Zero(t, r.ok(uapi.FuncKallsymsLookupName, name, 9, 0, out))
	want, ok := r.kernel.KsymAddr("vfs_read")
	require.True(t, ok)
	assert.Equal(t, want, r.u64(out))
	assert.Equal(t, neg(uapi.ENOENT), r.ok(uapi.FuncKallsymsLookupName, r.str("no_such_symbol_"), 16, 0, out))
	assert.Zero(t, r.u64(out))
	require.Nil(t, r.mem.Store(out, 8, 5))
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncKallsymsLookupName, name, 8, 0, out), "not terminated")
	assert.Zero(t, r.u64(out), "zeroed since 6.12")
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncKallsymsLookupName, name, 9, 1, out), "flags")
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncKallsymsLookupName, name+8, 1, 0, out), "empty")
}

func TestFindVMA(t *testing.T) {
	r := newRig(t, newest)
	task := r.kernel.Current()
	start, err := r.kernel.BTF().ResolvePath(mustFind(t, r, "vm_area_struct"), "vm_start")
	require.NoError(t, err)
	user := r.kernel.UserString("text")
	cb, err := decode.Assemble("r0 = *(u64 *)(r2 + " + itoa(start.Offset()) + "); *(u64 *)(r3 + 0) = r0; r0 = 1; exit")
	require.NoError(t, err)
	fn := r.lower(cb, nil).FuncAddr(0)
	out := r.space(8)
	assert.Zero(t, r.ok(uapi.FuncFindVma, task.Addr(), user+2, fn, out, 0))
	assert.Equal(t, user&^4095, r.u64(out))
	assert.Equal(t, neg(uapi.ENOENT), r.ok(uapi.FuncFindVma, task.Addr(), 0x7000, fn, out, 0))
	assert.Equal(t, neg(uapi.ENOENT), r.ok(uapi.FuncFindVma, 0, user, fn, out, 0))
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncFindVma, task.Addr(), user, fn, out, 1))
}

func TestIteratorOutput(t *testing.T) {
	r := newRig(t, newest)
	assert.Zero(t, r.ok(uapi.FuncSeqWrite, 0, r.str("raw "), 4))
	args := r.alloc([]byte{7, 0, 0, 0, 0, 0, 0, 0})
	assert.Zero(t, r.ok(uapi.FuncSeqPrintf, 0, r.str("n=%d\n"), 6, args, 8))
	assert.Equal(t, "raw n=7\n", string(r.env.Run.Text))
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncSeqPrintf, 0, r.str("n=%d\n"), 5, args, 8), "not terminated")
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncSeqPrintf, 0, r.str("%d %d"), 6, args, 8), "too few")
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncSeqPrintf, 0, r.str("%d"), 3, args, 7))
}

func TestSockets(t *testing.T) {
	r := newRig(t, newest)
	c := r.context(uapi.ProgTypeCgroupSkb, hook.ContextSpec{})
	sk, ok := c.Field("sk")
	require.True(t, ok)
	full := r.ok(uapi.FuncSkFullsock, sk)
	assert.Equal(t, full, r.ok(uapi.FuncSkFullsock, full))
	assert.Equal(t, r.kernel.SocketAt(sk), r.kernel.SocketAt(full))
	assert.Zero(t, r.ok(uapi.FuncTcpSock, sk))
	assert.Zero(t, r.ok(uapi.FuncGetListenerSock, sk))
	_, f := r.call(uapi.FuncSkFullsock, c.Addr)
	require.NotNil(t, f)
	assert.NotZero(t, r.ok(uapi.FuncGetSocketCookie, c.Addr))
	for _, id := range []uapi.FuncID{uapi.FuncSkLookupTcp, uapi.FuncSkLookupUdp, uapi.FuncSkcLookupTcp} {
		assert.Zero(t, r.ok(id, c.Addr, r.space(12), 12, ^uint64(0), 0))
		_, f := r.call(id, c.Addr, r.space(8), 12, ^uint64(0), 0)
		require.NotNil(t, f)
	}
	tcp, err := r.kernel.NewSock("tcp", net.SockSpec{})
	require.NoError(t, err)
	udp6, err := r.kernel.NewSock("udp6", net.SockSpec{Family: 10, Protocol: 17, Type: 2})
	require.NoError(t, err)
	unix, err := r.kernel.NewSock("unix", net.SockSpec{Family: 1, Protocol: 255, Type: 2})
	require.NoError(t, err)
	wait, err := r.kernel.NewSock("wait", net.SockSpec{State: 6})
	require.NoError(t, err)
	syn, err := r.kernel.NewSock("syn", net.SockSpec{State: 12})
	require.NoError(t, err)
	all := []*object.Object{tcp, udp6, unix, wait, syn}
	for id, which := range map[uapi.FuncID]*object.Object{
		uapi.FuncSkcToTcpSock: tcp, uapi.FuncSkcToTcp6Sock: nil, uapi.FuncSkcToUdp6Sock: udp6, uapi.FuncSkcToUnixSock: unix, uapi.FuncSkcToTcpTimewaitSock: wait, uapi.FuncSkcToTcpRequestSock: syn,
	} {
		assert.Zero(t, r.ok(id, 0))
		for _, o := range all {
			want := uint64(0)
			if o == which {
				want = o.Addr()
			}
			assert.Equal(t, want, r.ok(id, o.Addr()), "%v of %s", id, o.Role())
		}
	}
	cookie, err := tcp.Uint("__sk_common.skc_cookie.counter")
	require.NoError(t, err)
	assert.Equal(t, cookie, r.ok(uapi.FuncGetSocketCookie, tcp.Addr()))
	x := r.context(xdp, hook.ContextSpec{})
	for name, n := range map[string]int{"bpf_xdp_metadata_rx_timestamp": 2, "bpf_xdp_metadata_rx_hash": 3, "bpf_xdp_metadata_rx_vlan_tag": 3} {
		args := []uint64{x.Addr, r.space(8), r.space(8)}[:n]
		assert.Equal(t, uint64(uint32(neg(uapi.EOPNOTSUPP))), r.kok(name, args...), name)
	}
}

func TestCaseStrings(t *testing.T) {
	r := newRig(t, newest)
	a, b := r.str("Hello World"), r.str("hello")
	e2big := uint64(uint32(neg(uapi.E2BIG)))
	assert.Zero(t, r.kok("bpf_strncasecmp", a, b, 5))
	assert.EqualValues(t, 1, r.kok("bpf_strncasecmp", a, b, 6))
	assert.Zero(t, r.kok("bpf_strncasecmp", a, b, 0))
	assert.EqualValues(t, 6, r.kok("bpf_strcasestr", a, r.str("wORLD")))
	assert.EqualValues(t, 6, r.kok("bpf_strncasestr", a, r.str("wORLD"), 11))
	assert.Equal(t, uint64(uint32(neg(uapi.ENOENT))), r.kok("bpf_strncasestr", a, r.str("wORLD"), 10))
	long := make([]byte, maxString+8)
	for i := range long {
		long[i] = 'a'
	}
	assert.Equal(t, e2big, r.kok("bpf_strlen", r.alloc(long)))
	_, f := r.kfunc("bpf_strlen", r.alloc([]byte("not terminated")))
	if f == nil {
		assert.Equal(t, uint64(uint32(neg(uapi.EFAULT))), r.thread.Ret())
	}
}

func TestRedirectEvents(t *testing.T) {
	r := newRig(t, newest)
	dev := r.newMap(maps.Spec{Type: uapi.MapTypeDevmap, KeySize: 4, ValueSize: 4, MaxEntries: 4, Name: "tx"})
	require.Zero(t, dev.Update(maps.AllCPUs, []byte{1, 0, 0, 0}, []byte{2, 0, 0, 0}, 0))
	c := r.context(xdp, hook.ContextSpec{})
	assert.EqualValues(t, 4, r.ok(uapi.FuncRedirectMap, dev.Addr(), 1, 0))
	assert.Equal(t, []Event{{Kind: Redirect, Number: 1, Detail: "map tx[1]"}}, r.env.Run.Events)
	assert.EqualValues(t, 4, r.ok(uapi.FuncRedirect, 2, 0))
	assert.Equal(t, []Event{{Kind: Redirect, Number: 2}}, r.env.Run.Events, "the last one counts")
	assert.EqualValues(t, 2, r.ok(uapi.FuncRedirectMap, dev.Addr(), 3, 2))
	assert.Empty(t, r.env.Run.Events, "a miss forgets the target")
	_, f := r.call(uapi.FuncRedirectMap, r.newMap(hash).Addr(), 0, 0)
	require.NotNil(t, f)
	_, f = r.call(uapi.FuncXDPAdjustHead, r.space(8), 0)
	require.NotNil(t, f, "no context")
	_, f = r.call(uapi.FuncXDPAdjustHead, c.Addr+4, 0)
	require.NotNil(t, f, "a modified context")
	k := r.context(tc, hook.ContextSpec{})
	assert.Zero(t, r.ok(uapi.FuncCloneRedirect, k.Addr, 2, 0))
	require.Len(t, r.env.Run.Events, 1)
	assert.Equal(t, hex.EncodeToString(net.DefaultPacket()), hex.EncodeToString(r.env.Run.Events[0].Data))
}

func TestAdjustRoomMovesPacket(t *testing.T) {
	r := newRig(t, newest)
	c := r.context(tc, hook.ContextSpec{})
	was := c.Packet.Data()
	assert.Zero(t, r.ok(uapi.FuncSkbAdjustRoom, c.Addr, 2000, 1, 0))
	assert.Equal(t, 2064, c.Packet.Len())
	assert.NotNil(t, r.mem.Store(was, 1, 0), "old pointers are dangling when the packet had to move")
	assert.Nil(t, r.mem.Store(c.Packet.Data(), 1, 0))
}

func TestPacketOutput(t *testing.T) {
	r := newRig(t, newest)
	m := r.newMap(maps.Spec{Type: uapi.MapTypePerfEventArray, KeySize: 4, ValueSize: 4, MaxEntries: 2})
	arr := m.(maps.PerfArray)
	pkt := r.alloc([]byte("0123456789"))
	skb, err := r.kernel.NewObjectNamed("skb", "sk_buff")
	require.NoError(t, err)
	buff, err := r.kernel.NewObjectNamed("xdp", "xdp_buff")
	require.NoError(t, err)
	for o, fields := range map[*object.Object]map[string]uint64{skb: {"data": pkt, "len": 10, "data_len": 0}, buff: {"data": pkt, "data_end": pkt + 10}} {
		for path, v := range fields {
			require.NoError(t, o.Set(path, object.Pointer(v)), path)
		}
	}
	for id, o := range map[uapi.FuncID]*object.Object{uapi.FuncSkbOutput: skb, uapi.FuncXDPOutput: buff} {
		assert.Zero(t, r.ok(id, o.Addr(), m.Addr(), 0xffffffff|4<<32, r.str("meta"), 4))
		records := arr.TakeRecords()
		require.Len(t, records, 1)
		assert.Equal(t, "meta0123", string(records[0].Data[:8]))
		assert.Equal(t, neg(uapi.EFAULT), r.ok(id, o.Addr(), m.Addr(), 0xffffffff|11<<32, r.str("meta"), 4))
		assert.Equal(t, neg(uapi.EINVAL), r.ok(id, o.Addr(), m.Addr(), 1<<52, r.str("meta"), 4))
		_, f := r.call(id, 0, m.Addr(), 0xffffffff|4<<32, r.str("meta"), 4)
		require.NotNil(t, f)
	}
}

// TestPacketOutputReadsFragments: of the packet of a program that is traced, all bytes can be
// appended.
func TestPacketOutputReadsFragments(t *testing.T) {
	r := newRig(t, newest)
	m := r.newMap(maps.Spec{Type: uapi.MapTypePerfEventArray, KeySize: 4, ValueSize: 4, MaxEntries: 2})
	linear := append([]byte("0123456789"), make([]byte, 90)...)
	spec := hook.ContextSpec{Packet: linear, NetSpec: hook.NetSpec{Frags: [][]byte{[]byte("abcdef")}}}
	for id, typ := range map[uapi.FuncID]uapi.ProgType{uapi.FuncSkbOutput: uapi.ProgTypeSchedCls, uapi.FuncXDPOutput: uapi.ProgTypeXDP} {
		c := r.context(typ, spec)
		kern := r.kok("bpf_cast_to_kern_ctx", c.Addr)
		assert.Zero(t, r.ok(id, kern, m.Addr(), 0xffffffff|106<<32, r.str("meta"), 4), typ)
		records := m.(maps.PerfArray).TakeRecords()
		require.Len(t, records, 1, typ)
		assert.Equal(t, "meta"+string(linear)+"abcdef", string(records[0].Data[:110]), typ)
		assert.Equal(t, neg(uapi.EFAULT), r.ok(id, kern, m.Addr(), 0xffffffff|107<<32, r.str("meta"), 4), typ)
	}
}

func TestRemoteControl(t *testing.T) {
	r := newRig(t, newest)
	assert.Zero(t, r.ok(uapi.FuncRcKeydown, 0, 3, 0x1234, 1))
	assert.Zero(t, r.ok(uapi.FuncRcRepeat, 0))
	assert.Zero(t, r.ok(uapi.FuncRcPointerRel, 0, neg(uapi.EPERM), 5))
	assert.Equal(t, []Event{{Kind: RCKeydown, Number: 0x1234, Detail: "protocol 3, toggle 1"}, {Kind: RCRepeat}, {Kind: RCPointer, Detail: "-1, 5"}}, r.env.Run.Events)
	_, f := r.call(uapi.FuncSkRelease, 0x1234)
	require.NotNil(t, f)
}

func TestPacketCgroups(t *testing.T) {
	r := newRig(t, newest)
	c := r.context(tc, hook.ContextSpec{})
	cg := r.kernel.CgroupID()
	assert.Equal(t, cg, r.ok(uapi.FuncSkbCgroupId, c.Addr))
	assert.EqualValues(t, 1, r.ok(uapi.FuncSkbAncestorCgroupId, c.Addr, 0))
	assert.Zero(t, r.ok(uapi.FuncSkbAncestorCgroupId, c.Addr, neg(uapi.EPERM)))
	assert.Zero(t, r.ok(uapi.FuncSkbAncestorCgroupId, c.Addr, 100))
	arr := r.newMap(maps.Spec{Type: uapi.MapTypeCgroupArray, KeySize: 4, ValueSize: 4, MaxEntries: 2})
	assert.Equal(t, neg(uapi.E2BIG), r.ok(uapi.FuncSkbUnderCgroup, c.Addr, arr.Addr(), 2))
	assert.Equal(t, neg(uapi.EAGAIN), r.ok(uapi.FuncSkbUnderCgroup, c.Addr, arr.Addr(), 0))
	require.Zero(t, arr.(maps.RefArray).SetRef(0, cg))
	assert.EqualValues(t, 1, r.ok(uapi.FuncSkbUnderCgroup, c.Addr, arr.Addr(), 0))
	assert.Zero(t, r.ok(uapi.FuncSkbCgroupClassid, c.Addr))
	out := r.alloc([]byte("12345678"))
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncSkbGetXfrmState, c.Addr, 0, out, 8, 0))
	assert.Zero(t, r.u64(out), "zeroed")
}
