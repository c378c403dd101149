package jit

import "github.com/bpfrun/bpfrun/jit/amd64"

// Disassemble returns the text of the first instruction of native code, and its length. at is the offset of the instruction in the
// code, which jumps are shown with.
func Disassemble(code []byte, at int) (text string, n int) { return amd64.Disassemble(code, at) }
