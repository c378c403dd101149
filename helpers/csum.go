package helpers

import (
	"encoding/binary"
	"math/bits"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/vm"
)

var csumHelpers = []row{
	{ID: uapi.FuncL3CsumReplace, Do: onSkb(l3CsumReplace)},
	{ID: uapi.FuncL4CsumReplace, Do: onSkb(l4CsumReplace)},
	{ID: uapi.FuncCsumDiff, Do: csumDiff},
	{ID: uapi.FuncCsumUpdate, Do: onSkb(csumUpdate), Note: "-ENOTSUPP unless the network card summed the packet (context.ip_summed: complete)"},
	{ID: uapi.FuncCsumLevel, Do: onSkb(csumLevel)},
}

// csumPartial is csum_partial of x86-64 (arch/x86/lib/csum-partial_64.c): a ones' complement sum of
// 64-bit little-endian words, continued from sum and folded to 32 bits.
func csumPartial(b []byte, sum uint32) uint32 {
	acc := uint64(sum)
	add := func(v uint64) {
		s, carry := bits.Add64(acc, v, 0)
		acc = s + carry
	}
	for ; len(b) >= 8; b = b[8:] {
		add(binary.LittleEndian.Uint64(b))
	}
	if len(b) > 0 {
		var tail [8]byte
		copy(tail[:], b)
		add(binary.LittleEndian.Uint64(tail[:]))
	}
	return uint32((acc + bits.RotateLeft64(acc, 32)) >> 32)
}

func csumAdd(a, b uint32) uint32 {
	s := uint64(a) + uint64(b)
	return uint32(s) + uint32(s>>32)
}

// csumFold is csum_fold: to 16 bits, complemented.
func csumFold(v uint32) uint16 { return ^csum32to16(v) }

// csum32to16 folds a sum to 16 bits.
func csum32to16(v uint32) uint16 {
	return uint16((v + bits.RotateLeft32(v, 16)) >> 16)
}

// sumAt reads a checksum field in the host's byte order, as the kernel's arithmetic does.
func (s *skb) sumAt(off uint64) uint16 { return s.e.guest.Order().Uint16(s.p.Bytes()[off:]) }

func (s *skb) putSum(off uint64, v uint16) {
	s.e.guest.Order().PutUint16(s.p.Bytes()[off:], v)
	s.changed(int(off), 2)
}

// csumField finds the field of bpf_l3_csum_replace and bpf_l4_csum_replace.
func (s *skb) csumField(off uint64) uapi.Errno {
	if off > maxOffset16 || off&1 != 0 || !s.writable(off+2) {
		return uapi.EFAULT
	}
	return 0
}

// replaceSum replaces from with to in the sum; ok is false for an unknown field size.
func (s *skb) replaceSum(off, from, to, flags uint64) uapi.Errno {
	sum := uint32(^s.sumAt(off))
	switch flags & uapi.CsumHdrFieldMask {
	case 0: // to is a difference
		if from != 0 {
			return uapi.EINVAL
		}
		s.putSum(off, csumFold(csumAdd(uint32(to), sum)))
	case 2:
		s.putSum(off, csumFold(csumAdd(csumAdd(sum, ^uint32(uint16(from))), uint32(uint16(to)))))
	case 4:
		s.putSum(off, csumFold(csumAdd(csumAdd(sum, ^uint32(from)), uint32(to))))
	default:
		return uapi.EINVAL
	}
	return 0
}

func l3CsumReplace(c *Call, s *skb) (uint64, *vm.Action) {
	if c.Args[4]&^uint64(uapi.CsumHdrFieldMask) != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	off := c.Args[1] & 0xffffffff
	if errno := s.csumField(off); errno != 0 {
		return errnoRet(errno), nil
	}
	return errnoRet(s.replaceSum(off, c.Args[2], c.Args[3], c.Args[4])), nil
}

func l4CsumReplace(c *Call, s *skb) (uint64, *vm.Action) {
	known := uint64(uapi.CsumHdrFieldMask | uapi.CsumPseudoHdr | uapi.CsumMarkMangled0 | uapi.CsumMarkEnforce)
	if s.e.has(since.CsumIPv6) {
		known |= uapi.CsumIPv6
	}
	if c.Args[4]&^known != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	off := c.Args[1] & 0xffffffff
	if errno := s.csumField(off); errno != 0 {
		return errnoRet(errno), nil
	}
	mark := c.Args[4]&uapi.CsumMarkMangled0 != 0
	if mark && c.Args[4]&uapi.CsumMarkEnforce == 0 && s.sumAt(off) == 0 {
		return 0, nil // UDP without checksum
	}
	if errno := s.replacePseudo(off, c.Args[2], c.Args[3], c.Args[4]); errno != 0 {
		return errnoRet(errno), nil
	}
	if mark && s.sumAt(off) == 0 {
		s.putSum(off, 0xffff)
	}
	return 0, nil
}

// maxScratchpad is MAX_BPF_STACK, the total size of both buffers of bpf_csum_diff before 6.13.
const maxScratchpad = 512

