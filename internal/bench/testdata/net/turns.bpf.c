// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// turns: loops of 1,000 turns that helpers and kfuncs make, 32 tail calls, and loops of 1,000 turns with a call of a helper, the last one for a task's storage. A turn does next to nothing.
#include "types.h"
#include <bpf/bpf_helpers.h>

#define TURNS 1000
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1

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

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u64);
} recent SEC(".maps");

struct key6 {
	__u32 length;
	__u32 data[4];
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 64);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct key6);
	__type(value, __u64);
} routes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} events SEC(".maps");

struct bpf_spin_lock {
	__u32 val;
};

struct locked {
	struct bpf_spin_lock lock;
	__u32 beside;
	__u64 n;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct locked);
} guarded SEC(".maps");

SEC("tc")
int lru_adds(void *ctx)
{
	__u64 one = 1;

	for (__u32 key = 0; key < 16; key++)
		bpf_map_update_elem(&recent, &key, &one, BPF_ANY);
	for (int n = 0; n < TURNS; n++) {
		__u32 key = n & 15;
		__u64 *value = bpf_map_lookup_elem(&recent, &key);

		if (value)
			*value += 1;
	}
	return 0;
}

SEC("tc")
int trie_adds(void *ctx)
{
	struct key6 key = { .length = 64, .data = { 1, 2 } };
	__u64 one = 1;

	bpf_map_update_elem(&routes, &key, &one, BPF_ANY);
	key.length = 128;
	for (int n = 0; n < TURNS; n++) {
		__u64 *value;

		key.data[3] = n;
		value = bpf_map_lookup_elem(&routes, &key);
		if (value)
			*value += 1;
	}
	return 0;
}

SEC("tc")
int ringbuf_turns(void *ctx)
{
	for (int n = 0; n < TURNS; n++) {
		__u64 *record = bpf_ringbuf_reserve(&events, sizeof(*record), 0);

		if (record) {
			*record = n;
			bpf_ringbuf_discard(record, 0);
		}
	}
	return 0;
}

struct sample {
	__u64 time, n;
	__u32 kind, size;
};

SEC("tc")
int submit_turns(void *ctx)
{
	for (int n = 0; n < TURNS; n++) {
		struct sample *s = bpf_ringbuf_reserve(&events, sizeof(*s), 0);

		if (s) {
			s->time = s->n = n;
			s->kind = 1;
			s->size = sizeof(*s);
			bpf_ringbuf_submit(s, 0);
		}
	}
	return 0;
}

SEC("tc")
int lock_turns(void *ctx)
{
	__u32 key = 0;
	struct locked *value = bpf_map_lookup_elem(&guarded, &key);

	if (!value)
		return 1;
	for (int n = 0; n < TURNS; n++) {
		bpf_spin_lock(&value->lock);
		value->n++;
		bpf_spin_unlock(&value->lock);
	}
	return 0;
}

SEC("tc")
int lock_beside_turns(void *ctx)
{
	__u32 key = 0;
	struct locked *value = bpf_map_lookup_elem(&guarded, &key);

	if (!value)
		return 1;
	for (int n = 0; n < TURNS; n++) {
		bpf_spin_lock(&value->lock);
		value->beside++;
		bpf_spin_unlock(&value->lock);
	}
	return 0;
}

SEC("tc")
int update_turns(void *ctx)
{
	for (int n = 0; n < TURNS; n++) {
		__u32 key = n & 15;
		__u64 value = n;

		bpf_map_update_elem(&elements, &key, &value, BPF_ANY);
	}
	return 0;
}

SEC("tc")
int random_turns(void *ctx)
{
	__u32 sum = 0;

	for (int n = 0; n < TURNS; n++)
		sum += bpf_get_prandom_u32();
	return sum;
}

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64);
} stored SEC(".maps");

SEC("tp_btf/sched_switch")
int storage_turns(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	for (int n = 0; n < TURNS; n++) {
		__u64 *value = bpf_task_storage_get(&stored, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

		if (value)
			*value += 1;
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
