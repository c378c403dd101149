// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// maps_basic: the plain map types: flags, errors, order, what happens when they are full.
#include "case.h"

struct pair {
	u32 a, b;
};

#define MAP(name, kind, ktype, vtype, n, f)  \
	struct {                             \
		__uint(type, kind);          \
		__type(key, ktype);          \
		__type(value, vtype);        \
		__uint(max_entries, n);      \
		__uint(map_flags, f);        \
	} name SEC(".maps")

MAP(hash, BPF_MAP_TYPE_HASH, u32, u64, 4, 0);
MAP(hash_np, BPF_MAP_TYPE_HASH, struct pair, struct pair, 3, BPF_F_NO_PREALLOC);
MAP(hash_ro, BPF_MAP_TYPE_HASH, u32, u64, 4, BPF_F_RDONLY_PROG);
MAP(arr, BPF_MAP_TYPE_ARRAY, u32, u64, 4, 0);
MAP(arr_odd, BPF_MAP_TYPE_ARRAY, u32, u8[5], 3, 0);
MAP(parr, BPF_MAP_TYPE_PERCPU_ARRAY, u32, u64, 3, 0);
MAP(phash, BPF_MAP_TYPE_PERCPU_HASH, u32, u64, 3, 0);
MAP(phash_odd, BPF_MAP_TYPE_PERCPU_HASH, u16, u8[3], 3, 0);
MAP(lru, BPF_MAP_TYPE_LRU_HASH, u32, u64, 8, 0);
MAP(lru_p, BPF_MAP_TYPE_LRU_PERCPU_HASH, u32, u64, 8, 0);

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__type(value, u32);
	__uint(max_entries, 3);
} queue SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__type(value, u32);
	__uint(max_entries, 3);
} stack SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_BLOOM_FILTER);
	__type(value, u64);
	__uint(max_entries, 64);
	__uint(map_extra, 4);
} bloom SEC(".maps");

struct lpm4 {
	u32 len;
	u8 addr[4];
};

struct lpm_odd {
	u32 len;
	u8 data[5];
};

MAP(lpm, BPF_MAP_TYPE_LPM_TRIE, struct lpm4, u32, 8, BPF_F_NO_PREALLOC);
MAP(lpm_odd, BPF_MAP_TYPE_LPM_TRIE, struct lpm_odd, u32, 8, BPF_F_NO_PREALLOC);

SEC("syscall") int t_hash(void *ctx)
{
	u32 k = 1;
	u64 v = 10, *p;

	CHECK("lookup missing", bpf_map_lookup_elem(&hash, &k) == NULL);
	CHECK("delete missing", bpf_map_delete_elem(&hash, &k));
	CHECK("update EXIST missing", bpf_map_update_elem(&hash, &k, &v, BPF_EXIST));
	CHECK("update NOEXIST", bpf_map_update_elem(&hash, &k, &v, BPF_NOEXIST));
	CHECK("update NOEXIST again", bpf_map_update_elem(&hash, &k, &v, BPF_NOEXIST));
	v = 11;
	CHECK("update ANY", bpf_map_update_elem(&hash, &k, &v, BPF_ANY));
	v = 12;
	CHECK("update EXIST", bpf_map_update_elem(&hash, &k, &v, BPF_EXIST));
	p = bpf_map_lookup_elem(&hash, &k);
	if (p) {
		CHECK("value", *p);
		*p = 77;
	}
	CHECK("flags 3", bpf_map_update_elem(&hash, &k, &v, 3));
	CHECK("flags 4 LOCK without lock", bpf_map_update_elem(&hash, &k, &v, BPF_F_LOCK));
	CHECK("flags 8", bpf_map_update_elem(&hash, &k, &v, 8));
	CHECK("flags 1<<33", bpf_map_update_elem(&hash, &k, &v, 1ull << 33));
	for (u32 i = 2; i < 7; i++) {
		k = i;
		v = i * 100;
		out[i] = bpf_map_update_elem(&hash, &k, &v, 0);
	}
	k = 1;
	v = 5;
	CHECK("update existing when full", bpf_map_update_elem(&hash, &k, &v, 0));
	k = 9;
	CHECK("EXIST missing when full", bpf_map_update_elem(&hash, &k, &v, BPF_EXIST));
	CHECK("NOEXIST when full", bpf_map_update_elem(&hash, &k, &v, BPF_NOEXIST));
	k = 2;
	CHECK("delete", bpf_map_delete_elem(&hash, &k));
	CHECK("delete again", bpf_map_delete_elem(&hash, &k));
	k = 9;
	CHECK("update after delete", bpf_map_update_elem(&hash, &k, &v, 0));
	CHECK("push on hash", 0);
	return 0;
}

