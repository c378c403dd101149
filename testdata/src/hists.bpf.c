// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// hists: histograms in the forms that tools have them, and arrays that are none.
#include "types.h"
#include <bpf/bpf_helpers.h>

struct hist {
	__u32 slots[26];
};

struct delay_hist {
	__u64 counts[40];
	__u64 total;
};

struct per_disk {
	char disk[8];
	struct hist reads;
	__u64 bytes;
};

struct plain { // neither its name nor that of a member says histogram
	__u32 values[8];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct delay_hist);
} delays SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, struct per_disk);
} disks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct plain);
} others SEC(".maps");

struct hist by_cpu[4];

SEC("tracepoint/sched/sched_switch")
int count(void *ctx)
{
	__u32 zero = 0, disk = 8;
	struct per_disk fresh = { .disk = "sda" };
	struct delay_hist *d = bpf_map_lookup_elem(&delays, &zero);
	struct plain *p = bpf_map_lookup_elem(&others, &zero);

	if (!d || !p)
		return 1;
	d->counts[10] += 3;
	d->counts[39] += 1;
	d->total += 4;
	p->values[1]++;
	by_cpu[2].slots[0] += 5;
	by_cpu[2].slots[2] += 1;
	fresh.reads.slots[3] = 1;
	bpf_map_update_elem(&disks, &disk, &fresh, BPF_ANY);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
