/* Lookups in an array map, each followed by an addition in the value. */
#include "maps.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 256);
	__type(key, u32);
	__type(value, u64);
} counts SEC(".maps");

PROGRAM(map_array)
{
	u64 sum = 0;

	for (u32 i = 0; i < 8192; i++) {
		u32 key = mem[i];
		u64 *v = bpf_map_lookup_elem(&counts, &key);

		if (!v)
			return 0;
		*v = i;
		sum += *v + key;
	}
	return sum;
}
