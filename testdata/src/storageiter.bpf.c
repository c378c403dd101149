// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// storageiter: iterators over the values stored with sockets, and over maps, whose struct bpf_map goes to a kfunc that takes maps.
#include "types.h"
#include <bpf/bpf_helpers.h>

struct bpf_map {
	__u32 id;
} __attribute__((preserve_access_index));

struct sock;

struct bpf_iter__bpf_sk_storage_map {
	void *meta;
	struct bpf_map *map;
	struct sock *sk;
	void *value;
} __attribute__((preserve_access_index));

struct bpf_iter__bpf_map {
	void *meta;
	struct bpf_map *map;
} __attribute__((preserve_access_index));

extern __s64 bpf_map_sum_elem_count(const struct bpf_map *map) __ksym;

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u32);
} marks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u32);
} counted SEC(".maps");

__u64 sockets, sum, maps, elements;

SEC("iter/bpf_sk_storage_map")
int mark(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	__u32 *value = ctx->value;

	if (!ctx->sk || !value)
		return 0;
	sockets++;
	sum += *value;
	*value += 7;
	return 0;
}

/* The kernel refuses to attach this one: it writes past the map's values. */
SEC("iter/bpf_sk_storage_map")
int past(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	__u32 *value = ctx->value;

	if (value)
		value[1] = 1;
	return 0;
}

SEC("iter/bpf_map")
int count(struct bpf_iter__bpf_map *ctx)
{
	struct bpf_map *map = ctx->map;
	__u32 key = 1, value = 1;

	if (!map)
		return 0;
	if (!maps)
		bpf_map_update_elem(&counted, &key, &value, 0);
	maps++;
	elements += bpf_map_sum_elem_count(map);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