SEC("tc") int t_hash_tc(struct __sk_buff *ctx)
{
	u32 k = 1;
	u64 v = 10;

	CHECK("tc update NOEXIST", bpf_map_update_elem(&hash, &k, &v, BPF_NOEXIST));
	CHECK("tc update NOEXIST again", bpf_map_update_elem(&hash, &k, &v, BPF_NOEXIST));
	for (u32 i = 0; i < 6; i++) {
		k = i + 50;
		out[i] = bpf_map_update_elem(&hash, &k, &v, 0);
	}
	k = 50;
	CHECK("tc delete", bpf_map_delete_elem(&hash, &k));
	return 7;
}

SEC("syscall") int t_hash_struct(void *ctx)
{
	struct pair k = {1, 2}, v = {3, 4}, *p;
	u64 *q;
	u32 rk = 1;

	CHECK("struct update", bpf_map_update_elem(&hash_np, &k, &v, 0));
	k.b = 3;
	CHECK("struct update 2", bpf_map_update_elem(&hash_np, &k, &v, 0));
	k.b = 4;
	CHECK("struct update 3", bpf_map_update_elem(&hash_np, &k, &v, 0));
	k.b = 5;
	CHECK("struct full", bpf_map_update_elem(&hash_np, &k, &v, 0));
	k.b = 3;
	p = bpf_map_lookup_elem(&hash_np, &k);
	if (p) {
		v = *p;
		__sync_fetch_and_add(&p->a, 5);
		CHECK("stale: delete while held", bpf_map_delete_elem(&hash_np, &k));
		CHECK("stale: value still readable", p->a);
	}
	q = bpf_map_lookup_elem(&hash_ro, &rk);
	CHECK("read-only map lookup", q == NULL);
	return 0;
}

SEC("syscall") int t_array(void *ctx)
{
	u32 k = 0;
	u64 v = 10, *p;
	u8 odd[5] = {1, 2, 3, 4, 5};
	u8 *o;

	p = bpf_map_lookup_elem(&arr, &k);
	CHECK("element 0 is zero", p ? *p : -1);
	k = 3;
	CHECK("update last", bpf_map_update_elem(&arr, &k, &v, 0));
	CHECK("update last EXIST", bpf_map_update_elem(&arr, &k, &v, BPF_EXIST));
	CHECK("update last NOEXIST", bpf_map_update_elem(&arr, &k, &v, BPF_NOEXIST));
	k = 4;
	CHECK("update behind", bpf_map_update_elem(&arr, &k, &v, 0));
	CHECK("lookup behind", bpf_map_lookup_elem(&arr, &k) == NULL);
	k = 0xffffffff;
	CHECK("lookup max", bpf_map_lookup_elem(&arr, &k) == NULL);
	CHECK("update behind NOEXIST", bpf_map_update_elem(&arr, &k, &v, BPF_NOEXIST));
	k = 1;
	CHECK("delete", bpf_map_delete_elem(&arr, &k));
	k = 9;
	CHECK("delete behind", bpf_map_delete_elem(&arr, &k));
	CHECK("flags 4", bpf_map_update_elem(&arr, &k, &v, 4));
	CHECK("flags 16", bpf_map_update_elem(&arr, &k, &v, 16));
	k = 2;
	CHECK("odd size update", bpf_map_update_elem(&arr_odd, &k, odd, 0));
	o = bpf_map_lookup_elem(&arr_odd, &k);
	if (o)
		CHECK("odd size value", o[0] | o[4] << 8);
	return 0;
}

