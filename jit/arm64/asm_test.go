package arm64

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
	"github.com/bpfrun/bpfrun/jit/plan"
)

var update = rewrite.Flag

const encodings = "testdata/llvm-mc.txt"

// forms has every form of instruction that is generated, with its text.
func forms() map[string]func(a *asm) {
	out := map[string]func(a *asm){
		"mov x3, x4":                       func(a *asm) { a.move(3, 4) },
		"mov w3, w4":                       func(a *asm) { a.move32(3, 4) },
		"neg x5, x5":                       func(a *asm) { a.rrr(1, opSub, 5, zr, 5) },
		"neg w5, w5":                       func(a *asm) { a.rrr(0, opSub, 5, zr, 5) },
		"cmp x1, x2":                       func(a *asm) { a.cmp(1, 1, 2) },
		"cmp w1, w2":                       func(a *asm) { a.cmp(0, 1, 2) },
		"cmp x1, #4095":                    func(a *asm) { a.cmpImm(1, 1, 4095, 9) },
		"cmp w1, #1, lsl #12":              func(a *asm) { a.cmpImm(0, 1, 4096, 9) },
		"cmn x1, #7":                       func(a *asm) { a.cmpImm(1, 1, -7, 9) },
		"mov x9, #4097; cmp x1, x9":        func(a *asm) { a.cmpImm(1, 1, 4097, 9) },
		"add x0, x1, #16":                  func(a *asm) { a.addImm(1, 0, 1, 16, 9) },
		"sub x0, x1, #16":                  func(a *asm) { a.addImm(1, 0, 1, -16, 9) },
		"sub w0, w1, #16":                  func(a *asm) { a.addImm(0, 0, 1, -16, 9) },
		"mov x9, #-4097; add x0, x1, x9":   func(a *asm) { a.addImm(1, 0, 1, -4097, 9) },
		"tst x7, #0xff00":                  func(a *asm) { a.logicImm(1, opAndsImm, opAnds, zr, 7, 0xff00, 9) },
		"and w7, w8, #0xfffffff7":          func(a *asm) { a.logicImm(0, opAndImm, opAnd, 7, 8, ^uint64(8), 9) },
		"orr x7, x8, #0x5555555555555555":  func(a *asm) { a.logicImm(1, opOrrImm, opOrr, 7, 8, 0x5555555555555555, 9) },
		"mov x9, #5; eor w7, w8, w9":       func(a *asm) { a.logicImm(0, opEorImm, opEor, 7, 8, 5, 9) },
		"mul x1, x2, x3":                   func(a *asm) { a.multiply(1, opMadd, 1, 2, 3, zr) },
		"mul w1, w2, w3":                   func(a *asm) { a.multiply(0, opMadd, 1, 2, 3, zr) },
		"msub x1, x2, x3, x4":              func(a *asm) { a.multiply(1, opMsub, 1, 2, 3, 4) },
		"msub w1, w2, w3, w4":              func(a *asm) { a.multiply(0, opMsub, 1, 2, 3, 4) },
		"lsl x1, x2, #3":                   func(a *asm) { a.shift(1, opLslv, 1, 2, 3) },
		"lsr x1, x2, #3":                   func(a *asm) { a.shift(1, opLsrv, 1, 2, 3) },
		"asr x1, x2, #3":                   func(a *asm) { a.shift(1, opAsrv, 1, 2, 3) },
		"lsl w1, w2, #31":                  func(a *asm) { a.shift(0, opLslv, 1, 2, 31) },
		"lsr w1, w2, #31":                  func(a *asm) { a.shift(0, opLsrv, 1, 2, 31) },
		"asr w1, w2, #31":                  func(a *asm) { a.shift(0, opAsrv, 1, 2, 31) },
		"ror x1, x2, #3":                   func(a *asm) { a.rotate(1, 1, 2, 3) },
		"ror w1, w2, #3":                   func(a *asm) { a.rotate(0, 1, 2, 3) },
		"sxtb x1, w2":                      func(a *asm) { a.field(1, opSbfm, 1, 2, 0, 7) },
		"sxth w1, w2":                      func(a *asm) { a.field(0, opSbfm, 1, 2, 0, 15) },
		"sxtw x1, w2":                      func(a *asm) { a.field(1, opSbfm, 1, 2, 0, 31) },
		"uxth w1, w2":                      func(a *asm) { a.field(0, opUbfm, 1, 2, 0, 15) },
		"rev x1, x1":                       func(a *asm) { a.word(opRev | 1<<5 | 1) },
		"rev w1, w1":                       func(a *asm) { a.word(opRev32 | 1<<5 | 1) },
		"rev16 w1, w1":                     func(a *asm) { a.word(opRev16 | 1<<5 | 1) },
		"br x16":                           func(a *asm) { a.word(opBr | 16<<5) },
		"ret":                              func(a *asm) { a.word(opRet) },
		"b #8":                             func(a *asm) { a.patch(a.branch(opB), 8) },
		"bl #-4":                           func(a *asm) { a.patch(a.branch(opBL), -4) },
		"b.ge #8":                          func(a *asm) { a.patch(a.jcc(condGE), 8) },
		"b.lo #-8":                         func(a *asm) { a.patch(a.jcc(condLO), -8) },
		"b.ge #8; b #16":                   func(a *asm) { a.far = true; a.patch(a.jcc(condLT), 20) },
		"cbz w3, #8":                       func(a *asm) { a.patch(a.ifZero(0, 3), 8) },
		"cbnz x3, #8":                      func(a *asm) { a.patch(a.ifNot(1, 3), 8) },
		"adr x16, #8":                      func(a *asm) { a.patch(a.branch(opAdr|16), 8) },
		"csel x15, x12, x13, lt":           func(a *asm) { a.moveIf(condLT, 15, 12, 13) },
		"csel x10, x10, xzr, gt":           func(a *asm) { a.word(opCsel | uint32(zr)<<16 | uint32(condGT)<<12 | 10<<5 | 10) },
		"mov x1, #0":                       func(a *asm) { a.constant(1, 0) },
		"mov x1, #-1":                      func(a *asm) { a.constant(1, ^uint64(0)) },
		"mov x1, #65535":                   func(a *asm) { a.constant(1, 65535) },
		"mov x1, #-65536":                  func(a *asm) { a.constant(1, 0xffffffffffff0000) },
		"mov x1, #-3":                      func(a *asm) { a.constant(1, ^uint64(2)) },
		"orr x1, xzr, #0xff00ff00ff00ff00": func(a *asm) { a.constant(1, 0xff00ff00ff00ff00) },
		"movz x1, #0xdef0; movk x1, #0x9abc, lsl #16; movk x1, #0x5678, lsl #32; movk x1, #0x1234, lsl #48": func(a *asm) {
			a.constant(1, 0x123456789abcdef0)
		},
		"movn x1, #0x1234, lsl #16; movk x1, #0x5678, lsl #32": func(a *asm) { a.constant(1, 0xffff5678edcbffff) },
	}
	for name, op := range map[string]uint32{"add": opAdd, "sub": opSub, "and": opAnd, "orr": opOrr, "eor": opEor, "udiv": opUdiv, "sdiv": opSdiv, "lsl": opLslv, "lsr": opLsrv, "asr": opAsrv} {
		out[name+" x1, x2, x3"] = func(a *asm) { a.rrr(1, op, 1, 2, 3) }
		out[name+" w1, w2, w3"] = func(a *asm) { a.rrr(0, op, 1, 2, 3) }
	}
	for name, table := range map[string]*[4]access{"ldr": &loads, "ldrs": &loadsSigned, "str": &stores} {
		for i, suffix := range []string{"b", "h", "", ""} {
			text, r := name+suffix, "w1"
			if i == 3 {
				text, r = strings.TrimSuffix(name, "s"), "x1"
			} else if name == "ldrs" {
				r = "x1"
				if i == 2 {
					text = "ldrsw"
				}
			}
			unscaled := strings.Replace(strings.Replace(text, "ldr", "ldur", 1), "str", "stur", 1)
			off := 2048 << i
			out[fmt.Sprintf("%s %s, [x2, #%d]", text, r, off)] = func(a *asm) { a.mem(table[i], 1, 2, int32(off), 9) }
			out[fmt.Sprintf("%s %s, [x2, #-7]", unscaled, r)] = func(a *asm) { a.mem(table[i], 1, 2, -7, 9) }
			out[fmt.Sprintf("%s %s, [x2, x3]", text, r)] = func(a *asm) { a.index(table[i], 1, 2, 3) }
			out[fmt.Sprintf("mov x9, #-257; %s %s, [x2, x9]", text, r)] = func(a *asm) { a.mem(table[i], 1, 2, -257, 9) }
		}
	}
	return out
}