// csumDiff implements bpf_csum_diff. From 6.13 on, sizes need not be multiples of four and the sum
// is folded to 16 bits.
func csumDiff(c *Call) (uint64, *vm.Action) {
	fromSize, toSize := c.Args[1]&0xffffffff, c.Args[3]&0xffffffff
	from, to := c.In(0), c.In(2)
	seed := uint32(c.Args[4])
	if !c.has(since.CsumDiffAny) {
		if (fromSize|toSize)&3 != 0 || fromSize+toSize > maxScratchpad {
			return errnoRet(uapi.EINVAL), nil
		}
		for i := range from {
			from[i] = ^from[i]
		}
		return uint64(csumPartial(append(from, to...), seed)), nil
	}
	sum := seed
	switch {
	case fromSize != 0 && toSize != 0:
		sum = csumAdd(csumPartial(to, seed), ^csumPartial(from, 0))
	case toSize != 0:
		sum = csumPartial(to, seed)
	case fromSize != 0:
		sum = ^csumPartial(from, ^seed)
	}
	return uint64(csum32to16(sum)), nil
}

// csumUpdate adds to the sum that the network card computed over the whole packet
// (CHECKSUM_COMPLETE).
func csumUpdate(c *Call, s *skb) (uint64, *vm.Action) {
	switch {
	case s.st.summed != hook.SummedComplete:
		return errnoRet(uapi.ENOTSUPP), nil
	case s.p.Len() != s.st.summedLen:
		return 0, notSimulated("bpf_csum_update on a packet with the card's checksum (ip_summed: complete) whose length was changed")
	}
	s.st.csum = csumAdd(s.st.csum, uint32(c.Args[1]))
	return uint64(s.st.csum), nil
}

// shiftSum implements csum_shift: the bytes of a sum over data at an odd offset are swapped.
func shiftSum(sum uint32, off uint64) uint32 {
	if off&1 != 0 {
		return bits.RotateLeft32(sum, 8)
	}
	return sum
}

// replacePseudo implements bpf_l4_csum_replace for packets whose checksum the network card computes
// or verifies (inet_proto_csum_replace4 and _by_diff). For an outgoing packet (CHECKSUM_PARTIAL)
// the field contains the sum of the pseudo header, not complemented, so nothing else changes it.
// For an incoming packet (CHECKSUM_COMPLETE) the pseudo header is not part of skb->csum, so an
// update of the field for the pseudo header also changes skb->csum.
func (s *skb) replacePseudo(off, from, to, flags uint64) uapi.Errno {
	pseudo, width := flags&uapi.CsumPseudoHdr != 0, flags&uapi.CsumHdrFieldMask
	f, t := uint32(from), uint32(to)
	switch width {
	case 0:
		if from != 0 {
			return uapi.EINVAL
		}
		f = 0
	case 2:
		f, t = uint32(uint16(from)), uint32(uint16(to))
	case 4:
	default:
		return uapi.EINVAL
	}
	diff := csumAdd(t, ^f)
	if width == 0 {
		diff = t
	}
	switch s.st.summed {
	case hook.SummedPartial:
		if pseudo {
			s.putSum(off, csum32to16(csumAdd(uint32(s.sumAt(off)), diff)))
		}
		return 0
	case hook.SummedComplete:
		if pseudo && flags&uapi.CsumIPv6 == 0 {
			if width == 0 {
				s.st.csum = ^csumAdd(diff, ^s.st.csum)
			} else {
				s.st.csum = ^csumAdd(csumAdd(^s.st.csum, ^f), t)
			}
		}
	}
	return s.replaceSum(off, from, to, flags)
}

// csumLevel adjusts the number of checksums known to be valid (bpf_csum_level,
// include/linux/skbuff.h).
func csumLevel(c *Call, s *skb) (uint64, *vm.Action) {
	const most = 3 // SKB_MAX_CSUM_LEVEL
	valid := s.st.summed == hook.SummedUnnecessary
	switch c.Args[1] {
	case uapi.CsumLevelQuery:
		if !valid {
			return errnoRet(uapi.EACCES), nil
		}
		return uint64(s.st.level), nil
	case uapi.CsumLevelInc:
		switch {
		case s.st.summed == hook.SummedNone:
			s.st.summed, s.st.level = hook.SummedUnnecessary, 0
		case !valid:
		case s.st.level < most:
			s.st.level++
		}
	case uapi.CsumLevelDec:
		switch {
		case valid && s.st.level == 0:
			s.st.summed = hook.SummedNone
		case valid:
			s.st.level--
		}
	case uapi.CsumLevelReset:
		s.resetChecksum()
	default:
		return errnoRet(uapi.EINVAL), nil
	}
	return 0, nil
}

// resetChecksum is __skb_reset_checksum_unnecessary.
func (s *skb) resetChecksum() {
	if s.st.summed == hook.SummedUnnecessary {
		s.st.summed, s.st.level = hook.SummedNone, 0
	}
}
