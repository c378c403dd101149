package helpers

import (
	"math/bits"

	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var bitsKfuncs = []Kfunc{
	{Name: "bpf_iter_bits_new", Topic: "iterators", Args: []Arg{ArgIter, ArgPtr, ArgAny}, Fn: iterBitsNew},
	{Name: "bpf_iter_bits_next", Wide: true, Topic: "iterators", Args: []Arg{ArgIter}, Fn: iterBitsNext},
	{Name: "bpf_iter_bits_destroy", Topic: "iterators", Args: []Arg{ArgIter}, Fn: iterBitsDestroy},
}

// struct bpf_iter_bits: a word of bits or, when there are several, their address; the number of bits; the last one found.
const (
	iterBits    = 0
	iterNrBits  = 8
	iterBit     = 12
	maxBitWords = 511
)

// iterBitsNew copies the words, so that later changes do not matter (bpf_iter_bits_new).
func iterBitsNew(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	words := a[2] & 0xffffffff
	for _, w := range [...]struct {
		off  uint64
		size int
		v    uint64
	}{{iterBits, 8, 0}, {iterNrBits, 4, 0}, {iterBit, 4, 0xffffffff}} {
		if f := e.writeInt(a[0]+w.off, w.size, w.v); f != nil {
			return 0, f
		}
	}
	switch {
	case a[1] == 0 || words == 0:
		return errnoRet(uapi.EINVAL), nil
	case words > maxBitWords:
		return errnoRet(uapi.E2BIG), nil
	}
	b := make([]byte, 8*words)
	errno, f := kernelSpace(e, a[1], b)
	if f != nil {
		return 0, f
	}
	if errno != 0 {
		return errnoRet(uapi.EFAULT), nil
	}
	v := e.order().Uint64(b)
	if words > 1 {
		r := e.scratch(uint64(len(b)), "bits of an iterator")
		if r == nil {
			return errnoRet(uapi.ENOMEM), nil
		}
		copy(e.Mem.Bytes(r), b)
		v = r.Base
	}
	if f := e.writeU64(a[0]+iterBits, v); f != nil {
		return 0, f
	}
	return 0, e.writeU32(a[0]+iterNrBits, uint32(64*words))
}

// iterBitsNext returns a pointer to the number of the next bit that is set, NULL after the last.
func iterBitsNext(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	n, f := e.readU32(a[0] + iterNrBits)
	if f != nil {
		return 0, f
	}
	at, f := e.readU32(a[0] + iterBit)
	if f != nil {
		return 0, f
	}
	word, f := e.readU64(a[0] + iterBits)
	if f != nil {
		return 0, f
	}
	for i := at + 1; i < n; i = (i/64 + 1) * 64 {
		v := word
		if n > 64 {
			if v, f = e.readU64(word + uint64(i/64*8)); f != nil {
				return 0, f
			}
		}
		if v = v >> (i % 64) << (i % 64); v != 0 {
			return a[0] + iterBit, e.writeU32(a[0]+iterBit, i/64*64+uint32(bits.TrailingZeros64(v)))
		}
	}
	return 0, e.writeU32(a[0]+iterBit, n)
}

func iterBitsDestroy(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	n, f := e.readU32(a[0] + iterNrBits)
	if f != nil {
		return 0, f
	}
	if n > 64 {
		word, f := e.readU64(a[0] + iterBits)
		if f != nil {
			return 0, f
		}
		e.releaseScratch(word)
	}
	return 0, nil
}
