package jit

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

func zzRandom(r *rand.Rand, wild bool, infos []*decode.Info) []decode.Insn {
	n := 2 + r.IntN(60)
	if r.IntN(20) == 0 {
		n = 300 + r.IntN(2000)
	}
	var b []decode.Insn
	reg := func(top int) uint8 {
		if r.IntN(3) == 0 {
			return uint8(r.IntN(top))
		}
		return uint8(r.IntN(4))
	}
	imm := func() int32 {
		switch r.IntN(6) {
		case 0:
			return int32(r.Uint32())
		case 1:
			return 1 << r.IntN(32)
		case 2:
			return int32(r.IntN(300) - 150)
		case 3:
			return -(1 << r.IntN(31))
		}
		return int32(r.IntN(70))
	}
	off := func() int16 {
		switch r.IntN(8) {
		case 0:
			return int16(r.Uint32())
		case 1, 2:
			return int16(-8 * r.IntN(65))
		}
		return int16(r.IntN(64))
	}
	second := map[int]bool{}
	for len(b) < n {
		if r.IntN(15) == 0 {
			x, y := uint8(r.IntN(10)), uint8(r.IntN(10))
			w64 := r.IntN(2) == 0
			n, w := int32(1+r.IntN(31)), int32(32)
			mov, l, rs, joins := decode.OpMov32Reg, decode.OpLsh32Imm, decode.OpRsh32Imm, []decode.Op{decode.OpOr32Reg, decode.OpXor32Reg, decode.OpAdd32Reg}
			if w64 {
				w, n = 64, n*2
				mov, l, rs, joins = decode.OpMov64Reg, decode.OpLsh64Imm, decode.OpRsh64Imm, []decode.Op{decode.OpOr64Reg, decode.OpXor64Reg, decode.OpAdd64Reg}
			}
			if r.IntN(2) == 0 {
				l, rs = rs, l
			}
			if r.IntN(10) == 0 {
				n++
			}
			seq := []decode.Insn{{Code: mov.Info().Code, Dst: y, Src: x, Off: int16(0)}, {Code: l.Info().Code, Dst: y, Imm: n}, {Code: rs.Info().Code, Dst: x, Imm: w - n}, {Code: joins[r.IntN(3)].Info().Code, Dst: x, Src: y}}
			if r.IntN(3) == 0 {
				seq[3].Dst, seq[3].Src = y, x
			}
			if r.IntN(5) == 0 {
				seq[1], seq[2] = seq[2], seq[1]
			}
			for _, in := range seq {
				b = append(b, in)
				if r.IntN(3) == 0 {
					ops := []decode.Op{decode.OpMov64Reg, decode.OpLdxDW, decode.OpStxDW, decode.OpCallHelper, decode.OpAtomicAddDW, decode.OpAddrSpaceCast, decode.OpAdd64Imm, decode.OpStDW}
					i := ops[r.IntN(len(ops))].Info()
					in := decode.Insn{Code: i.Code, Dst: uint8(r.IntN(10)), Src: uint8(r.IntN(10)), Imm: i.SubValue}
					switch i.Op {
					case decode.OpLdxDW:
						if r.IntN(2) == 0 {
							in.Src, in.Off = 10, -8
						}
					case decode.OpStxDW, decode.OpStDW:
						if r.IntN(2) == 0 {
							in.Dst, in.Off = 10, -8
						}
					case decode.OpMov64Reg, decode.OpAdd64Imm:
						in.Imm = 0
					case decode.OpCallHelper:
						in.Dst, in.Src, in.Imm = 0, 0, 7
					case decode.OpAddrSpaceCast:
						in.Off, in.Imm = 1, 1
					}
					b = append(b, in)
				}
			}
			continue
		}
		info := infos[r.IntN(len(infos))]
		if r.IntN(4) == 0 { // favourites
			ops := []decode.Op{decode.OpMov64Reg, decode.OpAdd64Imm, decode.OpLsh64Imm, decode.OpRsh64Imm, decode.OpOr64Reg, decode.OpMov32Reg, decode.OpLsh32Imm, decode.OpRsh32Imm, decode.OpXor32Reg, decode.OpLdxW, decode.OpStxDW, decode.OpJeq64Imm}
			info = ops[r.IntN(len(ops))].Info()
		}
		top := 10
		if wild && r.IntN(40) == 0 {
			top = 11
		}
		in := decode.Insn{Code: info.Code}
		f := info.Fields()
		if f&decode.FieldDst != 0 {
			in.Dst = reg(top)
		}
		if f&decode.FieldSrc != 0 {
			in.Src = reg(top)
		}
		switch info.Form {
		case decode.FormLoad:
			if r.IntN(3) == 0 {
				in.Src = 10
			}
		case decode.FormStoreImm, decode.FormStoreReg, decode.FormAtomic:
			if r.IntN(3) == 0 {
				in.Dst = 10
			}
		case decode.FormALUReg:
			if info.Op == decode.OpMov64Reg && r.IntN(5) == 0 {
				in.Src = 10
			}
		}
		if f&decode.FieldOff != 0 {
			in.Off = off()
		}
		if f&decode.FieldImm != 0 {
			in.Imm = imm()
		}
		switch info.Sub {
		case decode.SubOff:
			in.Off = int16(info.SubValue)
		case decode.SubImm:
			in.Imm = info.SubValue
		case decode.SubSrc:
			in.Src = uint8(info.SubValue)
		}
		if info.Op == decode.OpAddrSpaceCast {
			in.Imm = 1
			if r.IntN(2) == 0 {
				in.Imm = 1 << 16
			}
		}
		b = append(b, in)
		if info.Form == decode.FormImm64 {
			second[len(b)] = true
			b = append(b, decode.Insn{Imm: imm()})
		}
	}
	n = len(b)
	for pc := range b {
		if second[pc] {
			continue
		}
		op := b[pc].Op()
		info := op.Info()
		tgt := func() int {
			for {
				t := pc + 1 + r.IntN(12) - 3
				if r.IntN(6) == 0 {
					t = r.IntN(n)
				}
				if t >= 0 && t < n && !second[t] {
					return t
				}
			}
		}
		switch info.Form {
		case decode.FormGoto, decode.FormMayGoto, decode.FormJumpImm, decode.FormJumpReg:
			b[pc].Off = int16(tgt() - pc - 1)
		case decode.FormGotoL:
			b[pc].Imm = int32(tgt() - pc - 1)
		case decode.FormCall:
			if op == decode.OpCallLocal {
				b[pc].Imm = int32(tgt() - pc - 1)
			} else {
				b[pc].Imm = 7
			}
		case decode.FormImm64:
			if op == decode.OpLdFunc {
				b[pc].Imm = int32(tgt() - pc - 1)
			}
		}
	}
	return b
}

