/* Adler-32: two sums with a modulo, byte by byte (RFC 1950). */
#include "bench.h"

PROGRAM(adler32)
{
	u32 a = 1, b = 0;

	for (u32 i = 0; i < HALF; i++) {
		a = (a + mem[i]) % 65521;
		b = (b + a) % 65521;
	}
	return b << 16 | a;
}
