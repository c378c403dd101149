/* xorshift64* and a histogram of its upper bits. */
#include "bench.h"

PROGRAM(xorshift)
{
	u32 *hist = (u32 *)(mem + HALF);
	u64 x = 88172645463325252ull, max = 0;

	for (u32 i = 0; i < 256; i++)
		hist[i] = 0;
	for (u32 i = 0; i < 16384; i++) {
		x ^= x >> 12;
		x ^= x << 25;
		x ^= x >> 27;
		hist[x * 0x2545f4914f6cdd1dull >> 56]++;
	}
	for (u32 i = 0; i < 256; i++)
		if (hist[i] > max)
			max = hist[i];
	return x ^ max;
}
