/* FNV-1a, 64 bits: the simplest byte hash. */
#include "bench.h"

PROGRAM(fnv1a)
{
	u64 h = 0xcbf29ce484222325ull;

	for (u32 i = 0; i < HALF; i++)
		h = (h ^ mem[i]) * 0x100000001b3ull;
	return h;
}
