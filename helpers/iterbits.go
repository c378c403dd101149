package helpers

import (
	"math/bits"

	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var bitsKfuncs = []kfuncRow{
	{Name: "bpf_iter_bits_new", Args: []proto.Arg{argIter, argPtr, argAny}, Do: iterBitsNew},
	{Name: "bpf_iter_bits_next", Wide: true, Args: []proto.Arg{argIter}, Do: iterBitsNext},
	{Name: "bpf_iter_bits_destroy", Args: []proto.Arg{argIter}, Do: iterBitsDestroy},
}

// struct bpf_iter_bits: a word of bits or, when there are several, their address; the number of bits; the last one found.
const (
	iterBits    = 0
	iterNrBits  = 8
	iterBit     = 12
	maxBitWords = 511
)

// iterBitsNew copies the words, so that later changes do not matter (bpf_iter_bits_new).
func iterBitsNew(c *Call) (uint64, *vm.Action) {
	words := c.Args[2] & 0xffffffff
	for _, w := range [...]struct {
		off  uint64
		size int
		v    uint64
	}{{iterBits, 8, 0}, {iterNrBits, 4, 0}, {iterBit, 4, 0xffffffff}} {
		if f := c.writeInt(c.Args[0]+w.off, w.size, w.v); f != nil {
			return 0, f
		}
	}
	switch {
	case c.Args[1] == 0 || words == 0:
		return errnoRet(uapi.EINVAL), nil
	case words > maxBitWords:
		return errnoRet(uapi.E2BIG), nil
	}
	b := make([]byte, 8*words)
	errno, f := kernelSpace(c.Env, c.Args[1], b)
	if f != nil {
		return 0, f
	}
	if errno != 0 {
		return errnoRet(uapi.EFAULT), nil
	}
	v := c.order().Uint64(b)
	if words > 1 {
		r := c.scratch(uint64(len(b)), "bits of an iterator")
		if r == nil {
			return errnoRet(uapi.ENOMEM), nil
		}
		copy(c.Mem.Bytes(r), b)
		v = r.Base
	}
	if f := c.writeU64(c.Args[0]+iterBits, v); f != nil {
		return 0, f
	}
	return 0, c.writeU32(c.Args[0]+iterNrBits, uint32(64*words))
}

// iterBitsNext returns a pointer to the number of the next bit that is set, NULL after the last.
func iterBitsNext(c *Call) (uint64, *vm.Action) {
	n, f := c.readU32(c.Args[0] + iterNrBits)
	if f != nil {
		return 0, f
	}
	at, f := c.readU32(c.Args[0] + iterBit)
	if f != nil {
		return 0, f
	}
	word, f := c.readU64(c.Args[0] + iterBits)
	if f != nil {
		return 0, f
	}
	for i := at + 1; i < n; i = (i/64 + 1) * 64 {
		v := word
		if n > 64 {
			if v, f = c.readU64(word + uint64(i/64*8)); f != nil {
				return 0, f
			}
		}
		if v = v >> (i % 64) << (i % 64); v != 0 {
			return c.Args[0] + iterBit, c.writeU32(c.Args[0]+iterBit, i/64*64+uint32(bits.TrailingZeros64(v)))
		}
	}
	return 0, c.writeU32(c.Args[0]+iterBit, n)
}

func iterBitsDestroy(c *Call) (uint64, *vm.Action) {
	n, f := c.readU32(c.Args[0] + iterNrBits)
	if f != nil {
		return 0, f
	}
	if n > 64 {
		word, f := c.readU64(c.Args[0] + iterBits)
		if f != nil {
			return 0, f
		}
		c.releaseScratch(word)
	}
	return 0, nil
}
