// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// special: fields with a meaning in map values: spin locks and timers; callbacks in order.
#include "case.h"

#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 1
#define CLOCK_BOOTTIME 7

struct locked {
	u64 before;
	struct bpf_spin_lock lock;
	u32 after;
};

struct timed {
	u64 count;
	struct bpf_timer t;
	u64 last;
};

struct both {
	struct bpf_spin_lock lock;
	u32 v;
	struct bpf_timer t;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, struct locked);
	__uint(max_entries, 2);
} lock_arr SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, u32);
	__type(value, struct locked);
	__uint(max_entries, 2);
} lock_hash SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, struct timed);
	__uint(max_entries, 4);
} timers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, u32);
	__type(value, struct timed);
	__uint(max_entries, 4);
} htimers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, u32);
	__type(value, struct timed);
	__uint(max_entries, 4);
} lru_timers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, u32);
	__type(value, struct both);
	__uint(max_entries, 2);
} boths SEC(".maps");

private(A) struct bpf_spin_lock glock;
u64 guarded;

u64 order[32];
u32 fired;

static void note(u64 what)
{
	u32 i = fired;

	if (i < ARRAY_SIZE(order))
		order[i] = what;
	fired++;
}

SEC("tc") int t_spin_lock(struct __sk_buff *ctx)
{
	u32 k = 0;
	struct locked v = {.before = 7, .after = 9}, *p;

	CHECK("array update with lock", bpf_map_update_elem(&lock_arr, &k, &v, BPF_F_LOCK));
	CHECK("array update without", bpf_map_update_elem(&lock_arr, &k, &v, 0));
	CHECK("array NOEXIST with lock", bpf_map_update_elem(&lock_arr, &k, &v, BPF_NOEXIST | BPF_F_LOCK));
	p = bpf_map_lookup_elem(&lock_arr, &k);
	if (p) {
		bpf_spin_lock(&p->lock);
		p->before += p->after;
		bpf_spin_unlock(&p->lock);
		CHECK("locked sum", p->before);
	}
	CHECK("hash update with lock", bpf_map_update_elem(&lock_hash, &k, &v, BPF_F_LOCK));
	v.before = 70;
	CHECK("hash update with lock again", bpf_map_update_elem(&lock_hash, &k, &v, BPF_F_LOCK));
	CHECK("hash NOEXIST with lock", bpf_map_update_elem(&lock_hash, &k, &v, BPF_NOEXIST | BPF_F_LOCK));
	CHECK("hash EXIST with lock", bpf_map_update_elem(&lock_hash, &k, &v, BPF_EXIST | BPF_F_LOCK));
	k = 1;
	CHECK("hash EXIST missing with lock", bpf_map_update_elem(&lock_hash, &k, &v, BPF_EXIST | BPF_F_LOCK));
	bpf_spin_lock(&glock);
	guarded += 5;
	bpf_spin_unlock(&glock);
	return 0;
}

static int tick(void *map, u32 *key, struct timed *v)
{
	v->count++;
	note(100 + *key);
	return 0;
}

static int again(void *map, u32 *key, struct timed *v)
{
	v->count++;
	note(200 + *key);
	if (v->count < 4)
		v->last = bpf_timer_start(&v->t, 1000000, 0);
	return 0;
}

static int cancels_itself(void *map, u32 *key, struct timed *v)
{
	v->count++;
	v->last = bpf_timer_cancel(&v->t);
	note(300 + *key);
	return 0;
}

static int deletes(void *map, u32 *key, struct timed *v)
{
	note(400 + *key);
	v->last = bpf_map_delete_elem(map, key);
	note((u64)v->last);
	return 0;
}

static int returns_one(void *map, u32 *key, struct timed *v)
{
	v->count += 10;
	bpf_timer_set_callback(&v->t, tick);
	bpf_timer_start(&v->t, 2000000, 0);
	note(500 + *key);
	return 0;
}

