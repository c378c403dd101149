package vm

import (
	"fmt"
	"math"
	"slices"

	"github.com/bpfrun/bpfrun/decode"
)

const (
	poisonCall      = 195896080  // 0xbad2310: helper number with which libbpf marks a failed CO-RE relocation
	poisonMapBase   = 2001000000 // + map index: reference to a map that was not created
	poisonKfuncBase = 2002000000 // + extern index: call of a kfunc that was not found
	poisonRange     = 1000000
	maxInsns        = math.MaxInt32/instSize - 4 // branch distances are 32 bits
)

// Lower predecodes a program. It refuses invalid jump targets and truncated instructions with a
// *LowerError. Errors that matter only when reached (unknown helpers, poison, undefined opcodes)
// become faults there.
func Lower(cfg LowerConfig) (*Image, error) {
	n := len(cfg.Insns)
	if n == 0 {
		return nil, &LowerError{Name: cfg.Name, Text: "the program is empty"}
	}
	if n > maxInsns {
		return nil, &LowerError{Name: cfg.Name, Text: fmt.Sprintf("%d instructions, the limit is %d", n, maxInsns)}
	}
	img := &Image{
		Name: cfg.Name, Owner: cfg.Owner, insns: cfg.Insns, plain: make([]inst, n+2),
		exception: cfg.ExceptionCallback, text: cfg.Text,
	}
	if img.text == nil {
		img.text = NewText(0)
	}
	if cfg.Replaces == nil || !img.text.replace(cfg.Replaces, img, n) {
		img.text.add(img, n)
	}
	l := lowerer{cfg: &cfg, img: img, funcs: make(map[*Func]int), starts: map[int]bool{0: true}}
	if err := l.lower(); err != nil {
		img.text.drop(img, cfg.Replaces)
		return nil, err
	}
	if cb := cfg.ExceptionCallback; cb > 0 && cb < n && img.plain[cb].op != opSecondSlot {
		l.starts[cb] = true
	}
	for s := range l.starts {
		img.starts = append(img.starts, s)
	}
	slices.Sort(img.starts)
	img.fused = img.plain
	if cfg.Fuse {
		img.fused = fuse(img.plain)
	}
	return img, nil
}

type lowerer struct {
	cfg    *LowerConfig
	img    *Image
	funcs  map[*Func]int
	starts map[int]bool
}

func (l *lowerer) errorf(pc int, format string, args ...any) error {
	return &LowerError{Name: l.cfg.Name, PC: pc, Text: fmt.Sprintf(format, args...)}
}

// trap creates a slot that faults when it is reached.
func (l *lowerer) trap(pc int, kind FaultKind, text string) inst {
	l.img.traps = append(l.img.traps, Fault{Kind: kind, PC: pc, Image: l.img, Text: text})
	return inst{op: opTrap, imm: uint64(len(l.img.traps) - 1)}
}

