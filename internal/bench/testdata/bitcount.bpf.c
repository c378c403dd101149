/* Population count and leading zeros by shifts and masks. */
#include "bench.h"

PROGRAM(bitcount)
{
	const u64 *v = (const u64 *)mem;
	u64 sum = 0;

	for (u32 i = 0; i < 4096; i++) {
		u64 x = v[i];

		x -= x >> 1 & 0x5555555555555555ull;
		x = (x & 0x3333333333333333ull) + (x >> 2 & 0x3333333333333333ull);
		x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full;
		sum += x * 0x0101010101010101ull >> 56;
		for (x = v[i] >> 48; x; x >>= 1)
			sum++;
	}
	return sum;
}
