/* Calls of subprograms, three deep, with values kept across them. */
#include "bench.h"

NOINLINE u64 mix(u64 a, u64 b)
{
	return (a ^ b) * 0x9e3779b97f4a7c15ull;
}

NOINLINE u64 step(const u8 *p, u64 acc, u64 i)
{
	return mix(acc + p[i], i) + mix(acc, p[i + 1]);
}

NOINLINE u64 block(const u8 *p, u64 acc)
{
	for (u64 i = 0; i < 16; i++)
		acc = step(p, acc, i);
	return acc;
}

PROGRAM(calls)
{
	u64 acc = len;

	for (u64 i = 0; i < 4096; i += 16)
		acc = block(mem + i, acc);
	return acc;
}