// llvm has llvm-mc encode a text.
func llvm(t *testing.T, text string) string {
	cmd := exec.Command("llvm-mc", "-triple=aarch64", "-show-encoding")
	cmd.Stdin = strings.NewReader(strings.ReplaceAll(text, "; ", "\n"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", text, out)
	var code []string
	for _, m := range regexp.MustCompile(`encoding: \[(.*)\]`).FindAllSubmatch(out, -1) {
		code = append(code, strings.ReplaceAll(strings.ReplaceAll(string(m[1]), "0x", ""), ",", ""))
	}
	return strings.Join(code, "")
}

// TestEncodings compares every form with what LLVM's assembler makes of its text.
func TestEncodings(t *testing.T) {
	all := forms()
	if *update {
		var b bytes.Buffer
		for text := range all {
			fmt.Fprintf(&b, "%s\t%s\n", text, llvm(t, text))
		}
		lines := strings.SplitAfter(b.String(), "\n")
		slices.Sort(lines)
		require.NoError(t, os.WriteFile(encodings, []byte(strings.Join(lines, "")), 0o666))
	}
	f, err := os.Open(encodings)
	require.NoError(t, err)
	defer f.Close()
	seen := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		text, want, _ := strings.Cut(s.Text(), "\t")
		emit := all[text]
		require.NotNil(t, emit, "nothing generates %s any more: run with -update", text)
		var a asm
		a.Room(64)
		emit(&a)
		assert.Equal(t, want, hex.EncodeToString(a.Code()), text)
		seen++
	}
	assert.Len(t, all, seen, "forms without an encoding: run with -update")
}

// decodeBitmask is DecodeBitMasks of the Arm ARM.
func decodeBitmask(n, immr, imms uint32) (uint64, bool) {
	length := -1
	for v := n<<6 | ^imms&0x3f; v != 0; v >>= 1 {
		length++
	}
	if length < 1 {
		return 0, false
	}
	size := uint32(1) << length
	s, r := imms&(size-1), immr&(size-1)
	if s == size-1 || immr >= size {
		return 0, false
	}
	elem := uint64(1)<<(s+1) - 1
	if r != 0 {
		elem = elem>>r | elem<<(size-r)
	}
	if size < 64 {
		elem &= 1<<size - 1
	}
	out := uint64(0)
	for at := uint32(0); at < 64; at += size {
		out |= elem << at
	}
	return out, true
}

func TestBitmasks(t *testing.T) {
	values := map[uint64]bool{}
	for i := range uint32(1 << 13) {
		v, ok := decodeBitmask(i>>12, i>>6&63, i&63)
		if !ok {
			continue
		}
		values[v] = true
		field, ok := bitmask(1, v)
		require.True(t, ok, "%#x", v)
		back, ok := decodeBitmask(field>>12, field>>6&63, field&63)
		require.True(t, ok)
		require.Equal(t, v, back)
		if v>>32 == v&0xffffffff {
			field, ok = bitmask(0, v&0xffffffff)
			require.True(t, ok)
			require.Zero(t, field>>12, "64-bit form of a 32-bit operation")
		}
	}
	assert.Len(t, values, 5334)
	for _, v := range []uint64{0, 5, 0xdeadbeef, ^uint64(0), 0x123456789abcdef0} {
		_, ok := bitmask(1, v)
		assert.False(t, ok, "%#x", v)
	}
}

// TestRules: every op is generated or left out for a reason.
func TestRules(t *testing.T) {
	for op := range decode.Op(decode.NumOps) {
		assert.Equal(t, plan.HasRule(op), rules[op].emit != nil, "%s", op)
	}
}
