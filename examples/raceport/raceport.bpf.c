// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// raceport: each new source gets a port of its own. allocate reads the next one and writes the one after it, so that two CPUs can
// get the same; allocate_right takes it by one operation, and gives its own back to nobody if another CPU was faster.
#include "types.h"
#include <bpf/bpf_helpers.h>

#define FIRST 40000

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u32);
} ports SEC(".maps"), ports_right SEC(".maps");

__u32 next = FIRST, next_right = FIRST;

SEC("xdp")
int allocate(struct xdp_md *ctx)
{
	__u32 who = bpf_get_smp_processor_id(), port = next;

	next = port + 1;
	bpf_map_update_elem(&ports, &who, &port, BPF_NOEXIST);
	return XDP_PASS;
}

SEC("xdp")
int allocate_right(struct xdp_md *ctx)
{
	__u32 who = bpf_get_smp_processor_id(), port = __sync_fetch_and_add(&next_right, 1);

	bpf_map_update_elem(&ports_right, &who, &port, BPF_NOEXIST);
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
