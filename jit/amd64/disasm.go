package amd64

import (
	"fmt"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// Disassemble returns the text and the length in bytes of the instruction at the start of code,
// which is at offset at of a program's code. Of VEX encodings it knows only those that this package
// generates.
func Disassemble(code []byte, at int) (text string, n int) {
	in, err := x86asm.Decode(code, 64)
	if err == nil {
		return branchText(in, at), in.Len
	}
	if len(code) >= 5 && code[0] == 0xc4 {
		if text, n := vexText(code); n > 0 && n <= len(code) {
			return text, n
		}
	}
	return fmt.Sprintf(".byte %#x", code[0]), 1
}

// branchText formats a jump with the offset of its target.
func branchText(in x86asm.Inst, at int) string {
	if rel, ok := in.Args[0].(x86asm.Rel); ok {
		return fmt.Sprintf("%s %#x", strings.ToLower(in.Op.String()), at+in.Len+int(rel))
	}
	return x86asm.IntelSyntax(in, 0, nil)
}

var (
	names64 = [16]string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"}
	names32 = [16]string{"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "r8d", "r9d", "r10d", "r11d", "r12d", "r13d", "r14d", "r15d"}
)

func vexText(code []byte) (string, int) {
	r := code[4]>>3&7 | ^code[1]>>7&1<<3
	b := code[4]&7 | ^code[1]>>5&1<<3
	v := ^code[2] >> 3 & 15
	names := &names32
	if code[2]>>7 != 0 {
		names = &names64
	}
	switch pp := code[2] & 3; {
	case code[3] == 0xf7 && pp != 0:
		return fmt.Sprintf("%s %s, %s, %s", [4]string{1: "shlx", 2: "sarx", 3: "shrx"}[pp], names[r], names[b], names[v]), 5
	case code[3] == 0xf6 && pp == 3:
		return fmt.Sprintf("mulx %s, %s, %s", names[r], names[v], names[b]), 5
	case code[3] == 0xf0 && pp == 3 && len(code) > 5:
		return fmt.Sprintf("rorx %s, %s, %#x", names[r], names[b], code[5]), 6
	}
	return "", 0
}
