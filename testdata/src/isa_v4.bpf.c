// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// isa_v4: instructions compilers emit rarely, written in assembly: unconditional byte swaps, sign-extending moves and loads,
// signed division, gotol, may_goto, load-acquire, store-release.
#include "types.h"
#include <bpf/bpf_helpers.h>

struct io {
	__u64 in;
	__u64 out[16];
};

// Atomic accesses are allowed on map values, not on a context.
__u64 mem[8];

#define OP(i, insn)                                                                                                   \
	do {                                                                                                          \
		__u64 r = io->in;                                                                                     \
		asm volatile(insn : "+r"(r)::"r1");                                                                       \
		io->out[i] = r;                                                                                       \
	} while (0)

SEC("syscall")
int swaps(struct io *io)
{
	OP(0, "%0 = bswap16 %0");
	OP(1, "%0 = bswap32 %0");
	OP(2, "%0 = bswap64 %0");
	OP(3, "%0 = be16 %0");
	OP(4, "%0 = be32 %0");
	OP(5, "%0 = be64 %0");
	OP(6, "%0 = le16 %0");
	OP(7, "%0 = le32 %0");
	OP(8, "%0 = le64 %0");
	return 0;
}

SEC("syscall")
int moves(struct io *io)
{
	OP(0, "%0 = (s8)%0");
	OP(1, "%0 = (s16)%0");
	OP(2, "%0 = (s32)%0");
	OP(3, "r1 = %0; w1 = (s8)w1; %0 = r1");
	OP(4, "r1 = %0; w1 = (s16)w1; %0 = r1");
	OP(5, "%0 s/= -3");
	OP(6, "%0 s%%= -3");
	OP(7, "r1 = %0; w1 s/= 5; %0 = r1");
	OP(8, "r1 = %0; w1 s%%= 5; %0 = r1");
	return 0;
}

SEC("syscall")
int loads(struct io *io)
{
	__u64 r;

	asm volatile("%0 = *(s8 *)(%1 + 0)" : "=r"(r) : "r"(io) : "memory");
	io->out[0] = r;
	asm volatile("%0 = *(s16 *)(%1 + 0)" : "=r"(r) : "r"(io) : "memory");
	io->out[1] = r;
	asm volatile("%0 = *(s32 *)(%1 + 4)" : "=r"(r) : "r"(io) : "memory");
	io->out[2] = r;
	return 0;
}

SEC("syscall")
int long_jump(struct io *io)
{
	__u64 r = io->in;

	asm volatile("if %0 == 0 goto 2f;"
		     "gotol 1f;"
		     "2: %0 = 7;"
		     "1: %0 += 1;"
		     : "+r"(r));
	io->out[0] = r;
	return 0;
}

SEC("syscall")
int may_goto(struct io *io)
{
	__u64 n = 0;

	asm volatile("1: may_goto 2f;"
		     "%0 += 1;"
		     "if %0 < %1 goto 1b;"
		     "2:"
		     : "+r"(n)
		     : "r"(io->in));
	io->out[0] = n;
	return 0;
}

SEC("syscall")
int ordered(struct io *io)
{
	__u64 r = io->in;

	mem[0] = r;
	io->out[0] = __atomic_load_n(&mem[0], __ATOMIC_ACQUIRE);
	io->out[1] = __atomic_load_n((__u32 *)&mem[0], __ATOMIC_ACQUIRE);
	io->out[2] = __atomic_load_n((__u16 *)&mem[0], __ATOMIC_ACQUIRE);
	io->out[3] = __atomic_load_n((__u8 *)&mem[0], __ATOMIC_ACQUIRE);
	__atomic_store_n(&mem[4], r, __ATOMIC_RELEASE);
	__atomic_store_n((__u32 *)&mem[5], (__u32)r, __ATOMIC_RELEASE);
	__atomic_store_n((__u16 *)&mem[6], (__u16)r, __ATOMIC_RELEASE);
	__atomic_store_n((__u8 *)&mem[7], (__u8)r, __ATOMIC_RELEASE);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
