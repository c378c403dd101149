/* Copies 24 KiB by words, then compares it by bytes. */
#include "bench.h"

PROGRAM(memcopy)
{
	const u64 *from = (const u64 *)mem;
	volatile u64 *to = (volatile u64 *)(mem + HALF);
	u64 same = 0;

	for (u32 i = 0; i < 3072; i++)
		to[i] = from[i];
	for (u32 i = 0; i < 24 * 1024; i++)
		same += mem[i] == ((volatile u8 *)to)[i];
	return same;
}
