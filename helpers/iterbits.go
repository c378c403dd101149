package helpers

import (
	"math/bits"

	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var bitsKfuncs = []kfuncRow{
	{Name: "bpf_iter_bits_new", Args: []proto.Arg{argIter, argPtr, argAny}, Do: iterBitsNew},
	{Name: "bpf_iter_bits_next", Wide: true, Args: []proto.Arg{argIter}, Do: iterBitsNext},
	{Name: "bpf_iter_bits_destroy", Args: []proto.Arg{argIter}, Do: iterBitsDestroy},
}

// struct bpf_iter_bits: a word of bits or, if there are several, their address; the number of bits;
// the last one found.
const (
	iterBits    = 0
	iterNrBits  = 8
	iterBit     = 12
	maxBitWords = 511
)

// iterBitsNew copies the words, so that later changes have no effect (bpf_iter_bits_new).
func iterBitsNew(c *Call) (uint64, *vm.Action) {
	words := c.Args[2] & 0xffffffff
	it := c.guest.At(c.Args[0])
	it.Set(iterBits, 8, 0)
	it.Set(iterNrBits, 4, 0)
	it.Set(iterBit, 4, 0xffffffff)
	switch {
	case it.Fault != nil:
		return 0, it.Fault
	case c.Args[1] == 0 || words == 0:
		return errnoRet(uapi.EINVAL), nil
	case words > maxBitWords:
		return errnoRet(uapi.E2BIG), nil
	}
	b := make([]byte, 8*words)
	if errno, f := c.probe.Kernel(c.Args[1], b); errno != 0 || f != nil {
		return errnoRet(uapi.EFAULT), f
	}
	v := c.guest.Order().Uint64(b)
	if words > 1 {
		r := c.guest.Scratch(uint64(len(b)), "bits of an iterator")
		if r == nil {
			return errnoRet(uapi.ENOMEM), nil
		}
		copy(c.Mem.Bytes(r), b)
		v = r.Base
	}
	it.Set(iterBits, 8, v)
	it.Set(iterNrBits, 4, 64*words)
	return 0, it.Fault
}

// iterBitsNext returns a pointer to the number of the next set bit, NULL after the last.
func iterBitsNext(c *Call) (uint64, *vm.Action) {
	it := c.guest.At(c.Args[0])
	n, at, word := it.U32(iterNrBits), it.U32(iterBit), it.U64(iterBits)
	words := c.guest.At(word)
	for i := at + 1; i < n && words.Fault == nil; i = (i/64 + 1) * 64 {
		v := word
		if n > 64 {
			v = words.U64(uint64(i / 64 * 8))
		}
		if v = v >> (i % 64) << (i % 64); v != 0 {
			it.Set(iterBit, 4, uint64(i/64*64+uint32(bits.TrailingZeros64(v))))
			return c.Args[0] + iterBit, it.Fault
		}
	}
	if words.Fault != nil {
		return 0, words.Fault
	}
	it.Set(iterBit, 4, uint64(n))
	return 0, it.Fault
}

func iterBitsDestroy(c *Call) (uint64, *vm.Action) {
	it := c.guest.At(c.Args[0])
	if it.U32(iterNrBits) > 64 {
		c.guest.EndScratch(it.U64(iterBits))
	}
	return 0, it.Fault
}
