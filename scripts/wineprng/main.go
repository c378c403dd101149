// Wineprng writes the library bcryptprimitives.dll, which programs by Go load when they start and
// Wine has since version 9 only. It has the one function that they call, ProcessPrng, by the
// processor's own random numbers. It is there to try a release under an older Wine, and for nothing
// else.
//
//	go run ./scripts/wineprng ~/.wine/drive_c/windows/system32/bcryptprimitives.dll
package main

import (
	"encoding/binary"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: wineprng FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], library(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "wineprng:", err)
		os.Exit(1)
	}
}

// processPrng is BOOL ProcessPrng(PBYTE data, SIZE_T size): data in rcx, size in rdx.
var processPrng = []byte{
	0x48, 0x85, 0xd2, // next: test rdx, rdx
	0x74, 0x0f, // jz done
	0x0f, 0xc7, 0xf0, // again: rdrand eax
	0x73, 0xfb, // jnc again
	0x88, 0x01, // mov [rcx], al
	0x48, 0xff, 0xc1, // inc rcx
	0x48, 0xff, 0xca, // dec rdx
	0xeb, 0xec, // jmp next
	0xb8, 1, 0, 0, 0, // done: mov eax, 1
	0xc3, // ret
}

// Places in the file and in memory.
const (
	headersSize = 0x200
	sectionSize = 0x200
	sectionAt   = 0x1000 // in memory
	exportsAt   = 0x40   // in the section, after the code
)

// library returns a PE32+ library with one section, which has the code and its export.
func library() []byte {
	le := binary.LittleEndian
	section := make([]byte, sectionSize)
	copy(section, processPrng)
	const (
		functions = exportsAt + 40
		names     = functions + 4
		ordinals  = names + 4
		name      = ordinals + 2
		file      = name + len("ProcessPrng") + 1
	)
	for at, v := range map[int]uint32{ // IMAGE_EXPORT_DIRECTORY and its tables
		exportsAt + 12: sectionAt + uint32(file), exportsAt + 16: 1, exportsAt + 20: 1, exportsAt + 24: 1,
		exportsAt + 28: sectionAt + functions, exportsAt + 32: sectionAt + names, exportsAt + 36: sectionAt + ordinals,
		functions: sectionAt, names: sectionAt + name,
	} {
		le.PutUint32(section[at:], v)
	}
	copy(section[name:], "ProcessPrng")
	copy(section[file:], "bcryptprimitives.dll")

	out := append([]byte("MZ"), make([]byte, 58)...)
	out = le.AppendUint32(out, 64)
	out = append(out, "PE\x00\x00"...)
	for _, v := range []uint16{0x8664, 1, 0, 0, 0, 0, 0, 0, 240, 0x2022} { // x86-64; one section; a library, large addresses
		out = le.AppendUint16(out, v)
	}
	out = append(le.AppendUint16(out, 0x20b), 14, 0)
	for _, v := range []uint32{sectionSize, 0, 0, 0, sectionAt} { // sizes; no entry point
		out = le.AppendUint32(out, v)
	}
	out = le.AppendUint64(out, 0x180000000)
	for _, v := range []uint32{0x1000, headersSize, 6, 0, 6, 0, 2 * sectionAt, headersSize, 0, 3 | 0x140<<16} { // alignments, versions, sizes; console, any address, no execution of data
		out = le.AppendUint32(out, v)
	}
	for range 4 { // stack and heap
		out = le.AppendUint64(out, 0x1000)
	}
	for _, v := range []uint32{0, 16, sectionAt + exportsAt, sectionSize - exportsAt} {
		out = le.AppendUint32(out, v)
	}
	out = append(out, make([]byte, 15*8)...)
	out = append(out, ".text\x00\x00\x00"...)
	for _, v := range []uint32{sectionSize, sectionAt, sectionSize, headersSize, 0, 0, 0, 0x60000020} { // code that is read and executed
		out = le.AppendUint32(out, v)
	}
	return append(append(out, make([]byte, headersSize-len(out))...), section...)
}
