/* MurmurHash3 (x86, 32 bits) of 512 keys of 4 to 67 bytes, whose words are read byte by byte, as code for any byte order and alignment does. */
#include "bench.h"

INLINE u32 le32(const u8 *p) { return p[0] | p[1] << 8 | p[2] << 16 | (u32)p[3] << 24; }

PROGRAM(murmur)
{
	u64 sum = 0;

	for (u32 key = 0; key < 512; key++) {
		const u8 *p = mem + key * 61;
		u32 n = 4 + (key & 63), h = key;

		for (u32 i = 0; i + 4 <= n; i += 4) {
			u32 k = le32(p + i) * 0xcc9e2d51u;

			k = rotl32(k, 15) * 0x1b873593u;
			h = rotl32(h ^ k, 13) * 5 + 0xe6546b64u;
		}
		h ^= n;
		h = (h ^ h >> 16) * 0x85ebca6bu;
		h = (h ^ h >> 13) * 0xc2b2ae35u;
		sum += h ^ h >> 16;
	}
	return sum;
}
