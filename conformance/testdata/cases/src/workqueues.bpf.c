// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// workqueues: work items in map values.
#include "case.h"

struct worked {
	u64 count;
	struct bpf_wq w;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, struct worked);
	__uint(max_entries, 2);
} works SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, u32);
	__type(value, struct worked);
	__uint(max_entries, 2);
} hworks SEC(".maps");

u64 order[32];
u32 fired;

static void note(u64 what)
{
	u32 i = fired;

	if (i < ARRAY_SIZE(order))
		order[i] = what;
	fired++;
}

extern int bpf_wq_init(struct bpf_wq *wq, void *map, unsigned int flags) __ksym;
extern int bpf_wq_start(struct bpf_wq *wq, unsigned int flags) __ksym;
extern int bpf_wq_set_callback_impl(struct bpf_wq *wq, int (*cb)(void *map, int *key, void *value), unsigned int flags, void *aux) __ksym;
#define bpf_wq_set_callback(w, cb, f) bpf_wq_set_callback_impl(w, cb, f, NULL)

static int work(void *map, int *key, void *value)
{
	struct worked *w = value;

	w->count++;
	note(600 + *key);
	return 0;
}

static int work_again(void *map, int *key, void *value)
{
	struct worked *w = value;

	w->count++;
	note(700 + *key);
	if (w->count < 3)
		bpf_wq_start(&w->w, 0);
	return 0;
}

SEC("tc") int t_wq(struct __sk_buff *ctx)
{
	u32 k = 0;
	struct worked *w = bpf_map_lookup_elem(&works, &k);

	if (!w)
		return 1;
	CHECK("wq start before init", bpf_wq_start(&w->w, 0));
	CHECK("wq set_callback before init", bpf_wq_set_callback(&w->w, work, 0));
	CHECK("wq init flags", bpf_wq_init(&w->w, &works, 1));
	CHECK("wq init", bpf_wq_init(&w->w, &works, 0));
	CHECK("wq init twice", bpf_wq_init(&w->w, &works, 0));
	CHECK("wq start without callback", bpf_wq_start(&w->w, 0));
	CHECK("wq set_callback flags", bpf_wq_set_callback(&w->w, work, 1));
	CHECK("wq set_callback", bpf_wq_set_callback(&w->w, work, 0));
	CHECK("wq start flags", bpf_wq_start(&w->w, 1));
	CHECK("wq start", bpf_wq_start(&w->w, 0));
	return 0;
}
CASE({"name": "t_wq", "settle_ms": 60});

SEC("tc") int t_wq_again(struct __sk_buff *ctx)
{
	struct worked init = {};
	struct worked *w;
	u32 k = 1;

	bpf_map_update_elem(&hworks, &k, &init, 0);
	w = bpf_map_lookup_elem(&hworks, &k);
	if (!w)
		return 1;
	bpf_wq_init(&w->w, &hworks, 0);
	bpf_wq_set_callback(&w->w, work_again, 0);
	CHECK("wq again start", bpf_wq_start(&w->w, 0));
	return 0;
}
CASE({"name": "t_wq_again", "settle_ms": 60});

SEC("syscall") int t_wq_sleepable(void *ctx)
{
	struct worked init = {.count = 5};
	struct worked *w;
	u32 k = 1;

	bpf_map_update_elem(&hworks, &k, &init, 0);
	w = bpf_map_lookup_elem(&hworks, &k);
	if (!w)
		return 1;
	CHECK("hwq init", bpf_wq_init(&w->w, &hworks, 0));
	CHECK("hwq set_callback", bpf_wq_set_callback(&w->w, work, 0));
	CHECK("hwq start", bpf_wq_start(&w->w, 0));
	return 0;
}
CASE({"name": "t_wq_sleepable", "settle_ms": 60});
