package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// drains returns a program that drains a user ring buffer, adds the first byte of each sample to
// *sum, and returns how many there were.
func (k *caller) drains(ring, sum int) int {
	b := btf.NewBuilder(nil)
	number := b.Add(btf.Type{Kind: btf.KindInt, Name: "int", Size: 4, Int: btf.IntInfo{Encoding: btf.IntSigned, Bits: 32}})
	ptr := b.Add(btf.Type{Kind: btf.KindPtr})
	main := b.Add(btf.Type{Kind: btf.KindFunc, Name: "main", Linkage: btf.LinkageGlobal, Ref: b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: number, Params: []btf.Param{{Name: "ctx", Type: ptr}}})})
	each := b.Add(btf.Type{Kind: btf.KindFunc, Name: "each", Ref: b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: number, Params: []btf.Param{{Name: "sample", Type: ptr}, {Name: "ctx", Type: ptr}}})})
	spec, err := b.Spec(le)
	if err != nil {
		panic(err)
	}
	types, r := k.try(uapi.CmdBtfLoad, field{0, k.put(spec.Raw())}, field{16, len(spec.Raw())})
	var funcs []byte
	for _, w := range []uint32{0, uint32(main), 8, uint32(each)} {
		funcs = le.AppendUint32(funcs, w)
	}
	return k.must(k.load(uapi.ProgTypeSocketFilter, []decode.Insn{
		{Code: 0x18, Dst: 1, Src: 1, Imm: int32(ring)}, {},
		{Code: 0x18, Dst: 2, Src: 4, Imm: 5}, {}, // the callback
		{Code: 0xb7, Dst: 3}, {Code: 0xb7, Dst: 4}, {Code: 0x85, Imm: 209}, {Code: 0x95},
		// callback: bpf_dynptr_read(fp - 8, 1, dynptr, 0, 0); *sum += fp[-8]
		{Code: 0xbf, Dst: 3, Src: 1}, {Code: 0x7a, Dst: 10, Off: -8}, {Code: 0xbf, Dst: 1, Src: 10}, {Code: 0x07, Dst: 1, Imm: -8},
		{Code: 0xb7, Dst: 2, Imm: 1}, {Code: 0xb7, Dst: 4}, {Code: 0xb7, Dst: 5}, {Code: 0x85, Imm: 201},
		{Code: 0x18, Dst: 1, Src: 2, Imm: int32(sum)}, {}, {Code: 0x79, Dst: 2, Src: 10, Off: -8}, {Code: 0xdb, Dst: 1, Src: 2},
		{Code: 0xb7}, {Code: 0x95},
	}, field{72, k.must(types, r.errno)}, field{76, 8}, field{80, k.put(funcs)}, field{88, 2}))
}

// TestUserRingBuffers writes to the memory that user space maps, what it should and what it should
// not.
func TestUserRingBuffers(t *testing.T) {
	kernel := newestKernel(t)
	const size, discard, busy = 4096, 1 << 30, 1 << 31
	type record struct {
		header uint32
		first  byte
	}
	for name, c := range map[string]struct {
		records  []record
		at       uint64 // position of the first record
		produced uint64 // 0: after the last record
		want     int32
		sum      uint64
		consumed uint64
	}{
		"nothing":                           {},
		"three":                             {records: []record{{8, 1}, {3, 2}, {0, 0}}, want: 3, sum: 3, consumed: 16 + 16 + 8},
		"one is discarded":                  {records: []record{{8, 1}, {8 | discard, 50}, {8, 2}}, want: 2, sum: 3, consumed: 48},
		"one is being written":              {records: []record{{8, 1}, {8 | busy, 50}, {8, 2}}, want: 1, sum: 1, consumed: 16},
		"around the end":                    {at: size - 16, records: []record{{8, 1}, {8, 2}}, want: 2, sum: 3, consumed: size + 16},
		"a sample in the second copy":       {at: size - 16, records: []record{{100, 7}}, want: 1, sum: 7, consumed: size - 16 + 112},
		"a header in the last word":         {at: size - 8, records: []record{{8, 7}}, want: 1, sum: 7, consumed: size + 8},
		"longer than what is announced":     {records: []record{{64, 1}}, produced: 16, want: -int32(uapi.EINVAL)},
		"longer than the buffer":            {records: []record{{8000, 1}}, produced: 1 << 20, want: -int32(uapi.E2BIG)},
		"the longest length":                {records: []record{{1<<30 - 1, 1}}, produced: 1 << 62, want: -int32(uapi.E2BIG)},
		"a position that is not a multiple": {records: []record{{8, 1}}, produced: 17, want: -int32(uapi.EINVAL)},
		"a position before what was read":   {at: 64, produced: 8, consumed: 64},
	} {
		t.Run(name, func(t *testing.T) {
			k := newCaller(t, kernel)
			ring, sum := k.must(k.createMap(uapi.MapTypeUserRingbuf, 0, 0, size, 0)), k.must(k.createMap(uapi.MapTypeArray, 4, 8, 1, 0))
			prog := k.drains(ring, sum)
			object := k.files[int32(ring)].Object
			assert.Equal(t, uapi.EPERM, k.s.MapRange(object, bpfsys.ReadWrite, 0, 4096, true, true), "the consumer's page")
			require.Zero(t, k.s.MapRange(object, bpfsys.ReadWrite, 0, 4096, false, true))
			require.Zero(t, k.s.MapRange(object, bpfsys.ReadWrite, 4096, 4096+2*size, true, true))
			assert.Equal(t, uapi.EINVAL, k.s.MapRange(object, bpfsys.ReadWrite, 4096, 8192+2*size, true, true))
			mem := bpfsys.Shared(object).Bytes()
			run := func() int32 {
				_, e, a := k.call(testRun, field{0, prog}, field{8, 64}, field{16, k.room(64)}, field{68, 0})
				require.Zero(t, e, "%v", k.notes)
				return int32(le.Uint32(a[4:]))
			}
			pos := uint64(0)
			put := func(r record) {
				at := 8192 + pos&(size-1)
				le.PutUint32(mem[at:], r.header)
				mem[8192+(pos+8)&(size-1)] = r.first
				pos += (uint64(r.header&^(discard|busy)) + 15) &^ 7
				le.PutUint64(mem[4096:], pos)
			}
			for pos < c.at { // empty records, up to the position that is wanted
				put(record{uint32(min(c.at-pos-8, 1000&^7)) | discard, 0})
				require.Zero(t, run())
			}
			require.Equal(t, c.at, pos)
			for _, r := range c.records {
				put(r)
			}
			if c.produced != 0 {
				le.PutUint64(mem[4096:], c.produced)
			}
			assert.Equal(t, c.want, run())
			assert.Equal(t, c.consumed, le.Uint64(mem), "consumed")
			out := k.room(8)
			_, r := k.try(uapi.CmdMapLookupElem, field{0, sum}, field{8, k.room(4)}, field{16, out}, field{24, uint64(0)})
			require.Zero(t, r.errno)
			assert.Equal(t, c.sum, le.Uint64(k.at(out, 8)))
		})
	}
}
