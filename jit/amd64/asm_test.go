package amd64

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/arch/x86/x86asm"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/jit/plan"
)

// TestEncodings holds the assembler against an independent disassembler. VEX encodings, which that
// does not know, are held against the bytes of llvm-mc.
func TestEncodings(t *testing.T) {
	mem := loc{base: rbx, index: r12, disp: 8}
	for _, tt := range []struct {
		name string
		emit func(a *asm)
		want string
	}{
		{"add", func(a *asm) { a.group(1, opAdd, rax, r9) }, "add rax, r9"},
		{"add 32", func(a *asm) { a.group(0, opAdd, r13, rbp) }, "add r13d, ebp"},
		{"cmp", func(a *asm) { a.group(1, opCmp, r15, rdi) }, "cmp r15, rdi"},
		{"imm8", func(a *asm) { a.groupImm(1, opSub, r15, -128) }, "sub r15, -0x80"},
		{"imm32", func(a *asm) { a.groupImm(1, opAnd, rsi, 0x1234) }, "and rsi, 0x1234"},
		{"imm32 of 32", func(a *asm) { a.groupImm(0, opXor, r8, -0x1234) }, "xor r8d, -0x1234"},
		{"mov", func(a *asm) { a.move(r14, rsp) }, "mov r14, rsp"},
		{"mov 32", func(a *asm) { a.move32(rcx, r10) }, "mov ecx, r10d"},
		{"zero", func(a *asm) { a.constant(r10, 0) }, "xor r10d, r10d"},
		{"constant of 32", func(a *asm) { a.constant(r10, 0xffffffff) }, "mov r10d, -0x1"},
		{"negative constant", func(a *asm) { a.constant(rbx, ^uint64(0)) }, "mov rbx, -0x1"},
		{"constant of 64", func(a *asm) { a.constant(r8, 0x123456789abcdef0) }, "mov r8, 0x123456789abcdef0"},
		{"load", func(a *asm) { a.load(rdx, at(rbp, -512)) }, "mov rdx, qword ptr [rbp+0xfffffe00]"},
		{"load at rbp", func(a *asm) { a.load(rdx, at(rbp, 0)) }, "mov rdx, qword ptr [rbp]"},
		{"load at r13", func(a *asm) { a.load(rdx, at(r13, 0)) }, "mov rdx, qword ptr [r13]"},
		{"load at r12", func(a *asm) { a.load(rdx, at(r12, 5)) }, "mov rdx, qword ptr [r12+0x5]"},
		{"load at rsp", func(a *asm) { a.load(rbp, at(rsp, -120)) }, "mov rbp, qword ptr [rsp-0x78]"},
		{"load indexed", func(a *asm) { a.load(rax, mem) }, "mov rax, qword ptr [rbx+r12+0x8]"},
		{"load scaled", func(a *asm) { a.rm(1, 0x8d, rcx, loc{base: rcx, index: rdi, disp: 1, scale: 3}, 0) }, "lea rcx, ptr [rcx+8*rdi+0x1]"},
		{"load byte", func(a *asm) { a.rm(0, 0x0fb6, rsi, mem, 0) }, "movzx esi, byte ptr [rbx+r12+0x8]"},
		{"load signed", func(a *asm) { a.rm(1, 0x63, rsi, mem, 0) }, "movsxd rsi, dword ptr [rbx+r12+0x8]"},
		{"store byte of rdi", func(a *asm) { a.rm8(0x88, rdi, at(rax, 0)) }, "mov byte ptr [rax], dil"},
		{"store byte of r14", func(a *asm) { a.rm8(0x88, r14, mem) }, "mov byte ptr [rbx+r12+0x8], r14b"},
		{"store constant", func(a *asm) { a.storeImm(at(rsp, 8), -2) }, "mov qword ptr [rsp+0x8], -0x2"},
		{"byte of rsi", func(a *asm) { a.rr8(1, 0x0fbe, r9, rsi) }, "movsx r9, sil"},
		{"compare memory", func(a *asm) { a.cmpMem0(2, at(rcx, 0)) }, "cmp word ptr [rcx], 0x0"},
		{"compare byte", func(a *asm) { a.cmpMem0(1, at(rcx, 0)) }, "cmp byte ptr [rcx], 0x0"},
		{"compare 8 bytes", func(a *asm) { a.cmpMem0(8, at(rcx, 0)) }, "cmp qword ptr [rcx], 0x0"},
		{"state", func(a *asm) { a.load(rcx, field(16)) }, "mov rcx, qword ptr [rip+0xfffff009]"},
		{"state with immediate", func(a *asm) { a.rm(1, 0x83, opSub, field(16), 1); a.byte(1) }, "sub qword ptr [rip+0xfffff008], 0x1"},
		{"jump by state", func(a *asm) { a.rm(0, 0xff, 4, field(0), 0) }, "jmp qword ptr [rip+0xffffeffa]"},
		{"shift", func(a *asm) { a.shift(1, 7, r11, 63) }, "sar r11, 0x3f"},
		{"rotate", func(a *asm) { a.shift(0, 0, rdi, 7) }, "rol edi, 0x7"},
		{"test", func(a *asm) { a.test(0, r12) }, "test r12d, r12d"},
		{"jcc", func(a *asm) { a.jccFar(condLE) }, "jle .+0x0"},
		{"jmp", func(a *asm) { a.jmpFar() }, "jmp .+0x0"},
		{"call", func(a *asm) { a.callFar() }, "call .+0x0"},
		{"near", func(a *asm) { a.jccNear(condAE) }, "jnb .+0x0"},
		{"cmov", func(a *asm) { a.moveIf(condB, r8, rax) }, "cmovb r8, rax"},
		{"cmov", func(a *asm) { a.moveIf(condGE, roomR, temp2) }, "cmovnl r15, rdx"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := asm{state: -4096}
			a.Room(64)
			tt.emit(&a)
			if tt.want == "" {
				return
			}
			in, err := x86asm.Decode(a.Code(), 64)
			require.NoError(t, err, "%x", a.Code())
			assert.Equal(t, len(a.Code()), in.Len, "%x", a.Code())
			assert.Equal(t, tt.want, x86asm.IntelSyntax(in, 0, nil), "%x", a.Code())
		})
	}
}

