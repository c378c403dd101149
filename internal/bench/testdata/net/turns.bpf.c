// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// turns: loops of 1,000 turns that helpers and kfuncs make, 32 tail calls, and 1,000 lookups in an array. A turn does next to nothing.
#include "types.h"
#include <bpf/bpf_helpers.h>

#define TURNS 1000

struct bpf_iter_num {
	__u64 opaque[1];
} __attribute__((aligned(8)));

extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TURNS);
	__type(key, __u32);
	__type(value, __u64);
} elements SEC(".maps");

int tail_calls(void *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__array(values, int(void *));
} next SEC(".maps") = { .values = { [0] = (void *)&tail_calls } };

static int turn(__u32 i, __u64 *sum)
{
	*sum += i;
	return 0;
}

static long element(void *map, __u32 *key, __u64 *value, __u64 *sum)
{
	*sum += *value;
	return 0;
}

SEC("tc")
int bpf_loop_turns(void *ctx)
{
	__u64 sum = 0;

	bpf_loop(TURNS, turn, &sum, 0);
	return sum;
}

SEC("tc")
int for_each_turns(void *ctx)
{
	__u64 sum = 0;

	bpf_for_each_map_elem(&elements, element, &sum, 0);
	return sum;
}

SEC("tc")
int iter_num_turns(void *ctx)
{
	struct bpf_iter_num it;
	__u64 sum = 0;
	int *i;

	bpf_iter_num_new(&it, 0, TURNS);
	while ((i = bpf_iter_num_next(&it)))
		sum += *i;
	bpf_iter_num_destroy(&it);
	return sum;
}

SEC("tc")
int tail_calls(void *ctx)
{
	bpf_tail_call(ctx, &next, 0);
	return 7;
}

SEC("tc")
int array_adds(void *ctx)
{
	for (int n = 0; n < TURNS; n++) {
		__u32 key = n & 511;
		__u64 *value = bpf_map_lookup_elem(&elements, &key);

		if (value)
			*value += 1;
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
