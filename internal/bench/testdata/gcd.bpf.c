/* Greatest common divisors by Euclid: division bound. */
#include "bench.h"

PROGRAM(gcd)
{
	const u32 *v = (const u32 *)mem;
	u64 sum = 0;

	for (u32 i = 0; i < 1024; i++) {
		u64 a = v[i] | 1, b = v[i + 1] | 1;

		while (b) {
			u64 r = a % b;

			a = b;
			b = r;
		}
		sum += a;
	}
	return sum;
}
