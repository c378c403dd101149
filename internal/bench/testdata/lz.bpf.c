/* An LZ77 match finder with a hash table of positions, over input made repetitive; counts literals and matches. */
#include "bench.h"

PROGRAM(lz)
{
	u16 *head = (u16 *)(mem + HALF);
	u8 *text = mem + HALF + 8192;
	u64 literals = 0, matched = 0;

	for (u32 i = 0; i < 2048; i++)
		head[i] = 0;
	for (u32 i = 0; i < 12288; i++)
		text[i] = mem[i & 1023] & 0x1f;
	for (u32 i = 1; i < 12288 - 260;) {
		u32 v = (u32)text[i] | text[i + 1] << 8 | text[i + 2] << 16;
		u32 h = v * 2654435761u >> 21, at = head[h], n = 0;

		head[h] = i;
		if (at)
			while (n < 255 && text[at + n] == text[i + n])
				n++;
		if (n >= 4) {
			matched += n;
			i += n;
		} else {
			literals++;
			i++;
		}
	}
	return literals << 32 | matched;
}