SEC("syscall") int t_percpu(void *ctx)
{
	u32 k = 0;
	u64 v = 10, *p;
	u16 k16 = 7;
	u8 odd[3] = {9, 8, 7};

	CHECK("parr update", bpf_map_update_elem(&parr, &k, &v, 0));
	p = bpf_map_lookup_elem(&parr, &k);
	if (p)
		*p += 1;
	p = bpf_map_lookup_percpu_elem(&parr, &k, 1);
	if (p) {
		CHECK("parr cpu 1", *p);
		*p = 5;
	}
	CHECK("parr cpu 2", bpf_map_lookup_percpu_elem(&parr, &k, 2) == NULL);
	CHECK("parr cpu big", bpf_map_lookup_percpu_elem(&parr, &k, 1 << 20) == NULL);
	k = 3;
	CHECK("parr behind percpu", bpf_map_lookup_percpu_elem(&parr, &k, 0) == NULL);
	CHECK("parr update behind", bpf_map_update_elem(&parr, &k, &v, 0));
	k = 1;
	CHECK("parr NOEXIST", bpf_map_update_elem(&parr, &k, &v, BPF_NOEXIST));
	CHECK("parr delete", bpf_map_delete_elem(&parr, &k));
	v = 3;
	CHECK("phash update", bpf_map_update_elem(&phash, &k, &v, 0));
	CHECK("phash NOEXIST", bpf_map_update_elem(&phash, &k, &v, BPF_NOEXIST));
	p = bpf_map_lookup_percpu_elem(&phash, &k, 1);
	CHECK("phash other cpu is zero", p ? *p : -1);
	if (p)
		*p = 44;
	v = 4;
	CHECK("phash update again", bpf_map_update_elem(&phash, &k, &v, BPF_EXIST));
	k = 5;
	CHECK("phash missing percpu", bpf_map_lookup_percpu_elem(&phash, &k, 0) == NULL);
	CHECK("phash EXIST missing", bpf_map_update_elem(&phash, &k, &v, BPF_EXIST));
	for (u32 i = 10; i < 14; i++) {
		k = i;
		out[i] = bpf_map_update_elem(&phash, &k, &v, 0);
	}
	CHECK("phash delete", bpf_map_delete_elem(&phash, &k));
	k = 10;
	CHECK("phash delete 10", bpf_map_delete_elem(&phash, &k));
	CHECK("phash_odd", bpf_map_update_elem(&phash_odd, &k16, odd, 0));
	CHECK("phash flags LOCK", bpf_map_update_elem(&phash, &k, &v, BPF_F_LOCK));
	return 0;
}

SEC("syscall") int t_lru(void *ctx)
{
	u32 k = 1;
	u64 v = 10, *p;

	CHECK("lru delete missing", bpf_map_delete_elem(&lru, &k));
	CHECK("lru EXIST missing", bpf_map_update_elem(&lru, &k, &v, BPF_EXIST));
	CHECK("lru update", bpf_map_update_elem(&lru, &k, &v, 0));
	CHECK("lru NOEXIST", bpf_map_update_elem(&lru, &k, &v, BPF_NOEXIST));
	p = bpf_map_lookup_elem(&lru, &k);
	CHECK("lru value", p ? *p : -1);
	k = 2;
	CHECK("lru update 2", bpf_map_update_elem(&lru, &k, &v, 0));
	CHECK("lru delete", bpf_map_delete_elem(&lru, &k));
	CHECK("lru_p update", bpf_map_update_elem(&lru_p, &k, &v, 0));
	p = bpf_map_lookup_percpu_elem(&lru_p, &k, 1);
	CHECK("lru_p cpu 1", p ? *p : -1);
	CHECK("lru_p delete", bpf_map_delete_elem(&lru_p, &k));
	CHECK("lru LOCK", bpf_map_update_elem(&lru, &k, &v, BPF_F_LOCK));
	CHECK("lru flags 3", bpf_map_update_elem(&lru, &k, &v, 3));
	return 0;
}

