/* ChaCha20 (RFC 8439): 64 blocks of key stream xored over the input; the state lives on the stack. */
#include "bench.h"

#define QUARTER(a, b, c, d)                                                                                            \
	x[a] += x[b]; x[d] = rotl32(x[d] ^ x[a], 16);                                                                  \
	x[c] += x[d]; x[b] = rotl32(x[b] ^ x[c], 12);                                                                  \
	x[a] += x[b]; x[d] = rotl32(x[d] ^ x[a], 8);                                                                   \
	x[c] += x[d]; x[b] = rotl32(x[b] ^ x[c], 7)

PROGRAM(chacha20)
{
	const u32 *in = (const u32 *)mem;
	u32 *out = (u32 *)(mem + HALF);
	u32 x[16], s[16];
	u64 sum = 0;

	s[0] = 0x61707865; s[1] = 0x3320646e; s[2] = 0x79622d32; s[3] = 0x6b206574;
	for (int i = 4; i < 16; i++)
		s[i] = in[i];
	for (u32 block = 0; block < 64; block++) {
		s[12] = block;
		for (int i = 0; i < 16; i++)
			x[i] = s[i];
#pragma clang loop unroll(disable)
		for (int i = 0; i < 10; i++) {
			QUARTER(0, 4, 8, 12); QUARTER(1, 5, 9, 13); QUARTER(2, 6, 10, 14); QUARTER(3, 7, 11, 15);
			QUARTER(0, 5, 10, 15); QUARTER(1, 6, 11, 12); QUARTER(2, 7, 8, 13); QUARTER(3, 4, 9, 14);
		}
		for (int i = 0; i < 16; i++) {
			u32 v = (x[i] + s[i]) ^ in[block * 16 + i];

			out[block * 16 + i] = v;
			sum += v;
		}
	}
	return sum;
}
