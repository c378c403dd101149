/* Binary search of 4096 keys in a sorted array of 4096 numbers. */
#include "bench.h"

PROGRAM(binsearch)
{
	u32 *table = (u32 *)(mem + HALF);
	u64 found = 0;

	for (u32 i = 0; i < 4096; i++)
		table[i] = i * 7 + (mem[i] & 3);
	for (u32 i = 0; i < 4096; i++) {
		u32 key = ((u32)mem[i] << 8 | mem[i + 1]) % (4096 * 7), low = 0, high = 4096;

		while (low < high) {
			u32 mid = (low + high) / 2;

			if (table[mid] < key)
				low = mid + 1;
			else
				high = mid;
		}
		found += low;
	}
	return found;
}
