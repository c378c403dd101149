// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// maps_all: a definition of every map type a BTF-style definition can express, with flags, extras and pinning; only some are used.
#include "types.h"
#include <bpf/bpf_helpers.h>

#define MAP(name, t, n, k, v)                                                                                         \
	struct {                                                                                                      \
		__uint(type, t);                                                                                      \
		__uint(max_entries, n);                                                                               \
		__type(key, k);                                                                                       \
		__type(value, v);                                                                                     \
	} name SEC(".maps")

#define SIZED(name, t, n, ks, vs)                                                                                     \
	struct {                                                                                                      \
		__uint(type, t);                                                                                      \
		__uint(max_entries, n);                                                                               \
		__uint(key_size, ks);                                                                                 \
		__uint(value_size, vs);                                                                               \
	} name SEC(".maps")

#define STORAGE(name, t)                                                                                              \
	struct {                                                                                                      \
		__uint(type, t);                                                                                      \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                                                 \
		__type(key, int);                                                                                     \
		__type(value, __u64);                                                                                 \
	} name SEC(".maps")

struct value {
	__u64 n;
	__u32 tag;
	char text[4];
};

struct lpm {
	__u32 prefixlen;
	__u8 addr[16];
};

struct cgroup_key {
	__u64 cgroup_inode_id;
	__u32 attach_type;
};

MAP(hash, BPF_MAP_TYPE_HASH, 4, __u64, struct value);
MAP(array, BPF_MAP_TYPE_ARRAY, 4, __u32, struct value);
MAP(percpu_hash, BPF_MAP_TYPE_PERCPU_HASH, 4, __u32, struct value);
MAP(percpu_array, BPF_MAP_TYPE_PERCPU_ARRAY, 4, __u32, struct value);
MAP(lru_hash, BPF_MAP_TYPE_LRU_HASH, 4, __u32, __u64);
MAP(lru_percpu_hash, BPF_MAP_TYPE_LRU_PERCPU_HASH, 4, __u32, __u64);
SIZED(prog_array, BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 4);
SIZED(perf_event_array, BPF_MAP_TYPE_PERF_EVENT_ARRAY, 0, 4, 4);
SIZED(stack_trace, BPF_MAP_TYPE_STACK_TRACE, 16, 4, 127 * 8);
SIZED(cgroup_array, BPF_MAP_TYPE_CGROUP_ARRAY, 2, 4, 4);
SIZED(devmap, BPF_MAP_TYPE_DEVMAP, 4, 4, 8);
SIZED(devmap_hash, BPF_MAP_TYPE_DEVMAP_HASH, 4, 4, 4);
SIZED(sockmap, BPF_MAP_TYPE_SOCKMAP, 4, 4, 8);
SIZED(sockhash, BPF_MAP_TYPE_SOCKHASH, 4, 4, 8);
SIZED(cpumap, BPF_MAP_TYPE_CPUMAP, 4, 4, 8);
SIZED(xskmap, BPF_MAP_TYPE_XSKMAP, 4, 4, 4);
SIZED(reuseport_sockarray, BPF_MAP_TYPE_REUSEPORT_SOCKARRAY, 4, 4, 8);
STORAGE(sk_storage, BPF_MAP_TYPE_SK_STORAGE);
STORAGE(inode_storage, BPF_MAP_TYPE_INODE_STORAGE);
STORAGE(task_storage, BPF_MAP_TYPE_TASK_STORAGE);
STORAGE(cgrp_storage, BPF_MAP_TYPE_CGRP_STORAGE);

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 8);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct lpm);
	__type(value, __u32);
} lpm_trie SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_STORAGE);
	__type(key, struct cgroup_key);
	__type(value, __u64);
} cgroup_storage SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE);
	__type(key, __u64);
	__type(value, __u64);
} percpu_cgroup_storage SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 3);
	__type(value, __u32);
} queue SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 3);
	__uint(value_size, 4);
} stack SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ringbuf SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_USER_RINGBUF);
	__uint(max_entries, 4096);
} user_ringbuf SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_BLOOM_FILTER);
	__uint(max_entries, 64);
	__uint(map_extra, 3);
	__type(value, __u32);
} bloom_filter SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(numa_node, 0);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
	__type(key, __u32);
	__type(value, __u64);
} pinned SEC(".maps");

SEC("syscall")
int uses(__u64 *ctx)
{
	struct lpm lpm = {.prefixlen = 20, .addr = {192, 0, 2}};
	struct value v = {.n = ctx[0], .tag = 7, .text = "abc"}, *p;
	__u32 k = 1, x = 5, y = 0;
	__u64 key = 77;

	ctx[1] = bpf_map_update_elem(&hash, &key, &v, BPF_NOEXIST);
	ctx[2] = bpf_map_update_elem(&hash, &key, &v, BPF_NOEXIST);
	p = bpf_map_lookup_elem(&array, &k);
	if (p)
		*p = v;
	bpf_map_update_elem(&percpu_hash, &k, &v, BPF_ANY);
	p = bpf_map_lookup_elem(&percpu_array, &k);
	if (p)
		p->n++;
	for (__u32 i = 0; i < 6; i++) {
		bpf_map_update_elem(&lru_hash, &i, &key, BPF_ANY);
		ctx[3] = bpf_map_push_elem(&queue, &i, BPF_ANY);
		ctx[4] = bpf_map_push_elem(&stack, &i, BPF_EXIST);
	}
	bpf_map_pop_elem(&queue, &x);
	bpf_map_peek_elem(&stack, &y);
	ctx[5] = x;
	ctx[6] = y;
	ctx[7] = bpf_map_update_elem(&lpm_trie, &lpm, &x, BPF_ANY);
	lpm.prefixlen = 128;
	ctx[8] = bpf_map_lookup_elem(&lpm_trie, &lpm) != NULL;
	bpf_map_push_elem(&bloom_filter, &y, BPF_ANY);
	ctx[9] = bpf_map_peek_elem(&bloom_filter, &y);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
