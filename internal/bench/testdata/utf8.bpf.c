/* Validates UTF-8 and counts code points: data dependent branches. */
#include "bench.h"

PROGRAM(utf8)
{
	u64 points = 0, bad = 0;

	for (u32 i = 0; i < 16384;) {
		u8 c = mem[i];
		u32 more = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xf0 && c < 0xf5 ? 3 : 4, k = 1;

		if (more == 4) {
			bad++;
			i++;
			continue;
		}
		while (k <= more && (mem[i + k] & 0xc0) == 0x80)
			k++;
		if (k > more)
			points++;
		else
			bad++;
		i += k;
	}
	return points << 32 | bad;
}