SEC("tc") int t_lru_evict(struct __sk_buff *ctx)
{
	u64 v = 1;
	u32 k, found = 0;

	for (u32 i = 0; i < 100; i++) {
		k = i;
		if (bpf_map_update_elem(&lru, &k, &v, 0))
			return 1;
	}
	k = 99;
	CHECK("lru has the newest", bpf_map_lookup_elem(&lru, &k) != NULL);
	k = 0;
	CHECK("lru has not the oldest", bpf_map_lookup_elem(&lru, &k) == NULL);
	for (u32 i = 0; i < 100; i++) {
		k = i;
		found += bpf_map_lookup_elem(&lru, &k) != NULL;
	}
	CHECK("lru holds at most its size", found <= 8);
	return 0;
}
CASE({"name": "t_lru_evict", "env_dependent": ["map:lru"]});

SEC("syscall") int t_queue(void *ctx)
{
	u32 v = 1;

	CHECK("pop empty", bpf_map_pop_elem(&queue, &v));
	CHECK("pop empty zeroes", v);
	v = 5;
	CHECK("peek empty", bpf_map_peek_elem(&queue, &v));
	CHECK("peek empty zeroes", v);
	for (u32 i = 1; i < 5; i++) {
		v = i;
		out[i] = bpf_map_push_elem(&queue, &v, 0);
	}
	v = 10;
	CHECK("push full EXIST replaces", bpf_map_push_elem(&queue, &v, BPF_EXIST));
	CHECK("push NOEXIST", bpf_map_push_elem(&queue, &v, BPF_NOEXIST));
	CHECK("push flags 4", bpf_map_push_elem(&queue, &v, 4));
	CHECK("peek", bpf_map_peek_elem(&queue, &v));
	CHECK("peek value", v);
	CHECK("pop", bpf_map_pop_elem(&queue, &v));
	CHECK("pop value", v);
	return 0;
}

SEC("syscall") int t_stack(void *ctx)
{
	u32 v = 1;

	CHECK("stack pop empty", bpf_map_pop_elem(&stack, &v));
	CHECK("stack pop empty value", v);
	for (u32 i = 1; i < 5; i++) {
		v = i;
		out[i] = bpf_map_push_elem(&stack, &v, 0);
	}
	v = 10;
	CHECK("stack push EXIST", bpf_map_push_elem(&stack, &v, BPF_EXIST));
	CHECK("stack push flags 3", bpf_map_push_elem(&stack, &v, 3));
	CHECK("stack peek", bpf_map_peek_elem(&stack, &v));
	CHECK("stack peek value", v);
	CHECK("stack pop", bpf_map_pop_elem(&stack, &v));
	CHECK("stack pop value", v);
	return 0;
}

SEC("tc") int t_bloom(struct __sk_buff *ctx)
{
	u64 v = 1;

	CHECK("bloom peek empty", bpf_map_peek_elem(&bloom, &v));
	CHECK("bloom peek keeps value", v);
	CHECK("bloom push", bpf_map_push_elem(&bloom, &v, 0));
	CHECK("bloom push again", bpf_map_push_elem(&bloom, &v, 0));
	CHECK("bloom peek", bpf_map_peek_elem(&bloom, &v));
	CHECK("bloom push EXIST", bpf_map_push_elem(&bloom, &v, BPF_EXIST));
	CHECK("bloom push NOEXIST", bpf_map_push_elem(&bloom, &v, BPF_NOEXIST));
	v = 2;
	CHECK("bloom peek other", bpf_map_peek_elem(&bloom, &v));
	return 0;
}

#define LPM(n, a, b, c, d) ((struct lpm4){.len = n, .addr = {a, b, c, d}})

