package vm

import (
	"fmt"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
)

// memKind is the kind of a memory instruction.
type memKind uint8

const (
	memNone memKind = iota
	memLoad
	memLoadSX
	memStoreImm
	memStoreReg
	memAdd
	memAnd
	memOr
	memXor
	memXchg
	memCmpXchg
	memLoadAcq
	memStoreRel
)

// memOp describes a memory instruction for the precise path.
type memOp struct {
	kind  memKind
	size  uint8
	fetch bool
}

// memOps is indexed by decode.Op; memNone for ops that do not access memory.
var memOps = [decode.NumOps]memOp{
	decode.OpLdxB: {memLoad, 1, false}, decode.OpLdxH: {memLoad, 2, false},
	decode.OpLdxW: {memLoad, 4, false}, decode.OpLdxDW: {memLoad, 8, false},
	decode.OpLdxSB: {memLoadSX, 1, false}, decode.OpLdxSH: {memLoadSX, 2, false}, decode.OpLdxSW: {memLoadSX, 4, false},
	decode.OpStB: {memStoreImm, 1, false}, decode.OpStH: {memStoreImm, 2, false},
	decode.OpStW: {memStoreImm, 4, false}, decode.OpStDW: {memStoreImm, 8, false},
	decode.OpStxB: {memStoreReg, 1, false}, decode.OpStxH: {memStoreReg, 2, false},
	decode.OpStxW: {memStoreReg, 4, false}, decode.OpStxDW: {memStoreReg, 8, false},
	decode.OpAtomicAddW: {memAdd, 4, false}, decode.OpAtomicAddDW: {memAdd, 8, false},
	decode.OpAtomicAndW: {memAnd, 4, false}, decode.OpAtomicAndDW: {memAnd, 8, false},
	decode.OpAtomicOrW: {memOr, 4, false}, decode.OpAtomicOrDW: {memOr, 8, false},
	decode.OpAtomicXorW: {memXor, 4, false}, decode.OpAtomicXorDW: {memXor, 8, false},
	decode.OpAtomicFetchAddW: {memAdd, 4, true}, decode.OpAtomicFetchAddDW: {memAdd, 8, true},
	decode.OpAtomicFetchAndW: {memAnd, 4, true}, decode.OpAtomicFetchAndDW: {memAnd, 8, true},
	decode.OpAtomicFetchOrW: {memOr, 4, true}, decode.OpAtomicFetchOrDW: {memOr, 8, true},
	decode.OpAtomicFetchXorW: {memXor, 4, true}, decode.OpAtomicFetchXorDW: {memXor, 8, true},
	decode.OpXchgW: {memXchg, 4, true}, decode.OpXchgDW: {memXchg, 8, true},
	decode.OpCmpXchgW: {memCmpXchg, 4, true}, decode.OpCmpXchgDW: {memCmpXchg, 8, true},
	decode.OpLoadAcqB: {memLoadAcq, 1, false}, decode.OpLoadAcqH: {memLoadAcq, 2, false},
	decode.OpLoadAcqW: {memLoadAcq, 4, false}, decode.OpLoadAcqDW: {memLoadAcq, 8, false},
	decode.OpStoreRelB: {memStoreRel, 1, false}, decode.OpStoreRelH: {memStoreRel, 2, false},
	decode.OpStoreRelW: {memStoreRel, 4, false}, decode.OpStoreRelDW: {memStoreRel, 8, false},
}

