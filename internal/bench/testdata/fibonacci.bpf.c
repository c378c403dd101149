/* Fibonacci numbers modulo a prime: registers only. */
#include "bench.h"

PROGRAM(fibonacci)
{
	u64 a = mem[0], b = 1;

	for (u32 i = 0; i < 60000; i++) {
		u64 c = a + b;

		if (c >= 0x7fffffffffffffe7ull)
			c -= 0x7fffffffffffffe7ull;
		a = b;
		b = c;
	}
	return b;
}
