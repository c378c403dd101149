/* Base64 encoding (RFC 4648) of 12 KiB. */
#include "bench.h"

INLINE u8 letter(u32 v)
{
	v &= 63;
	if (v < 26)
		return 'A' + v;
	if (v < 52)
		return 'a' + v - 26;
	if (v < 62)
		return '0' + v - 52;
	return v == 62 ? '+' : '/';
}

PROGRAM(base64)
{
	u8 *out = mem + HALF;
	u64 sum = 0;

	for (u32 i = 0, o = 0; i < 12 * 1024; i += 3, o += 4) {
		u32 v = (u32)mem[i] << 16 | mem[i + 1] << 8 | mem[i + 2];

		out[o] = letter(v >> 18);
		out[o + 1] = letter(v >> 12);
		out[o + 2] = letter(v >> 6);
		out[o + 3] = letter(v);
		sum += out[o] + out[o + 3];
	}
	return sum;
}
