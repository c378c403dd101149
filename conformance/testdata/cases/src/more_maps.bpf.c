// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// more_maps: maps in maps changed by programs, program arrays, sizes that are no multiple of anything, user-visible edges.
#include "case.h"

struct inner {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, u32);
	__type(value, u64);
	__uint(max_entries, 2);
} in0 SEC(".maps"), in1 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 3);
	__type(key, u32);
	__array(values, struct inner);
} outer SEC(".maps") = {.values = {[0] = &in0, [2] = &in1}};

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 3);
	__type(key, u32);
	__array(values, struct inner);
} houter SEC(".maps") = {.values = {[5] = &in1}};

struct big {
	u64 v[32];
	u8 tail[3];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct big);
	__type(value, struct big);
	__uint(max_entries, 2);
} bigs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 1);
	__uint(max_entries, 9);
} bytes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 12);
	__uint(max_entries, 2);
} p12 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, u64);
	__type(value, u8);
	__uint(max_entries, 64);
} lru SEC(".maps");

SEC("tc") int t_nested(struct __sk_buff *ctx)
{
	u32 k = 0, ik = 9;
	u64 v = 5, *p;
	void *m;

	for (u32 i = 0; i < 4; i++) {
		k = i;
		m = bpf_map_lookup_elem(&outer, &k);
		out[i] = m != NULL;
		if (!m)
			continue;
		v = i + 100;
		out[10 + i] = bpf_map_update_elem(m, &ik, &v, BPF_NOEXIST);
		out[20 + i] = bpf_map_update_elem(m, &ik, &v, BPF_NOEXIST);
	}
	k = 5;
	m = bpf_map_lookup_elem(&houter, &k);
	CHECK("hash of maps 5", m != NULL);
	if (m) {
		p = bpf_map_lookup_elem(m, &ik);
		CHECK("through the hash of maps", p ? *p : -1);
		CHECK("inner delete", bpf_map_delete_elem(m, &ik));
	}
	k = 6;
	CHECK("hash of maps 6", bpf_map_lookup_elem(&houter, &k) == NULL);
	p = bpf_map_lookup_elem(&in1, &ik);
	CHECK("deleted through the other name", p == NULL);
	p = bpf_map_lookup_elem(&in0, &ik);
	CHECK("in0", p ? *p : -1);
	return 0;
}

struct big key, val;

SEC("syscall") int t_big(void *ctx)
{
	struct big *p;

	key.v[31] = 7;
	key.tail[2] = 1;
	val.v[0] = 3;
	CHECK("big update", bpf_map_update_elem(&bigs, &key, &val, 0));
	key.tail[2] = 2;
	CHECK("big miss", bpf_map_lookup_elem(&bigs, &key) == NULL);
	key.tail[2] = 1;
	p = bpf_map_lookup_elem(&bigs, &key);
	if (p) {
		p->tail[1] = 0xee;
		CHECK("big value", p->v[0]);
	}
	return 0;
}

SEC("syscall") int t_bytes(void *ctx)
{
	u8 *p, v = 3;
	u32 k;

	for (u32 i = 0; i < 9; i++) {
		k = i;
		p = bpf_map_lookup_elem(&bytes, &k);
		if (p)
			*p = i * 17;
	}
	k = 8;
	CHECK("byte update", bpf_map_update_elem(&bytes, &k, &v, 0));
	k = 9;
	CHECK("byte behind", bpf_map_update_elem(&bytes, &k, &v, 0));
	return 0;
}

SEC("syscall") int t_percpu12(void *ctx)
{
	u32 k = 1, *p = bpf_map_lookup_elem(&p12, &k), *q;
	u32 v[3] = {1, 2, 3};

	if (!p)
		return 1;
	p[2] = 9;
	q = bpf_map_lookup_percpu_elem(&p12, &k, 1);
	if (!q)
		return 2;
	q[0] = 5;
	CHECK("12 own", p[0] + p[2]);
	k = 0;
	CHECK("12 update", bpf_map_update_elem(&p12, &k, v, 0));
	p = bpf_map_lookup_elem(&p12, &k);
	CHECK("12 value", p ? p[1] : -1);
	return 0;
}

SEC("tc") int t_lru_order(struct __sk_buff *ctx)
{
	u64 k = 0;
	u8 v = 1;
	u32 n = 0;

	for (u32 i = 0; i < 30; i++) {
		k = i;
		v = i;
		bpf_map_update_elem(&lru, &k, &v, 0);
	}
	k = 3;
	CHECK("lru 3", bpf_map_lookup_elem(&lru, &k) != NULL);
	CHECK("lru delete 3", bpf_map_delete_elem(&lru, &k));
	CHECK("lru EXIST 3", bpf_map_update_elem(&lru, &k, &v, BPF_EXIST));
	return 0;
}

int last(struct __sk_buff *ctx);
int middle(struct __sk_buff *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 4);
	__type(key, u32);
	__array(values, int(struct __sk_buff *));
} progs SEC(".maps") = {.values = {[1] = (void *)&middle, [3] = (void *)&last}};

SEC("tc") int last(struct __sk_buff *ctx)
{
	CHECK("cb in the last", ctx->cb[0]);
	return 3;
}

SEC("tc") int middle(struct __sk_buff *ctx)
{
	ctx->cb[0] += 5;
	bpf_tail_call(ctx, &progs, 3);
	return 2;
}

SEC("tc") int t_tail(struct __sk_buff *ctx)
{
	ctx->cb[0] = 1;
	bpf_tail_call(ctx, &progs, 0);
	CHECK("missing falls through", 1);
	bpf_tail_call(ctx, &progs, 77);
	CHECK("behind falls through", 1);
	bpf_tail_call(ctx, &progs, 1);
	return 9;
}

u64 counter;
static u32 hidden;
const volatile u32 frozen = 12;
u8 in_data[] = {1, 2, 3, 4, 5};
s16 negative = -3;
_Bool flag;
enum color { RED, GREEN = 5 } color = GREEN;
struct {
	u32 a;
	u8 b;
} pair = {7, 8};

SEC("syscall") int t_globals(void *ctx)
{
	counter += frozen;
	hidden++;
	in_data[4] = 9;
	negative *= 2;
	flag = !flag;
	color = RED;
	pair.a += in_data[1];
	CHECK("hidden", hidden);
	return counter;
}
CASE({"name": "globals_twice", "runs": [{"prog": "t_globals"}, {"prog": "t_globals"}]});
CASE({"name": "globals_preset", "globals": {"counter": "ff00000000000000", "in_data": "0a0b0c0d0e", "flag": "01"}, "runs": [{"prog": "t_globals"}]});

struct args {
	u64 a, b;
	u32 ret;
};

SEC("syscall") int t_ctx(struct args *ctx)
{
	ctx->ret = ctx->a * ctx->b;
	ctx->a = 0;
	return ctx->ret;
}
CASE({"name": "ctx_args", "runs": [{"prog": "t_ctx", "ctx": "0700000000000000060000000000000000000000"}]});
CASE({"name": "ctx_default", "runs": [{"prog": "t_ctx"}]});