// access executes the memory instruction in at t.pc with all checks. It returns false if t.fault is
// set.
func (t *Thread) access(in *inst) bool {
	op := &memOps[decode.Op(in.op)]
	size := int(op.size)
	off := uint64(int64(in.off))
	regs := &t.regs
	switch op.kind {
	case memLoad, memLoadSX, memLoadAcq:
		addr := t.arenaAddr(regs[in.src]+off, size)
		if op.kind == memLoadAcq && !t.aligned(addr, size, false) {
			return false
		}
		v, mf := t.mem.Load(addr, size)
		if mf != nil {
			var ok bool
			if v, ok = t.refusedLoad(mf); !ok {
				return false
			}
		}
		shift := 64 - 8*uint(size)
		switch {
		case op.kind == memLoadSX:
			v = uint64(int64(v<<shift) >> shift)
		case size < 4: // four bytes of a context may be a pointer
			v = v << shift >> shift
		}
		regs[in.dst] = v
		return true
	case memStoreImm:
		return t.stored(t.mem.Store(t.arenaAddr(regs[in.dst]+off, size), size, in.imm))
	case memStoreReg:
		return t.stored(t.mem.Store(t.arenaAddr(regs[in.dst]+off, size), size, regs[in.src]))
	case memStoreRel:
		addr := t.arenaAddr(regs[in.dst]+off, size)
		return t.aligned(addr, size, true) && t.stored(t.mem.Store(addr, size, regs[in.src]))
	}
	return t.atomic(in, op)
}

// atomic executes a read-modify-write instruction (RFC 9669 section 5.3).
func (t *Thread) atomic(in *inst, op *memOp) bool {
	regs := &t.regs
	size := int(op.size)
	addr := t.arenaAddr(regs[in.dst]+uint64(int64(in.off)), size)
	if !t.aligned(addr, size, true) {
		return false
	}
	old, mf := t.mem.Load(addr, size)
	if mf == nil {
		mf = t.mem.Check(addr, uint64(size), true)
	}
	if mf != nil {
		mf.Write, mf.Atomic = true, true
		return t.stored(mf)
	}
	src, v := regs[in.src], uint64(0)
	switch op.kind {
	case memAdd:
		v = old + src
	case memAnd:
		v = old & src
	case memOr:
		v = old | src
	case memXor:
		v = old ^ src
	case memXchg:
		v = src
	case memCmpXchg:
		want := regs[0]
		if size == 4 {
			want = uint64(uint32(want))
		}
		if v = old; old == want {
			v = src
		}
	default:
		t.stop(&Fault{Kind: NotSimulated, Text: fmt.Sprintf("%v has no memory operation", decode.Op(in.op))})
		return false
	}
	if !t.stored(t.mem.Store(addr, size, v)) {
		return false
	}
	switch {
	case op.kind == memCmpXchg:
		regs[0] = old
	case op.fetch:
		regs[in.src] = old
	}
	return true
}

// aligned refuses misaligned atomics, as the verifier does (check_mem_access with strict
// alignment).
func (t *Thread) aligned(addr uint64, size int, write bool) bool {
	if addr&uint64(size-1) == 0 {
		return true
	}
	f := &mem.Fault{Kind: mem.Misaligned, Addr: addr, Size: size, Write: write, Region: t.mem.Find(addr)}
	if f.Region != nil {
		f.Delta = int64(addr - f.Region.Base)
	}
	return t.stored(f)
}

// stored turns a refused store into the thread's fault, unless the recovery policy lets the program
// continue without it.
func (t *Thread) stored(f *mem.Fault) bool {
	if f == nil {
		return true
	}
	fault := &Fault{Kind: Memory, Mem: f, PC: t.pc, Image: t.img}
	if t.Recover != nil {
		if _, ok := t.Recover(fault); ok {
			return true
		}
	}
	t.stop(fault)
	return false
}

// refusedLoad applies the recovery policy to a refused load.
func (t *Thread) refusedLoad(mf *mem.Fault) (uint64, bool) {
	f := &Fault{Kind: Memory, Mem: mf, PC: t.pc, Image: t.img}
	if t.Recover != nil {
		if v, ok := t.Recover(f); ok {
			return v, true
		}
	}
	t.stop(f)
	return 0, false
}

