//go:build !amd64

package jit

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/arch/arm64/arm64asm"
)

// Disassemble returns the text of the first instruction of native code, and its length. Jumps are shown with their distance.
func Disassemble(code []byte, _ int) (text string, n int) {
	if len(code) < 4 {
		return fmt.Sprintf(".byte %x", code), len(code)
	}
	in, err := arm64asm.Decode(code)
	if err != nil { // newer than the table
		return fmt.Sprintf(".word %#08x", binary.LittleEndian.Uint32(code)), 4
	}
	return arm64asm.GNUSyntax(in), 4
}