SEC("tc") int t_lpm(struct __sk_buff *ctx)
{
	struct lpm4 k = LPM(24, 10, 1, 2, 0);
	u32 v = 24, *p;

	CHECK("lpm lookup empty", bpf_map_lookup_elem(&lpm, &k) == NULL);
	CHECK("lpm update /24", bpf_map_update_elem(&lpm, &k, &v, 0));
	CHECK("lpm update /24 NOEXIST", bpf_map_update_elem(&lpm, &k, &v, BPF_NOEXIST));
	CHECK("lpm update /24 EXIST", bpf_map_update_elem(&lpm, &k, &v, BPF_EXIST));
	k = LPM(8, 10, 9, 9, 9);
	v = 8;
	CHECK("lpm update /8 EXIST missing", bpf_map_update_elem(&lpm, &k, &v, BPF_EXIST));
	CHECK("lpm update /8 dirty bits", bpf_map_update_elem(&lpm, &k, &v, BPF_NOEXIST));
	k = LPM(0, 1, 2, 3, 4);
	v = 100;
	CHECK("lpm update /0", bpf_map_update_elem(&lpm, &k, &v, 0));
	k = LPM(32, 10, 1, 2, 3);
	p = bpf_map_lookup_elem(&lpm, &k);
	CHECK("lpm 10.1.2.3", p ? *p : -1);
	k = LPM(32, 10, 2, 2, 3);
	p = bpf_map_lookup_elem(&lpm, &k);
	CHECK("lpm 10.2.2.3", p ? *p : -1);
	k = LPM(32, 11, 2, 2, 3);
	p = bpf_map_lookup_elem(&lpm, &k);
	CHECK("lpm 11.2.2.3", p ? *p : -1);
	k = LPM(16, 10, 1, 2, 3);
	p = bpf_map_lookup_elem(&lpm, &k);
	CHECK("lpm lookup /16", p ? *p : -1);
	k = LPM(33, 10, 1, 2, 3);
	CHECK("lpm lookup /33", bpf_map_lookup_elem(&lpm, &k) == NULL);
	CHECK("lpm update /33", bpf_map_update_elem(&lpm, &k, &v, 0));
	CHECK("lpm delete /33", bpf_map_delete_elem(&lpm, &k));
	k = LPM(16, 10, 1, 0, 0);
	CHECK("lpm delete missing", bpf_map_delete_elem(&lpm, &k));
	k = LPM(25, 10, 1, 2, 128);
	v = 25;
	CHECK("lpm update /25", bpf_map_update_elem(&lpm, &k, &v, 0));
	k = LPM(24, 10, 1, 2, 0);
	CHECK("lpm delete /24", bpf_map_delete_elem(&lpm, &k));
	k = LPM(32, 10, 1, 2, 200);
	p = bpf_map_lookup_elem(&lpm, &k);
	CHECK("lpm 10.1.2.200", p ? *p : -1);
	k = LPM(32, 10, 1, 2, 3);
	p = bpf_map_lookup_elem(&lpm, &k);
	CHECK("lpm 10.1.2.3 after delete", p ? *p : -1);
	CHECK("lpm flags LOCK", bpf_map_update_elem(&lpm, &k, &v, BPF_F_LOCK));
	CHECK("lpm flags 3", bpf_map_update_elem(&lpm, &k, &v, 3));
	for (u32 i = 0; i < 8; i++) {
		k = LPM(32, 20, 0, 0, i);
		v = i;
		out[i] = bpf_map_update_elem(&lpm, &k, &v, 0);
	}
	k = LPM(32, 20, 0, 0, 1);
	CHECK("lpm update existing when full", bpf_map_update_elem(&lpm, &k, &v, 0));
	CHECK("lpm NOEXIST existing when full", bpf_map_update_elem(&lpm, &k, &v, BPF_NOEXIST));
	return 0;
}

SEC("tc") int t_lpm_odd(struct __sk_buff *ctx)
{
	struct lpm_odd k = {.len = 40, .data = {1, 2, 3, 4, 5}};
	u32 v = 40, *p;

	CHECK("lpm5 update /40", bpf_map_update_elem(&lpm_odd, &k, &v, 0));
	k.len = 33;
	k.data[4] = 0x80;
	v = 33;
	CHECK("lpm5 update /33", bpf_map_update_elem(&lpm_odd, &k, &v, 0));
	k.len = 40;
	k.data[4] = 0x85;
	p = bpf_map_lookup_elem(&lpm_odd, &k);
	CHECK("lpm5 85", p ? *p : -1);
	k.data[4] = 5;
	p = bpf_map_lookup_elem(&lpm_odd, &k);
	CHECK("lpm5 5", p ? *p : -1);
	k.data[4] = 6;
	p = bpf_map_lookup_elem(&lpm_odd, &k);
	CHECK("lpm5 6", p ? *p : -1);
	k.len = 41;
	CHECK("lpm5 update /41", bpf_map_update_elem(&lpm_odd, &k, &v, 0));
	return 0;
}
