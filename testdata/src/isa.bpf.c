// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// isa: what a compiler emits for plain arithmetic, one function per group, compiled for each CPU version (v1 to v4):
// ALU 64/32, shifts, division, signed division and sign extension (instructions only from v4), byte swaps, jumps of every
// kind in 64 and 32 bits, loads and stores of every size, atomics (fetching ones only from v3), the stack.
#include "types.h"
#include <bpf/bpf_helpers.h>

#define N 16

struct io {
	__u64 a, b;
	__s64 sa, sb;
	__u32 wa, wb;
	__s32 swa, swb;
	__u16 ha;
	__u8 ba;
	__s8 sba;
	__s16 sha;
	__u64 out[N];
};

SEC("syscall")
int alu64(struct io *io)
{
	__u64 a = io->a, b = io->b;

	io->out[0] = a + b;
	io->out[1] = a - b;
	io->out[2] = a * b;
	io->out[3] = a / b;
	io->out[4] = a % b;
	io->out[5] = a & b;
	io->out[6] = a | b;
	io->out[7] = a ^ b;
	io->out[8] = a << (b & 63);
	io->out[9] = a >> (b & 63);
	io->out[10] = (__s64)a >> (b & 63);
	io->out[11] = -a;
	io->out[12] = ~a;
	io->out[13] = a + 0x123456789abcdefULL;
	io->out[14] = a * 1000003;
	io->out[15] = a / 10 + a % 7;
	return 0;
}

SEC("syscall")
int alu32(struct io *io)
{
	__u32 a = io->wa, b = io->wb;

	io->out[0] = a + b;
	io->out[1] = a - b;
	io->out[2] = a * b;
	io->out[3] = a / b;
	io->out[4] = a % b;
	io->out[5] = a & b;
	io->out[6] = a | b;
	io->out[7] = a ^ b;
	io->out[8] = a << (b & 31);
	io->out[9] = a >> (b & 31);
	io->out[10] = (__u32)((__s32)a >> (b & 31));
	io->out[11] = -a;
	io->out[12] = ~a;
	io->out[13] = a + 0x89abcdefU;
	io->out[14] = a * 1000003;
	io->out[15] = a / 10 + a % 7;
	return 0;
}

#ifdef ISA_V4
// Before v4 there is no instruction for it and compilers refuse.
SEC("syscall")
int signed_division(struct io *io)
{
	io->out[0] = io->sa / io->sb;
	io->out[1] = io->sa % io->sb;
	io->out[2] = (__s64)(io->swa / io->swb);
	io->out[3] = (__s64)(io->swa % io->swb);
	io->out[4] = io->sa / -7;
	io->out[5] = io->sa % -7;
	io->out[6] = (__s64)(io->swa / 1000);
	io->out[7] = (__s64)(io->swa % 1000);
	return 0;
}
#endif

SEC("syscall")
int sign_extend(struct io *io)
{
	__s64 a = io->sa;

	io->out[0] = (__s64)io->sba;
	io->out[1] = (__s64)io->sha;
	io->out[2] = (__s64)io->swa;
	io->out[3] = (__s64)(__s8)a;
	io->out[4] = (__s64)(__s16)a;
	io->out[5] = (__s64)(__s32)a;
	io->out[6] = (__u32)(__s32)(__s8)io->wa;
	io->out[7] = (__u32)(__s32)(__s16)io->wa;
	return 0;
}

SEC("syscall")
int byte_swap(struct io *io)
{
	io->out[0] = __builtin_bswap64(io->a);
	io->out[1] = __builtin_bswap32(io->wa);
	io->out[2] = __builtin_bswap16(io->ha);
	io->out[3] = __builtin_bswap32(io->a);
	io->out[4] = __builtin_bswap16(io->a);
	return 0;
}

#define JUMP(i, cond)                                                                                                 \
	if (cond)                                                                                                     \
		asm volatile("%0 += %1" : "+r"(r) : "i"(1 << (i)));

SEC("syscall")
int jumps64(struct io *io)
{
	__u64 a = io->a, b = io->b, r = 0;
	__s64 sa = io->sa, sb = io->sb;

	JUMP(0, a == b)
	JUMP(1, a != b)
	JUMP(2, a > b)
	JUMP(3, a >= b)
	JUMP(4, a < b)
	JUMP(5, a <= b)
	JUMP(6, sa > sb)
	JUMP(7, sa >= sb)
	JUMP(8, sa < sb)
	JUMP(9, sa <= sb)
	JUMP(10, a & b)
	JUMP(11, a == 42)
	JUMP(12, a > 1000)
	JUMP(13, sa > -1000)
	JUMP(14, sa < -5)
	JUMP(15, a & 0x10)
	io->out[0] = r;
	return 0;
}

SEC("syscall")
int jumps32(struct io *io)
{
	__u32 a = io->wa, b = io->wb;
	__s32 sa = io->swa, sb = io->swb;
	__u64 r = 0;

	JUMP(0, a == b)
	JUMP(1, a != b)
	JUMP(2, a > b)
	JUMP(3, a >= b)
	JUMP(4, a < b)
	JUMP(5, a <= b)
	JUMP(6, sa > sb)
	JUMP(7, sa >= sb)
	JUMP(8, sa < sb)
	JUMP(9, sa <= sb)
	JUMP(10, a & b)
	JUMP(11, a == 42)
	JUMP(12, a > 1000)
	JUMP(13, sa > -1000)
	JUMP(14, sa < -5)
	JUMP(15, a & 0x10)
	io->out[0] = r;
	return 0;
}

SEC("syscall")
int memory(struct io *io)
{
	volatile __u8 b8[8];
	volatile __u16 b16[4];
	volatile __u32 b32[2];
	volatile __u64 b64;

	for (int i = 0; i < 8; i++)
		b8[i] = io->a >> (8 * i);
	for (int i = 0; i < 4; i++)
		b16[i] = io->a >> (16 * i);
	b32[0] = io->wa;
	b32[1] = 0x80000001;
	b64 = -2;
	io->out[0] = b8[0] | (__u64)b8[7] << 8;
	io->out[1] = b16[0] | (__u64)b16[3] << 16;
	io->out[2] = b32[0] + (__u64)b32[1];
	io->out[3] = b64;
	return 0;
}

// The kernel allows atomics on map values and the stack, not on a context.
__u64 mem[N];

SEC("syscall")
int atomics(struct io *io)
{
	for (int i = 0; i < N; i++)
		mem[i] = io->a + i;
	__sync_fetch_and_add(&mem[0], io->b);
	__sync_fetch_and_add((__u32 *)&mem[1], io->wb);
#ifdef ISA_V3
	io->out[0] = __sync_fetch_and_add(&mem[2], io->b);
	io->out[1] = __sync_fetch_and_or(&mem[3], io->b);
	io->out[2] = __sync_fetch_and_and(&mem[4], io->b);
	io->out[3] = __sync_fetch_and_xor(&mem[5], io->b);
	io->out[4] = __sync_lock_test_and_set(&mem[6], io->b);
	io->out[5] = __sync_val_compare_and_swap(&mem[7], io->a + 7, io->b);
	io->out[6] = __sync_val_compare_and_swap(&mem[8], io->a, io->b);
	io->out[7] = __sync_val_compare_and_swap((__u32 *)&mem[9], io->wa + 9, io->wb);
	io->out[8] = __sync_fetch_and_add((__u32 *)&mem[10], io->wb);
#endif
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