func (l *lowerer) lower() error {
	insns, code := l.cfg.Insns, l.img.plain
	for pc := 0; pc < len(insns); pc++ {
		in := insns[pc]
		op := in.Op()
		if l.cfg.Big {
			op = op.OtherByteOrder()
		}
		c := inst{op: uint16(op), dst: in.Dst, src: in.Src, off: int32(in.Off), imm: uint64(int64(in.Imm))}
		if op != decode.OpInvalid && (in.Dst > 10 || in.Src > 10) {
			op = decode.OpInvalid
		}
		switch kindOf(op) {
		case lowerInvalid:
			c = l.trap(pc, InvalidInsn, fmt.Sprintf("undefined instruction %#02x (dst %d, src %d, off %d, imm %d)", in.Code, in.Dst, in.Src, in.Off, in.Imm))
		case lowerCallX:
			c = l.trap(pc, NotSimulated, "call through a register (callx), which no kernel accepts")
		case lowerImm64:
			if pc+1 >= len(insns) {
				return l.errorf(pc, "64-bit immediate load without its second slot")
			}
			c = l.imm64(pc, in, op)
			code[pc] = c
			pc++
			c = inst{op: opSecondSlot}
		case lowerBranch, lowerBranch32:
			d := int64(in.Off)
			if kindOf(op) == lowerBranch32 {
				d = int64(in.Imm)
			}
			if err := l.target(pc, d); err != nil {
				return err
			}
			c.off = int32(d * instSize)
		case lowerCallLocal:
			if err := l.target(pc, int64(in.Imm)); err != nil {
				return err
			}
			l.starts[pc+1+int(in.Imm)] = true
			c.off = int32(in.Imm) * instSize
			if l.cfg.Divert != nil {
				if f := l.cfg.Divert(pc + 1 + int(in.Imm)); f != nil {
					c = l.bound(f)
				}
			}
		case lowerCallFunc:
			c = l.call(pc, in, op)
		}
		code[pc] = c
		l.img.stack = l.img.stack || in.Dst == 10 || in.Src == 10
		l.img.calls = l.img.calls || kindOf(op) == lowerCallLocal || op == decode.OpLdFunc
	}
	for i := len(insns); i < len(code); i++ {
		code[i].op = opEnd
	}
	for pc, in := range insns { // targets must not be second slots
		if code[pc].op == opSecondSlot {
			continue
		}
		switch k := kindOf(in.Op()); k {
		case lowerImm64:
			if in.Op() == decode.OpLdFunc && code[pc].op != opTrap && code[pc+1+int(in.Imm)].op == opSecondSlot {
				return l.errorf(pc, "address of the middle of a 64-bit immediate load at %d", pc+int(in.Imm))
			}
		case lowerBranch, lowerBranch32, lowerCallLocal:
			d := int(in.Imm)
			if k == lowerBranch {
				d = int(in.Off)
			}
			if code[pc].op != opTrap && code[pc+1+d].op == opSecondSlot {
				return l.errorf(pc, "jump into the middle of a 64-bit immediate load at %d", pc+d)
			}
		}
	}
	return nil
}

// target checks that the slot at distance d from the one after pc exists.
func (l *lowerer) target(pc int, d int64) error {
	if to := int64(pc) + 1 + d; to < 0 || to >= int64(len(l.cfg.Insns)) {
		return l.errorf(pc, "jump to slot %d of %d", to, len(l.cfg.Insns))
	}
	return nil
}

func (l *lowerer) imm64(pc int, in decode.Insn, op decode.Op) inst {
	c := inst{op: uint16(decode.OpLdImm64), dst: in.Dst}
	switch op {
	case decode.OpLdImm64:
		c.imm = uint64(uint32(in.Imm)) | uint64(uint32(l.cfg.Insns[pc+1].Imm))<<32
	case decode.OpLdFunc:
		to := pc + 1 + int(in.Imm)
		if to < 0 || to >= len(l.cfg.Insns) {
			return l.trap(pc, BadTarget, fmt.Sprintf("address of a function at slot %d of %d", to, len(l.cfg.Insns)))
		}
		l.starts[to] = true
		c.imm = l.img.FuncAddr(to)
	default:
		if l.cfg.Imm64 == nil {
			return l.trap(pc, NotSimulated, "unresolved reference to a kernel object (LD_IMM64)")
		}
		v, err := l.cfg.Imm64(pc)
		if err != nil {
			return l.trap(pc, NotSimulated, err.Error())
		}
		c.imm = v
	}
	return c
}