// TestAlign fills up every distance with as few instructions as there are of at most 8 bytes, all
// of which do nothing.
func TestAlign(t *testing.T) {
	for from := range loopAlign + 1 {
		var a asm
		a.Room(128)
		for range from {
			a.byte(0x90)
		}
		a.align(loopAlign)
		assert.Zero(t, a.Len()%loopAlign)
		n := 0
		for code := a.Code()[from:]; len(code) > 0; n++ {
			in, err := x86asm.Decode(code, 64)
			require.NoError(t, err, "%x", code)
			assert.Equal(t, x86asm.NOP, in.Op, "%x", code)
			code = code[in.Len:]
		}
		assert.Equal(t, (a.Len()-from+7)/8, n)
	}
}

// TestVEX: bytes by llvm-mc 14 -show-encoding.
func TestVEX(t *testing.T) {
	if !hasBMI2 {
		t.Skip("no BMI2")
	}
	shift := func(op uint16, w uint8) func(c *compiler) {
		return func(c *compiler) { shiftReg(c, &plan.Insn{Dst: 3, Src: 7}, &rule{op: op, w: w}) } // r8 by r12
	}
	for _, tt := range []struct {
		name string
		emit func(c *compiler)
		want string
	}{
		{"shlx r8, r8, r12", shift(4, 1), "c44299f7c0"},
		{"shrx r8d, r8d, r12d", shift(5, 0), "c4421bf7c0"},
		{"sarx r8, r8, r12", shift(7, 1), "c4429af7c0"},
		{"shlx rax, rax, rdi", func(c *compiler) { shiftReg(c, &plan.Insn{Dst: 0, Src: 1}, &rule{op: 4, w: 1}) }, "c4e2c1f7c0"},
		{"rorx r14, rax, 5", func(c *compiler) { c.rorx(1, r14, rax, 5) }, "c463fbf0f005"},
		{"rorx esi, r9d, 31", func(c *compiler) { c.rorx(0, rsi, r9, 31) }, "c4c37bf0f11f"},
		{"mulx rcx, rcx, r13", func(c *compiler) { c.mulx(rcx, r13) }, "c4c2f3f6cd"},
	} {
		c := &compiler{}
		c.Room(64)
		tt.emit(c)
		assert.Equal(t, tt.want, hex.EncodeToString(c.Code()), tt.name)
	}
}

// TestEveryOpHasARule or a reason to have none.
func TestEveryOpHasARule(t *testing.T) {
	for op := range decode.NumOps {
		assert.Equal(t, plan.HasRule(op), rules[op].emit != nil, "%v", op)
	}
}