SEC("tc") int t_timer_errors(struct __sk_buff *ctx)
{
	u32 k = 0;
	struct timed *v = bpf_map_lookup_elem(&timers, &k);

	if (!v)
		return 1;
	CHECK("set_callback before init", bpf_timer_set_callback(&v->t, tick));
	CHECK("start before init", bpf_timer_start(&v->t, 1000, 0));
	CHECK("cancel before init", bpf_timer_cancel(&v->t));
	CHECK("init bad clock", bpf_timer_init(&v->t, &timers, 2));
	CHECK("init clock 15", bpf_timer_init(&v->t, &timers, 15));
	CHECK("init clock 16 flag", bpf_timer_init(&v->t, &timers, 16 + 1));
	CHECK("init", bpf_timer_init(&v->t, &timers, CLOCK_MONOTONIC));
	CHECK("init twice", bpf_timer_init(&v->t, &timers, CLOCK_MONOTONIC));
	CHECK("start without callback", bpf_timer_start(&v->t, 1000, 0));
	CHECK("cancel idle", bpf_timer_cancel(&v->t));
	CHECK("set_callback", bpf_timer_set_callback(&v->t, tick));
	CHECK("start flags 4", bpf_timer_start(&v->t, 1000, 4));
	CHECK("start", bpf_timer_start(&v->t, 100000000000, 0));
	CHECK("start again", bpf_timer_start(&v->t, 100000000000, 0));
	CHECK("cancel armed", bpf_timer_cancel(&v->t));
	CHECK("cancel again", bpf_timer_cancel(&v->t));
	CHECK("start after cancel", bpf_timer_start(&v->t, 100000000000, 0));
	CHECK("set_callback after cancel", bpf_timer_set_callback(&v->t, again));
	CHECK("start with a callback again", bpf_timer_start(&v->t, 100000000000, 1));
	return 0;
}

SEC("tc") int t_timer_clocks(struct __sk_buff *ctx)
{
	const int clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME, 11};

#pragma unroll
	for (int i = 0; i < 4; i++) {
		u32 k = i;
		struct timed *v = bpf_map_lookup_elem(&timers, &k);

		if (!v)
			return 1;
		out[i] = bpf_timer_init(&v->t, &timers, clocks[i]);
		out[4 + i] = bpf_timer_set_callback(&v->t, tick);
		out[8 + i] = bpf_timer_start(&v->t, (4 - i) * 5000000, 0);
	}
	return 0;
}
CASE({"name": "t_timer_clocks", "settle_ms": 60});

SEC("tc") int t_timer_rearm(struct __sk_buff *ctx)
{
	u32 k = 1;
	struct timed *v = bpf_map_lookup_elem(&timers, &k);

	if (!v)
		return 1;
	bpf_timer_init(&v->t, &timers, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&v->t, again);
	CHECK("rearm start", bpf_timer_start(&v->t, 1000000, 0));
	return 0;
}
CASE({"name": "t_timer_rearm", "settle_ms": 60});

SEC("tc") int t_timer_self_cancel(struct __sk_buff *ctx)
{
	u32 k = 2;
	struct timed *v = bpf_map_lookup_elem(&timers, &k);

	if (!v)
		return 1;
	bpf_timer_init(&v->t, &timers, CLOCK_BOOTTIME);
	bpf_timer_set_callback(&v->t, cancels_itself);
	CHECK("self cancel start", bpf_timer_start(&v->t, 0, 0));
	return 0;
}
CASE({"name": "t_timer_self_cancel", "settle_ms": 50});

SEC("tc") int t_timer_hash(struct __sk_buff *ctx)
{
	struct timed init = {.count = 1};
	struct timed *v;
	u32 k = 5;

	CHECK("hash elem", bpf_map_update_elem(&htimers, &k, &init, 0));
	v = bpf_map_lookup_elem(&htimers, &k);
	if (!v)
		return 1;
	CHECK("htimer init", bpf_timer_init(&v->t, &htimers, CLOCK_MONOTONIC));
	bpf_timer_set_callback(&v->t, deletes);
	CHECK("htimer start", bpf_timer_start(&v->t, 3000000, 0));
	k = 6;
	CHECK("hash elem 2", bpf_map_update_elem(&htimers, &k, &init, 0));
	v = bpf_map_lookup_elem(&htimers, &k);
	if (!v)
		return 1;
	bpf_timer_init(&v->t, &htimers, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&v->t, returns_one);
	CHECK("htimer 2 start", bpf_timer_start(&v->t, 8000000, 0));
	k = 7;
	bpf_map_update_elem(&htimers, &k, &init, 0);
	v = bpf_map_lookup_elem(&htimers, &k);
	if (!v)
		return 1;
	bpf_timer_init(&v->t, &htimers, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&v->t, tick);
	bpf_timer_start(&v->t, 20000000, 0);
	CHECK("delete armed", bpf_map_delete_elem(&htimers, &k));
	return 0;
}
CASE({"name": "t_timer_hash", "settle_ms": 80});