func (l *lowerer) call(pc int, in decode.Insn, op decode.Op) inst {
	if op == decode.OpCallHelper {
		id := in.Imm
		switch {
		case id == poisonCall:
			return l.trap(pc, Poison, "the program reached an instruction whose CO-RE relocation failed")
		case id >= poisonMapBase && id < poisonMapBase+poisonRange:
			return l.trap(pc, Poison, fmt.Sprintf("the program reached a reference to map %d, which was not created", id-poisonMapBase))
		case id >= poisonKfuncBase && id < poisonKfuncBase+poisonRange:
			return l.trap(pc, Poison, fmt.Sprintf("the program reached a call of an unresolved kfunc (extern %d)", id-poisonKfuncBase))
		}
	}
	what := "helper"
	if op == decode.OpCallKfunc {
		what = "kfunc"
	}
	if l.cfg.Call == nil {
		return l.trap(pc, NotSimulated, fmt.Sprintf("%s %d is not simulated", what, in.Imm))
	}
	f, err := l.cfg.Call(pc, in)
	if err != nil {
		return l.trap(pc, NotSimulated, err.Error())
	}
	if f == nil || f.Fn == nil {
		return l.trap(pc, NotSimulated, fmt.Sprintf("%s %d is not simulated", what, in.Imm))
	}
	return l.bound(f)
}

// bound returns a call of a function that is not the program's own.
func (l *lowerer) bound(f *Func) inst {
	i, ok := l.funcs[f]
	if !ok {
		i = len(l.img.funcs)
		l.funcs[f] = i
		l.img.funcs = append(l.img.funcs, f)
		l.img.inlines = l.img.inlines || f.Inline != nil
	}
	return inst{op: opCallFunc, imm: uint64(i)}
}

// lowerKind tells Lower how to treat an op.
type lowerKind uint8

const (
	lowerPlain lowerKind = iota
	lowerInvalid
	lowerImm64
	lowerBranch
	lowerBranch32
	lowerCallLocal
	lowerCallFunc
	lowerCallX
)

// kindOf classifies ops by what their operands mean to Lower.
func kindOf(op decode.Op) lowerKind {
	switch op {
	case decode.OpInvalid:
		return lowerInvalid
	case decode.OpLdImm64, decode.OpLdMapFD, decode.OpLdMapValue, decode.OpLdBTFID, decode.OpLdFunc, decode.OpLdMapIdx, decode.OpLdMapIdxValue:
		return lowerImm64
	case decode.OpCallLocal:
		return lowerCallLocal
	case decode.OpCallHelper, decode.OpCallKfunc:
		return lowerCallFunc
	case decode.OpCallX:
		return lowerCallX
	case decode.OpJa32:
		return lowerBranch32
	case decode.OpJa, decode.OpMayGoto,
		decode.OpJeq64Imm, decode.OpJeq64Reg, decode.OpJeq32Imm, decode.OpJeq32Reg,
		decode.OpJgt64Imm, decode.OpJgt64Reg, decode.OpJgt32Imm, decode.OpJgt32Reg,
		decode.OpJge64Imm, decode.OpJge64Reg, decode.OpJge32Imm, decode.OpJge32Reg,
		decode.OpJset64Imm, decode.OpJset64Reg, decode.OpJset32Imm, decode.OpJset32Reg,
		decode.OpJne64Imm, decode.OpJne64Reg, decode.OpJne32Imm, decode.OpJne32Reg,
		decode.OpJsgt64Imm, decode.OpJsgt64Reg, decode.OpJsgt32Imm, decode.OpJsgt32Reg,
		decode.OpJsge64Imm, decode.OpJsge64Reg, decode.OpJsge32Imm, decode.OpJsge32Reg,
		decode.OpJlt64Imm, decode.OpJlt64Reg, decode.OpJlt32Imm, decode.OpJlt32Reg,
		decode.OpJle64Imm, decode.OpJle64Reg, decode.OpJle32Imm, decode.OpJle32Reg,
		decode.OpJslt64Imm, decode.OpJslt64Reg, decode.OpJslt32Imm, decode.OpJslt32Reg,
		decode.OpJsle64Imm, decode.OpJsle64Reg, decode.OpJsle32Imm, decode.OpJsle32Reg:
		return lowerBranch
	}
	return lowerPlain
}
