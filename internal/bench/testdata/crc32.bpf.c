/* CRC-32 with a table of 256 entries, which it builds first. */
#include "bench.h"

PROGRAM(crc32)
{
	u32 *table = (u32 *)(mem + HALF);
	u32 crc = ~0u;

	for (u32 i = 0; i < 256; i++) {
		u32 c = i;

		for (int k = 0; k < 8; k++)
			c = c & 1 ? 0xedb88320 ^ c >> 1 : c >> 1;
		table[i] = c;
	}
	for (u32 i = 0; i < HALF; i++)
		crc = table[(crc ^ mem[i]) & 0xff] ^ crc >> 8;
	return ~crc;
}
