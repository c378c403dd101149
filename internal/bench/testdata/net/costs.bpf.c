// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// costs: loops that differ in a call. The work of a turn is 16 instructions that wait for little, written down so that all turns are alike.
#include "types.h"
#include <bpf/bpf_helpers.h>

#define TURNS 1000

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

#define LOOP(call) \
	"r1 = 3;" \
	"*(u32 *)(r10 - 4) = r1;" \
	"r6 = %[turns];" \
	"r7 = 0;" \
	"r8 = 0;" \
	"r9 = 0;" \
"l%=:" call \
	"r7 += 1; r8 += 3; r9 += 5; r7 ^= 7; r8 ^= 9; r9 ^= 11; r7 += 13;" \
	"r8 += 15; r9 += 17; r7 ^= 19; r8 ^= 21; r9 ^= 23; r7 += r8; r9 += r7;" \
	"r6 += -1;" \
	"if r6 != 0 goto l%=;" \
	"r0 = r9;" \
	"exit;"

#define PROGRAM(name, call) \
SEC("xdp") __attribute__((naked)) int name(void) \
{ \
	asm volatile(LOOP(call) :: [map] "i"(&counts), [turns] "i"(TURNS) : "memory"); \
}

PROGRAM(work, "")
PROGRAM(lookup, "r1 = %[map] ll; r2 = r10; r2 += -4; call 1;")
PROGRAM(clock, "call 5;")

char LICENSE[] SEC("license") = "GPL";
