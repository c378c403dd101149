package helpers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// asm runs assembled text with the given arguments in r1 to r5.
func (r *rig) asm(text string, args ...uint64) (uint64, *vm.Fault) {
	r.t.Helper()
	insns, err := decode.Assemble(text)
	require.NoError(r.t, err)
	return r.run(r.lower(insns, nil), args...)
}

func TestLoop(t *testing.T) {
	// r9 counts on the caller's stack through the context pointer; the callback stops at the number
	// in r3.
	const text = `
		r6 = r1
		*(u64 *)(r10 - 8) = 0
		*(u64 *)(r10 - 16) = r2
		r2 = func(cb)
		r3 = r10
		r3 += -16
		r4 = r5
		r1 = r6
		call 181
		r1 = *(u64 *)(r10 - 8)
		r1 <<= 32
		r0 |= r1
		exit
	cb:	r3 = *(u64 *)(r2 + 8)
		r3 += 1
		*(u64 *)(r2 + 8) = r3
		r4 = *(u64 *)(r2 + 0)
		r0 = 0
		if r1 != r4 goto +1
		r0 = 1
		exit`
	for _, c := range []struct {
		name         string
		n, stop      uint64
		flags        uint64
		ret, counted uint64
	}{
		{"none", 0, 9, 0, 0, 0},
		{"all", 5, 9, 0, 5, 5},
		{"stopped", 5, 2, 0, 3, 3},
		{"upper half of n is ignored", 1<<32 + 2, 9, 0, 2, 2},
		{"too many", 8<<20 + 1, 9, 0, 0xfffffff9, 0},
	} {
		r := newRig(t, newest)
		ret, f := r.asm(text, c.n, c.stop, 0, 0, c.flags)
		require.Nil(t, f, c.name)
		assert.Equal(t, c.ret|c.counted<<32, ret, c.name)
	}
	r := newRig(t, newest)
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncLoop, 1, 0, 0, 1))
	_, f := r.call(uapi.FuncLoop, 1, 0x1234, 0, 0)
	require.NotNil(t, f)
	assert.Equal(t, vm.BadTarget, f.Kind)
}

func TestForEachMapElem(t *testing.T) {
	// The callback adds key*value to *ctx and returns what ctx[1] says for the key in ctx[2].
	const text = `
		r6 = r1
		*(u64 *)(r10 - 24) = 0
		*(u64 *)(r10 - 16) = r2
		r2 = func(cb)
		r3 = r10
		r3 += -24
		call 164
		r1 = *(u64 *)(r10 - 24)
		r1 <<= 32
		r0 |= r1
		exit
	cb:	r5 = *(u32 *)(r2 + 0)
		r3 = *(u64 *)(r3 + 0)
		r3 *= r5
		r0 = *(u64 *)(r4 + 0)
		r0 += r3
		*(u64 *)(r4 + 0) = r0
		r0 = 0
		r1 = *(u64 *)(r4 + 8)
		if r1 != r5 goto +1
		r0 = 1
		exit`
	for _, typ := range []uapi.MapType{uapi.MapTypeHash, uapi.MapTypeArray, uapi.MapTypePercpuArray, uapi.MapTypeLRUHash, uapi.MapTypePercpuHash} {
		r := newRig(t, newest)
		m := r.newMap(maps.Spec{Type: typ, KeySize: 4, ValueSize: 8, MaxEntries: 4})
		for k := range uint32(4) {
			require.Zero(t, m.Update(0, []byte{byte(k), 0, 0, 0}, []byte{byte(10 + k), 0, 0, 0, 0, 0, 0, 0}, 0))
		}
		used := r.mem.Used()
		ret, f := r.asm(text, m.Addr(), 99, 0, 0)
		require.Nil(t, f, typ)
		assert.Equal(t, uint64(4|(11+24+39)<<32), ret, typ)
		ret, f = r.asm(text, m.Addr(), 0, 0, 0)
		require.Nil(t, f, typ)
		if typ == uapi.MapTypeArray {
			assert.Equal(t, uint64(1), ret, typ)
		}
		for range 50 {
			_, f = r.asm(text, m.Addr(), 99, 0, 0)
			require.Nil(t, f, typ)
		}
		assert.Less(t, r.mem.Used()-used, uint64(1<<20), "the key's memory is given back")
		assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncForEachMapElem, m.Addr(), 0, 0, 1), typ)
	}
	r := newRig(t, newest)
	ring := r.newMap(maps.Spec{Type: uapi.MapTypeRingbuf, MaxEntries: 4096})
	_, f := r.call(uapi.FuncForEachMapElem, ring.Addr(), 0, 0, 0)
	require.NotNil(t, f)
	assert.Equal(t, vm.BadArgument, f.Kind)
}