func TestZZHash(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var infos, plain []*decode.Info
	for op := decode.Op(1); op < decode.NumOps; op++ {
		if op.Info() != nil && op.Info().Form != decode.FormInvalid {
			infos = append(infos, op.Info())
			if op != decode.OpGotoX && op != decode.OpCallX && op.Info().Flags&(decode.FlagCall|decode.FlagBranch|decode.FlagJump) == 0 {
				plain = append(plain, op.Info())
			}
		}
	}
	total := sha256.New()
	var c Compiled
	out, _ := os.Create(os.Getenv("ZZ_OUT"))
	defer out.Close()
	count := 8000
	if os.Getenv("ZZ_N") != "" {
		fmt.Sscan(os.Getenv("ZZ_N"), &count)
	}
	bad := 0
	fn := &vm.Func{Fn: func(*vm.Thread, *[5]uint64) (uint64, *vm.Action) { return 0, nil }}
	for i := range count {
		set := infos
		if i%3 == 0 {
			set = plain
		}
		insns := zzRandom(r, i%5 == 0, set)
		img, err := vm.Lower(vm.LowerConfig{Insns: insns, Call: func(int, decode.Insn) (*vm.Func, error) { return fn, nil }, Text: vm.NewText(1 << 40)})
		if err != nil {
			bad++
			continue
		}
		p := plan.New(img, nil, c.program)
		c.program = p
		c.Code.Reset(p.Len())
		tg := plan.Target{Base: 1 << 33, ShadowDelta: -1 << 25, StateDelta: -int64(1<<14) - int64(i%2)*4096, Marks: i%4 == 1}
		if err := backendCompile(p, tg, &c.Code); err != nil {
			t.Fatal(err)
		}
		h := sha256.New()
		h.Write(c.Code.Text)
		rot := 0
		for pc := range p.Insns {
			if p.Insns[pc].Flags&plan.FlagRotate != 0 {
				rot++
			}
		}
		texth := h.Sum(nil)
		binary.Write(h, binary.LittleEndian, c.Code.Entries)
		binary.Write(h, binary.LittleEndian, c.Code.Starts)
		binary.Write(h, binary.LittleEndian, c.Code.Cold)
		for pc := range p.Insns {
			in := &p.Insns[pc]
			fmt.Fprintln(h, in.Count, in.Kind == plan.KindCall && in.Saves != 0, in.Check == plan.CheckRange && in.Cell >= 0)
			if in.Kind == plan.KindCall {
				fmt.Fprintln(h, in.Saves)
			}
			if in.Check == plan.CheckRange {
				fmt.Fprintln(h, in.Cell, in.Lo, in.Hi)
			}
		}
		for b := range p.Blocks() {
			fmt.Fprintln(h, b)
			x, y := p.Block(b)
			fmt.Fprintln(h, x, y)
		}
		fmt.Fprintln(h, p.Cells, p.Used, p.MayGoto)
		if os.Getenv("ZZ_DUMP") == fmt.Sprint(i) { for pc := range p.Insns { in := p.Insns[pc]; fmt.Println(pc, in.Kind, in.Op.Info().Name, in.Dst, in.Src, in.Off, int64(in.Imm), in.Flags, in.Check, in.Lo, in.Hi, in.Count, in.Taken, in.Next, in.Cell, in.Mark, in.Saves, in.Target, c.Code.Starts[pc], c.Code.Entries[pc]) } }
		s := h.Sum(nil)
		fmt.Fprintf(out, "%d %d %d %x %x\n", i, len(insns), rot, texth[:8], s[:8])
		total.Write(s)
	}
	fmt.Printf("HASH %x bad %d of %d\n", total.Sum(nil)[:12], bad, count)
}
