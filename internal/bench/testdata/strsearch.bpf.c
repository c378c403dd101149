/* Horspool's search for several needles, with a skip table on scratch memory. */
#include "bench.h"

PROGRAM(strsearch)
{
	u8 *skip = mem + HALF;
	u64 hits = 0, tried = 0;

	for (u32 needle = 0; needle < 8; needle++) {
		const u8 *p = mem + 16000 + needle * 997;
		const u32 n = 6;

		for (u32 i = 0; i < 256; i++)
			skip[i] = n;
		for (u32 i = 0; i + 1 < n; i++)
			skip[p[i]] = n - 1 - i;
		for (u32 at = 0; at + n <= HALF;) {
			u32 k = n;

			while (k > 0 && mem[at + k - 1] == p[k - 1])
				k--;
			tried++;
			if (k == 0)
				hits++;
			at += skip[mem[at + n - 1]];
		}
	}
	return hits << 32 | tried;
}
