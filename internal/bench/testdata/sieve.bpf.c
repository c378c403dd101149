/* The sieve of Eratosthenes up to 16384. */
#include "bench.h"

PROGRAM(sieve)
{
	volatile u8 *composite = mem + HALF;
	u64 primes = 0;

	for (u32 i = 0; i < 16384; i++)
		composite[i] = 0;
	for (u32 i = 2; i < 16384; i++) {
		if (composite[i])
			continue;
		primes++;
		for (u32 j = i * i; j < 16384; j += i)
			composite[j] = 1;
	}
	return primes;
}
