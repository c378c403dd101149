/* SipHash-2-4 of 1024 keys of 16 bytes. */
#include "bench.h"

#define ROUND                                                                                                          \
	v0 += v1; v1 = rotl64(v1, 13) ^ v0; v0 = rotl64(v0, 32);                                                       \
	v2 += v3; v3 = rotl64(v3, 16) ^ v2;                                                                            \
	v0 += v3; v3 = rotl64(v3, 21) ^ v0;                                                                            \
	v2 += v1; v1 = rotl64(v1, 17) ^ v2; v2 = rotl64(v2, 32)

PROGRAM(siphash)
{
	const u64 *in = (const u64 *)mem;
	u64 sum = 0;

	for (u32 i = 0; i < 1024; i++) {
		u64 v0 = 0x736f6d6570736575ull, v1 = 0x646f72616e646f6dull, v2 = 0x6c7967656e657261ull, v3 = 0x7465646279746573ull;

#pragma clang loop unroll(disable)
		for (u32 k = 0; k < 2; k++) {
			u64 m = in[i * 2 + k];

			v3 ^= m;
			ROUND;
			ROUND;
			v0 ^= m;
		}
		v2 ^= 0xff;
		ROUND; ROUND; ROUND; ROUND;
		sum ^= v0 ^ v1 ^ v2 ^ v3;
	}
	return sum;
}
