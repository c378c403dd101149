// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// callbacks: bpf_loop, bpf_for_each_map_elem, bpf_find_vma, user ring buffer: order, early end, return values.
#include "case.h"

#define MAP(name, kind, ktype, vtype, n, f)  \
	struct {                             \
		__uint(type, kind);          \
		__type(key, ktype);          \
		__type(value, vtype);        \
		__uint(max_entries, n);      \
		__uint(map_flags, f);        \
	} name SEC(".maps")

MAP(arr, BPF_MAP_TYPE_ARRAY, u32, u64, 5, 0);
MAP(parr, BPF_MAP_TYPE_PERCPU_ARRAY, u32, u64, 3, 0);
MAP(hash, BPF_MAP_TYPE_HASH, u32, u64, 8, 0);
MAP(phash, BPF_MAP_TYPE_PERCPU_HASH, u32, u64, 8, 0);
MAP(lru, BPF_MAP_TYPE_LRU_HASH, u32, u64, 8, 0);

struct state {
	u64 n, sum;
	u32 stop;
};

static long count(u64 i, struct state *s)
{
	s->n++;
	s->sum += i;
	return s->stop && i + 1 == s->stop;
}

static long inner(u32 i, u64 *n)
{
	*n += i;
	return 0;
}

static long outer(u32 i, u64 *n)
{
	bpf_loop(i, inner, n, 0);
	return 0;
}

SEC("tc") int t_loop(struct __sk_buff *ctx)
{
	struct state s = {};
	u64 n = 0;

	CHECK("loop 0", bpf_loop(0, count, &s, 0));
	CHECK("loop 10", bpf_loop(10, count, &s, 0));
	CHECK("loop 10 sum", s.sum);
	s.stop = 4;
	s.n = 0;
	CHECK("loop stops", bpf_loop(10, count, &s, 0));
	CHECK("loop stops n", s.n);
	s.stop = 0;
	CHECK("loop flags", bpf_loop(1, count, &s, 1));
	CHECK("loop too many", bpf_loop((1 << 23) + 1, count, &s, 0));
	CHECK("loop nested", bpf_loop(6, outer, &n, 0));
	CHECK("loop nested sum", n);
	return 0;
}

static long each_arr(struct bpf_map *map, u32 *key, u64 *val, struct state *s)
{
	s->n = s->n * 10 + *key + 1;
	s->sum += *val;
	*val += 1000;
	return s->stop && *key + 1 == s->stop;
}

SEC("tc") int t_for_each_array(struct __sk_buff *ctx)
{
	struct state s = {};

	for (u32 i = 0; i < 5; i++) {
		u64 v = i * 3;
		u32 k = i;

		bpf_map_update_elem(&arr, &k, &v, 0);
	}
	CHECK("for_each array", bpf_for_each_map_elem(&arr, each_arr, &s, 0));
	CHECK("for_each array order", s.n);
	CHECK("for_each array sum", s.sum);
	s.stop = 3;
	s.n = 0;
	CHECK("for_each array stop", bpf_for_each_map_elem(&arr, each_arr, &s, 0));
	CHECK("for_each array stop order", s.n);
	CHECK("for_each flags", bpf_for_each_map_elem(&arr, each_arr, &s, 1));
	s.n = s.stop = 0;
	CHECK("for_each percpu array", bpf_for_each_map_elem(&parr, each_arr, &s, 0));
	CHECK("for_each percpu array order", s.n);
	return 0;
}

static long each_hash(struct bpf_map *map, u32 *key, u64 *val, struct state *s)
{
	s->n++;
	s->sum += *key * 100 + *val;
	if (s->stop && *key == s->stop)
		bpf_map_delete_elem(map, key);
	return 0;
}

static long stop_hash(struct bpf_map *map, u32 *key, u64 *val, struct state *s)
{
	s->n++;
	return 1;
}

