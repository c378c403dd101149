/* A hash map of 16-byte keys: update, lookup, delete. */
#include "maps.h"

struct flow {
	u32 src, dst;
	u16 sport, dport;
	u32 proto;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct flow);
	__type(value, u64);
} flows SEC(".maps");

PROGRAM(map_hash)
{
	u64 hits = 0, one = 1;

	for (u32 i = 0; i < 2048; i++) {
		struct flow f = {mem[i] & 63, mem[i + 1] & 3, 80, mem[i + 2] & 1, 6};
		u64 *v = bpf_map_lookup_elem(&flows, &f);

		if (v) {
			*v += 1;
			hits++;
		} else {
			bpf_map_update_elem(&flows, &f, &one, 0);
		}
	}
	for (u32 i = 0; i < 2048; i++) {
		struct flow f = {mem[i] & 63, mem[i + 1] & 3, 80, mem[i + 2] & 1, 6};

		if (!bpf_map_delete_elem(&flows, &f))
			hits += 1000;
	}
	return hits;
}
