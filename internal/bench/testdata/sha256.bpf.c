/* The compression function of SHA-256 over 4 KiB. The constants come from a generator and are not the standard's. */
#include "bench.h"

PROGRAM(sha256)
{
	u32 *k = (u32 *)(mem + HALF), *w = k + 64, h[8];
	u64 x = 0x9e3779b97f4a7c15ull;

	for (u32 i = 0; i < 72; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		if (i < 64)
			k[i] = x >> 32;
		else
			h[i - 64] = x >> 32;
	}
	for (u32 block = 0; block < 64; block++) {
		const u8 *in = mem + block * 64;
		u32 a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], hh = h[7];

		for (u32 i = 0; i < 16; i++)
			w[i] = be32(in + 4 * i);
		for (u32 i = 16; i < 64; i++) {
			u32 s0 = rotr32(w[i - 15], 7) ^ rotr32(w[i - 15], 18) ^ w[i - 15] >> 3;
			u32 s1 = rotr32(w[i - 2], 17) ^ rotr32(w[i - 2], 19) ^ w[i - 2] >> 10;

			w[i] = w[i - 16] + s0 + w[i - 7] + s1;
		}
#pragma clang loop unroll(disable)
		for (u32 i = 0; i < 64; i++) {
			u32 t1 = hh + (rotr32(e, 6) ^ rotr32(e, 11) ^ rotr32(e, 25)) + ((e & f) ^ (~e & g)) + k[i] + w[i];
			u32 t2 = (rotr32(a, 2) ^ rotr32(a, 13) ^ rotr32(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));

			hh = g; g = f; f = e; e = d + t1; d = c; c = b; b = a; a = t1 + t2;
		}
		h[0] += a; h[1] += b; h[2] += c; h[3] += d; h[4] += e; h[5] += f; h[6] += g; h[7] += hh;
	}
	return (u64)h[0] << 32 | h[7];
}
