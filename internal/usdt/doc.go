// Package usdt reads what a compiler recorded about the arguments of a USDT probe: the notes of an
// ELF file, and the notation for where each argument is (a register, memory at a register, a
// constant). It follows libbpf (usdt.c): what libbpf does not parse is refused. It does not know
// programs, maps and simulated memory. Start from [Parse] and [Find].
package usdt
