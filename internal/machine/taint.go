package machine

import (
	"math/bits"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// copies follows unwritten bytes that a program copies through registers, as compilers do with
// whole structs: eight bytes of which two are padding. A load of such bytes starts it; from then on
// each instruction is looked at, until no register holds any. What is computed from such bytes
// counts as written: only moves, shifts, masks and byte swaps keep them.
type copies struct {
	// regs has the unwritten bits of each register.
	regs [11]uint64
	live bool
	left int // instructions to follow
	// from is the instruction that loaded the bytes last.
	from point
}

const (
	// mostCopied limits how many instructions follow a load: a register that nobody overwrites must
	// not slow down the rest of the run.
	mostCopied = 256
	// copying is the reason for which a thread stops after a load of unwritten bytes.
	copying = "unwritten bytes"
)

// loaded notes that the instruction in, which executes now, loads the bytes of u.
func (c *copies) loaded(t *vm.Thread, p *program, in decode.Insn, u mem.Unset) {
	info := in.Info()
	mask := uint64(0)
	for _, offsets := range [2][]uint64{u.Offsets, u.Unwritten} {
		for _, off := range offsets {
			i := off + u.Region.Base - u.Addr
			if endian.IsBig(t.Memory().ByteOrder()) {
				i = u.Size - 1 - i
			}
			mask |= 0xff << (8 * i)
		}
	}
	if info.Signed() {
		mask = signed(mask, 8*int(info.Size))
	}
	if !c.live {
		c.live, c.regs = true, [11]uint64{}
		t.Suspend(copying)
	}
	c.left, c.from = mostCopied, point{p, t.PC()}
	c.regs[in.Dst] = mask
}

// signed returns the mask of a value of that many bits after sign extension.
func signed(mask uint64, width int) uint64 {
	shift := 64 - width
	return uint64(int64(mask<<shift) >> shift)
}

// before updates the registers for an instruction that is about to execute. If it stores unwritten
// bytes, it returns a mask of them.
func (c *copies) before(in decode.Insn, big bool) (stored uint8) {
	info := in.Info()
	if info.Form == decode.FormStoreReg || info.Form == decode.FormStoreRel {
		for i := range int(info.Size) {
			if c.regs[in.Src]>>(8*i)&0xff == 0xff {
				stored |= 1 << i
			}
		}
		return stored
	}
	if in.Dst < 11 && in.Src < 11 {
		switch info.Form {
		case decode.FormALUImm:
			c.regs[in.Dst] = computed(info, c.regs[in.Dst], 0, uint64(int64(in.Imm)), true)
			return 0
		case decode.FormALUReg:
			c.regs[in.Dst] = computed(info, c.regs[in.Dst], c.regs[in.Src], 0, false)
			return 0
		case decode.FormMovSX:
			c.regs[in.Dst] = truncated(info, signed(c.regs[in.Src], moved(info.Op)))
			return 0
		case decode.FormEnd:
			c.regs[in.Dst] = swapped(info.Op, c.regs[in.Dst], big)
			return 0
		}
	}
	switch info.Form {
	case decode.FormCall, decode.FormCallKfunc:
		clear(c.regs[:6])
		if in.Op() != decode.OpCallHelper && info.Form == decode.FormCall {
			clear(c.regs[:]) // another function
		}
	case decode.FormExit:
		clear(c.regs[:])
	default:
		for reg, n := range map[decode.Reg]uint8{decode.RegDst: in.Dst, decode.RegSrc: in.Src, decode.RegR0: 0} {
			if info.Writes&reg != 0 && n < 11 {
				c.regs[n] = 0
			}
		}
		if info.Writes&decode.RegArgs != 0 {
			clear(c.regs[1:6])
		}
	}
	return 0
}

// after ends the following if nothing is left to follow.
func (c *copies) after() {
	if c.left--; c.left <= 0 || c.regs == [11]uint64{} {
		c.live = false
	}
}

// computed returns the unwritten bits of the result of an operation on a and b.
func computed(info *decode.Info, a, b, imm uint64, constant bool) uint64 {
	shift := imm & uint64(info.Width-1)
	out := uint64(0)
	switch info.Op {
	case decode.OpMov64Reg, decode.OpMov32Reg:
		out = b
	case decode.OpOr64Imm, decode.OpOr32Imm:
		out = a &^ imm
	case decode.OpAnd64Imm, decode.OpAnd32Imm:
		out = a & imm
	case decode.OpXor64Imm, decode.OpXor32Imm:
		out = a
	case decode.OpOr64Reg, decode.OpOr32Reg, decode.OpAnd64Reg, decode.OpAnd32Reg, decode.OpXor64Reg, decode.OpXor32Reg:
		out = a | b
	case decode.OpLsh64Imm, decode.OpLsh32Imm:
		out = a << shift
	case decode.OpRsh64Imm:
		out = a >> shift
	case decode.OpRsh32Imm:
		out = uint64(uint32(a)) >> shift
	case decode.OpArsh64Imm:
		out = uint64(int64(a) >> shift)
	case decode.OpArsh32Imm:
		out = uint64(uint32(int32(uint32(a)) >> shift))
	}
	return truncated(info, out)
}

func truncated(info *decode.Info, mask uint64) uint64 {
	if info.Width == 32 {
		mask = uint64(uint32(mask))
	}
	return mask
}

// moved returns the bits that a sign-extending move reads.
func moved(op decode.Op) int {
	switch op {
	case decode.OpMovSX8To64, decode.OpMovSX8To32:
		return 8
	case decode.OpMovSX16To64, decode.OpMovSX16To32:
		return 16
	}
	return 32
}

// swapped returns the unwritten bits after a change of the byte order on a target.
func swapped(op decode.Op, mask uint64, big bool) uint64 {
	swaps := true
	switch op {
	case decode.OpBE16, decode.OpBE32, decode.OpBE64:
		swaps = !big
	case decode.OpLE16, decode.OpLE32, decode.OpLE64:
		swaps = big
	}
	width := 64
	switch op {
	case decode.OpBswap16, decode.OpBE16, decode.OpLE16:
		width = 16
	case decode.OpBswap32, decode.OpBE32, decode.OpLE32:
		width = 32
	}
	if swaps {
		return bits.ReverseBytes64(mask << (64 - width))
	}
	return mask << (64 - width) >> (64 - width)
}

// follow runs the thread for at most n instructions, one at a time while unwritten bytes are in
// registers.
func (rec *recorder) follow(n uint64) vm.Stop {
	t := rec.thread
	for {
		began := t.Insns()
		st := rec.run
		if st == nil || !st.copies.live {
			stop := t.Run(n)
			if stop != vm.Stopped || t.StopReason() != copying {
				return stop
			}
			if n -= min(n, t.Insns()-began); n == 0 {
				return vm.Budget
			}
			continue
		}
		p, ok := owner(t.Image())
		if !ok || t.PC() >= len(p.lp.Insns) {
			st.copies.live = false
			continue
		}
		in := p.lp.Insns[t.PC()]
		stored := st.copies.before(in, endian.IsBig(rec.mem.ByteOrder()))
		addr := uint64(0)
		if stored != 0 {
			addr = t.Reg(int(in.Dst)) + uint64(int64(in.Off))
		}
		pc := t.PC()
		stop := t.Run(1)
		if stored != 0 && t.Insns() != began {
			rec.copied(p, pc, addr, int(in.Info().Size), stored)
		}
		st.copies.after()
		if stop != vm.Budget && (stop != vm.Stopped || t.StopReason() != copying) {
			return stop
		}
		if n--; n == 0 {
			return vm.Budget
		}
	}
}

// copied marks the bytes that the instruction at pc stored without having written them before.
func (rec *recorder) copied(p *program, pc int, addr uint64, size int, stored uint8) {
	big := endian.IsBig(rec.mem.ByteOrder())
	for i := range size {
		at := i
		if big {
			at = size - 1 - i
		}
		if stored>>i&1 != 0 {
			rec.mem.Unwrite(addr+uint64(at), 1)
		}
	}
	rec.run.leaks.copy(copiedBytes{span{addr, uint64(size)}, rec.run.copies.from})
	r := rec.mem.Find(addr)
	if r != nil && (r.Kind == mem.MapValue || r.Kind == mem.ArenaMem) {
		rec.run.leaks.keep(p, pc, addr, uint64(size))
	}
}
