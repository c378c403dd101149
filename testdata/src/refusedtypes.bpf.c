// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// refusedtypes: BTF that kernels refuse from 6.2 on (struct queue has a list head, but no lock), in an object that does not use it. libbpf loads the
// programs without BTF, and kernels refuse what needs it. The first programs do not; the others do.
#include "types.h"
#include <bpf/bpf_helpers.h>

struct bpf_timer {
	__u64 opaque[2];
} __attribute__((aligned(8)));

struct bpf_list_head {
	__u64 opaque[2];
} __attribute__((aligned(8)));

struct bpf_list_node {
	__u64 opaque[3];
} __attribute__((aligned(8)));

struct bpf_spin_lock {
	__u32 val;
};

struct item {
	struct bpf_list_node node;
	__u64 value;
};

struct queue {
	struct bpf_list_head head __attribute__((btf_decl_tag("contains:item:node")));
};

struct queue *unused;

struct locked {
	struct bpf_spin_lock lock;
	__u32 value;
};

struct timed {
	struct bpf_timer timer;
	__u64 fired;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct locked);
} locks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct timed);
} timers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4);
} jumps SEC(".maps");

static __attribute__((noinline)) int twice(struct __sk_buff *skb)
{
	return skb->len * 2;
}

static __attribute__((noinline)) int jump(struct __sk_buff *skb)
{
	bpf_tail_call(skb, &jumps, 0);
	return skb->mark;
}

static int count(__u32 i, void *ctx)
{
	*(__u64 *)ctx += i;
	return 0;
}

SEC("tc")
int calls(struct __sk_buff *skb)
{
	return twice(skb);
}

SEC("tc")
int writes(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct timed *t = bpf_map_lookup_elem(&timers, &zero);

	if (t)
		t->timer.opaque[0] = 1; // to a kernel without types it is memory
	return 0;
}

SEC("tc")
int locking(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct locked *l = bpf_map_lookup_elem(&locks, &zero);

	if (!l)
		return 0;
	bpf_spin_lock(&l->lock);
	l->value++;
	bpf_spin_unlock(&l->lock);
	return 0;
}

SEC("tc")
int timing(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct timed *t = bpf_map_lookup_elem(&timers, &zero);

	if (t)
		bpf_timer_init(&t->timer, &timers, 1);
	return 0;
}

SEC("tc")
int jumping(struct __sk_buff *skb)
{
	return jump(skb);
}

SEC("tc")
int looping(struct __sk_buff *skb)
{
	__u64 sum = 0;

	bpf_loop(4, count, &sum, 0);
	return sum;
}

char _license[] SEC("license") = "GPL";