SEC("tc") int t_timer_update_keeps(struct __sk_buff *ctx)
{
	struct timed init = {.count = 1};
	struct timed *v;
	u32 k = 1;

	v = bpf_map_lookup_elem(&timers, &k);
	if (!v)
		return 1;
	bpf_timer_init(&v->t, &timers, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&v->t, tick);
	bpf_timer_start(&v->t, 5000000, 0);
	init.count = 50;
	/* Array: an update cancels the timer (check_and_free_fields). */
	CHECK("update array elem", bpf_map_update_elem(&timers, &k, &init, 0));
	CHECK("cancel after update", bpf_timer_cancel(&v->t));
	bpf_map_update_elem(&htimers, &k, &init, 0);
	v = bpf_map_lookup_elem(&htimers, &k);
	if (!v)
		return 1;
	bpf_timer_init(&v->t, &htimers, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&v->t, tick);
	bpf_timer_start(&v->t, 5000000, 0);
	init.count = 60;
	CHECK("update hash elem", bpf_map_update_elem(&htimers, &k, &init, 0));
	v = bpf_map_lookup_elem(&htimers, &k);
	if (v)
		CHECK("cancel after hash update", bpf_timer_cancel(&v->t));
	return 0;
}
CASE({"name": "t_timer_update_keeps", "settle_ms": 40});

SEC("tc") int t_timer_lru(struct __sk_buff *ctx)
{
	struct timed init = {};
	struct timed *v;
	u32 k = 1;

	bpf_map_update_elem(&lru_timers, &k, &init, 0);
	v = bpf_map_lookup_elem(&lru_timers, &k);
	if (!v)
		return 1;
	CHECK("lru init", bpf_timer_init(&v->t, &lru_timers, CLOCK_MONOTONIC));
	bpf_timer_set_callback(&v->t, tick);
	CHECK("lru start", bpf_timer_start(&v->t, 5000000, 1));
	return 0;
}
CASE({"name": "t_timer_lru", "settle_ms": 40});

SEC("tc") int t_timer_abs(struct __sk_buff *ctx)
{
	u32 k = 0;
	struct timed *v = bpf_map_lookup_elem(&timers, &k);

	if (!v)
		return 1;
	bpf_timer_init(&v->t, &timers, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&v->t, tick);
	CHECK("start abs in the past", bpf_timer_start(&v->t, 1000, BPF_F_TIMER_ABS));
	k = 1;
	v = bpf_map_lookup_elem(&timers, &k);
	if (!v)
		return 1;
	bpf_timer_init(&v->t, &timers, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&v->t, tick);
	CHECK("start abs in the future", bpf_timer_start(&v->t, bpf_ktime_get_ns() + 10000000, BPF_F_TIMER_ABS));
	k = 2;
	v = bpf_map_lookup_elem(&timers, &k);
	if (!v)
		return 1;
	bpf_timer_init(&v->t, &timers, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&v->t, tick);
	CHECK("start abs far", bpf_timer_start(&v->t, bpf_ktime_get_ns() + 100000000000, BPF_F_TIMER_ABS | BPF_F_TIMER_CPU_PIN));
	return 0;
}
CASE({"name": "t_timer_abs", "settle_ms": 60});

SEC("tc") int t_lock_and_timer(struct __sk_buff *ctx)
{
	struct both init = {.v = 3}, *b;
	u32 k = 1;

	CHECK("both update", bpf_map_update_elem(&boths, &k, &init, 0));
	b = bpf_map_lookup_elem(&boths, &k);
	if (!b)
		return 1;
	CHECK("both init", bpf_timer_init(&b->t, &boths, CLOCK_MONOTONIC));
	bpf_spin_lock(&b->lock);
	b->v *= 2;
	bpf_spin_unlock(&b->lock);
	CHECK("both v", b->v);
	CHECK("both update with lock", bpf_map_update_elem(&boths, &k, &init, BPF_F_LOCK));
	CHECK("both init after", bpf_timer_init(&b->t, &boths, CLOCK_MONOTONIC));
	return 0;
}

/* Runs of one case share maps: the second run finds the timer of the first. */
SEC("tc") int timer_first(struct __sk_buff *ctx)
{
	u32 k = 3;
	struct timed *v = bpf_map_lookup_elem(&timers, &k);

	if (!v)
		return 1;
	bpf_timer_init(&v->t, &timers, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&v->t, tick);
	return bpf_timer_start(&v->t, 30000000000, 0);
}

SEC("tc") int timer_second(struct __sk_buff *ctx)
{
	u32 k = 3;
	struct timed *v = bpf_map_lookup_elem(&timers, &k);

	if (!v)
		return 1;
	CHECK("second: init", bpf_timer_init(&v->t, &timers, CLOCK_MONOTONIC));
	CHECK("second: cancel", bpf_timer_cancel(&v->t));
	CHECK("second: restart", bpf_timer_start(&v->t, 0, 0));
	return 2;
}
CASE({"name": "timer_two_runs", "runs": [{"prog": "timer_first"}, {"prog": "timer_second"}], "settle_ms": 50});