func TestTailCall(t *testing.T) {
	r := newRig(t, newest)
	m := r.newMap(maps.Spec{Type: uapi.MapTypeProgArray, KeySize: 4, ValueSize: 4, MaxEntries: 3})
	target, err := decode.Assemble("r0 = 77; exit")
	require.NoError(t, err)
	require.Zero(t, m.(maps.ProgArray).SetProg(1, r.lower(target, nil)))
	const text = "r2 = map_fd(0); r3 = %d"
	for _, c := range []struct {
		index string
		want  uint64
	}{{"1", 77}, {"0", 5}, {"3", 5}, {"-1", 5}} {
		insns, err := decode.Assemble("r2 = map_fd(0); r3 = " + c.index + "; call 12; r0 = 5; exit")
		require.NoError(t, err)
		ret, f := r.run(r.lower(insns, nil), 0)
		require.Nil(t, f)
		assert.Equal(t, c.want, ret, "index %s of %s", c.index, text)
	}
	// A program that calls itself continues after 33 calls.
	self, err := decode.Assemble("r6 = r1; r5 = *(u64 *)(r6 + 0); r5 += 1; *(u64 *)(r6 + 0) = r5; r1 = r6; r2 = map_fd(0); r3 = 2; call 12; r0 = *(u64 *)(r6 + 0); exit")
	require.NoError(t, err)
	img := r.lower(self, nil)
	require.Zero(t, m.(maps.ProgArray).SetProg(2, img))
	ret, f := r.run(img, r.space(8))
	require.Nil(t, f)
	assert.EqualValues(t, 34, ret)
	hash := r.newMap(hash)
	_, f = r.call(uapi.FuncTailCall, 0, hash.Addr(), 0)
	require.NotNil(t, f)
	assert.Equal(t, vm.BadArgument, f.Kind)
}

func TestRingbufRecords(t *testing.T) {
	r := newRig(t, newest)
	m := r.newMap(maps.Spec{Type: uapi.MapTypeRingbuf, MaxEntries: 4096})
	ring := m.(maps.RingBuffer)
	a := r.ok(uapi.FuncRingbufReserve, m.Addr(), 16, 0)
	require.NotZero(t, a)
	assert.Len(t, r.env.Run.Held.Things(), 1, "a reservation is a reference")
	require.Nil(t, r.mem.Store(a, 8, 7))
	assert.NotNil(t, r.mem.Store(a+16, 1, 7), "the record has its own bounds")
	r.ok(uapi.FuncRingbufSubmit, a, 0)
	assert.Empty(t, r.env.Run.Held.Things())
	assert.NotNil(t, r.mem.Store(a, 8, 7), "a submitted record is out of reach")
	for _, id := range []uapi.FuncID{uapi.FuncRingbufSubmit, uapi.FuncRingbufDiscard} {
		_, f := r.call(id, a, 0)
		require.NotNil(t, f, "%v twice", id)
		assert.Equal(t, vm.BadArgument, f.Kind)
	}
	b := r.ok(uapi.FuncRingbufReserve, m.Addr(), 8, 0)
	r.ok(uapi.FuncRingbufDiscard, b, 0)
	assert.Zero(t, r.ok(uapi.FuncRingbufReserve, m.Addr(), 5000, 0), "too large")
	assert.Zero(t, r.ok(uapi.FuncRingbufReserve, m.Addr(), 8, 1), "flags")
	assert.Zero(t, r.ok(uapi.FuncRingbufOutput, m.Addr(), r.str("abc"), 4, 0))
	records := ring.Records()
	require.Len(t, records, 2)
	assert.Equal(t, []byte{'a', 'b', 'c', 0}, records[1].Data)
	_, f := r.call(uapi.FuncRingbufOutput, m.Addr(), r.space(8), 9, 0)
	require.NotNil(t, f, "reads past the end of its data")
	assert.Equal(t, mem.OutOfBounds, f.Mem.Kind)
	_, f = r.call(uapi.FuncRingbufOutput, m.Addr(), r.space(8), 1<<40, 0)
	require.NotNil(t, f)
}

func TestUserRingbufDrain(t *testing.T) {
	// The callback adds the first byte of each sample to *ctx and stops at one that is 9.
	const text = `
		*(u64 *)(r10 - 8) = 0
		r2 = func(cb)
		r3 = r10
		r3 += -8
		call 209
		r1 = *(u64 *)(r10 - 8)
		r1 <<= 32
		if r0 s< 0 goto +1
		r0 |= r1
		exit
	cb:	r6 = r2
		r2 = 0
		r3 = 1
		call 203
		if r0 == 0 goto +8
		r7 = *(u8 *)(r0 + 0)
		r1 = *(u64 *)(r6 + 0)
		r1 += r7
		*(u64 *)(r6 + 0) = r1
		r0 = 0
		if r7 != 9 goto +1
		r0 = 1
		exit
		r0 = 0
		exit`
	r := newRig(t, newest)
	m := r.newMap(maps.Spec{Type: uapi.MapTypeUserRingbuf, MaxEntries: 4096})
	ring := m.(maps.UserRing)
	drain := func(flags uint64) uint64 {
		ret, f := r.asm(text, m.Addr(), 0, 0, flags)
		require.Nil(t, f, "%v", f)
		return ret
	}
	assert.Zero(t, drain(0), "empty")
	for _, b := range []byte{1, 2, 9, 4} {
		require.Zero(t, ring.Push([]byte{b, 0xff}))
	}
	assert.Equal(t, uint64(3|12<<32), drain(0), "stops at the 9")
	assert.Equal(t, uint64(1|4<<32), drain(0), "the rest")
	assert.Equal(t, neg(uapi.EINVAL), drain(4))
	assert.Zero(t, ring.Pending())
	// A callback that drains the same buffer finds it busy.
	require.Zero(t, ring.Push([]byte{1}))
	ret, f := r.asm(`
		r6 = r1
		r3 = r1
		r2 = func(cb)
		call 209
		exit
	cb:	r1 = r2
		r2 = 0
		r3 = 0
		r4 = 0
		call 209
		if r0 != -16 goto +2
		r0 = 1
		exit
		r0 = 0
		exit`, m.Addr(), 0, 0, 0)
	require.Nil(t, f, "%v", f)
	assert.EqualValues(t, 1, ret)
}