// rare executes an instruction that the loop does not handle, and advances t.pc.
func (t *Thread) rare(in *inst) exit {
	switch in.op {
	case opTrap:
		f := t.img.traps[in.imm]
		t.stop(&f)
		return exitFault
	case uint16(decode.OpGotoX):
		return t.gotoX(t.regs[in.dst])
	case uint16(decode.OpAddrSpaceCast):
		return t.castAddr(in)
	case uint16(decode.OpLdAbsB), uint16(decode.OpLdIndB):
		return t.loadPacket(in, 1)
	case uint16(decode.OpLdAbsH), uint16(decode.OpLdIndH):
		return t.loadPacket(in, 2)
	case uint16(decode.OpLdAbsW), uint16(decode.OpLdIndW):
		return t.loadPacket(in, 4)
	case opEnd:
		t.stop(&Fault{Kind: BadTarget, Text: "the program runs past its last instruction"})
		return exitFault
	case opSecondSlot:
		t.stop(&Fault{Kind: BadTarget, Text: "the second slot of a 64-bit immediate load is not an instruction"})
		return exitFault
	}
	t.stop(&Fault{Kind: InvalidInsn, Text: fmt.Sprintf("no execution for op %d", in.op)})
	return exitFault
}

// loadPacket executes LD_ABS and LD_IND. If the offset is outside the packet, the running function
// returns 0.
func (t *Thread) loadPacket(in *inst, size int) exit {
	if t.Skb == nil {
		t.stop(&Fault{Kind: NotSimulated, Text: "packet load (LD_ABS, LD_IND) in a program type without a packet"})
		return exitFault
	}
	off := int32(in.imm)
	switch decode.Op(in.op) {
	case decode.OpLdIndB, decode.OpLdIndH, decode.OpLdIndW:
		off += int32(t.regs[in.src])
	}
	v, ok := t.Skb(t, off, size)
	if !ok {
		t.regs[0] = 0
		return t.leave()
	}
	t.regs[0] = v
	t.pc++
	return exitGo
}

// PacketOffset converts the offset of LD_ABS or LD_IND to an offset from the start of the packet
// data, given the offsets of the link-layer and network headers. Offsets from -0x100000 on are
// relative to the network header, from -0x200000 on to the link-layer header (kernel
// uapi/linux/filter.h SKF_NET_OFF, SKF_LL_OFF). It returns false for an offset that denotes no
// packet byte.
func PacketOffset(off int32, link, network int) (int, bool) {
	at := int(off)
	switch {
	case off >= 0:
	case off >= -0x100000:
		at += 0x100000 + network
	case off >= -0x200000:
		at += 0x200000 + link
	default:
		return 0, false
	}
	return at, at >= 0
}

// arenaAddr returns the address of an access. An arena pointer with the offset 0 is null after a
// cast, but leads to the start of the arena when it is followed: the kernel adds the arena's
// address to all of them (BPF_PROBE_MEM32).
func (t *Thread) arenaAddr(addr uint64, size int) uint64 {
	if t.arenaKern != 0 && addr < 1<<32 && t.mem.Check(t.arenaKern+addr, uint64(size), false) == nil {
		return t.arenaKern + addr
	}
	return addr
}

// castAddr executes addr_space_cast. To kernel (imm 1), an arena pointer becomes its address in the
// kernel's mapping; to user (imm 1<<16), its address in the user mapping. Null stays null
// (kernel/bpf/verifier.c, addr_space_cast).
func (t *Thread) castAddr(in *inst) exit {
	if t.arenaKern == 0 {
		t.stop(&Fault{Kind: NotSimulated, Text: "addr_space_cast in a program without an arena"})
		return exitFault
	}
	low := t.regs[in.src] & (1<<32 - 1)
	v := uint64(0)
	if low != 0 {
		if in.imm == 1<<16 {
			v = t.arenaUser&^(1<<32-1) | low
		} else {
			v = t.arenaKern + low
		}
	}
	t.regs[in.dst] = v
	t.pc++
	return exitGo
}