static long bad_return(struct bpf_map *map, u32 *key, u64 *val, struct state *s)
{
	s->n++;
	return s->n == 2;
}

SEC("tc") int t_for_each_hash(struct __sk_buff *ctx)
{
	struct state s = {};

	CHECK("for_each empty hash", bpf_for_each_map_elem(&hash, each_hash, &s, 0));
	for (u32 i = 0; i < 6; i++) {
		u64 v = i;
		u32 k = i * 7;

		bpf_map_update_elem(&hash, &k, &v, 0);
		bpf_map_update_elem(&phash, &k, &v, 0);
		bpf_map_update_elem(&lru, &k, &v, 0);
	}
	CHECK("for_each hash", bpf_for_each_map_elem(&hash, each_hash, &s, 0));
	CHECK("for_each hash sum", s.sum);
	s.stop = 14;
	CHECK("for_each hash deletes", bpf_for_each_map_elem(&hash, each_hash, &s, 0));
	s.stop = 0;
	s.n = 0;
	CHECK("for_each hash after delete", bpf_for_each_map_elem(&hash, each_hash, &s, 0));
	CHECK("for_each hash stop", bpf_for_each_map_elem(&hash, stop_hash, &s, 0));
	s.n = 0;
	CHECK("for_each hash stops at 2", bpf_for_each_map_elem(&hash, bad_return, &s, 0));
	CHECK("for_each percpu hash", bpf_for_each_map_elem(&phash, each_hash, &s, 0));
	CHECK("for_each lru", bpf_for_each_map_elem(&lru, each_hash, &s, 0));
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_USER_RINGBUF);
	__uint(max_entries, 4096);
} uring SEC(".maps");

u64 seen[16];
u32 nseen;

static long drain(struct bpf_dynptr *d, void *arg)
{
	u64 v = 0;
	u32 i = nseen;

	if (bpf_dynptr_read(&v, 4, d, 0, 0))
		v = 0xdead;
	v |= (u64)bpf_dynptr_read(&v, 1, d, 1000, 0) << 32 & 0xff00000000;
	if (i < ARRAY_SIZE(seen))
		seen[i] = v;
	nseen++;
	return arg && *(u32 *)arg == nseen;
}

SEC("syscall") int t_user_ringbuf(void *ctx)
{
	u32 stop = 2;

	CHECK("drain flags", bpf_user_ringbuf_drain(&uring, drain, &stop, 4));
	CHECK("drain 2", bpf_user_ringbuf_drain(&uring, drain, &stop, 0));
	stop = 0;
	CHECK("drain rest", bpf_user_ringbuf_drain(&uring, drain, &stop, BPF_RB_NO_WAKEUP));
	CHECK("drain empty", bpf_user_ringbuf_drain(&uring, drain, &stop, BPF_RB_FORCE_WAKEUP));
	return 0;
}
CASE({"name": "t_user_ringbuf", "user_ringbuf": [
	{"map": "uring", "sample": "01020304"}, {"map": "uring", "sample": "0506070809"}, {"map": "uring", "sample": "aabb"},
	{"map": "uring", "sample": "1112131415161718"}]});

SEC("tc") int t_user_ringbuf_tc(struct __sk_buff *ctx)
{
	CHECK("tc drain empty", bpf_user_ringbuf_drain(&uring, drain, NULL, 0));
	return 0;
}

/* A subprogram called by pointer and a global function. */
__noinline int global_fn(u32 a, u32 b)
{
	return a * 3 + b;
}

static __noinline u64 deep(u64 n)
{
	u64 pad[8] = {n, n + 1};

	barrier_var(n);
	return pad[n & 1] + global_fn(n, 1);
}

SEC("tc") int t_subprograms(struct __sk_buff *ctx)
{
	CHECK("static subprogram", deep(ctx->len));
	CHECK("global function", global_fn(ctx->len, 7));
	return global_fn(1, 1);
}
