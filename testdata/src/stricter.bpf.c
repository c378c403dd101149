// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// stricter: programs that kernels began to refuse: slices of packet metadata after a write, results of functions that return nothing, exceptions of global
// functions out of the program's range, contexts with an offset, constants for arguments that are not null, kernel objects as memory to write, nodes at
// an offset. Those named ok_ are accepted neighbours.
#include "types.h"
#include <bpf/bpf_helpers.h>

#define ksym extern __attribute__((section(".ksyms")))
#define alone __attribute__((noinline))
#define tagged(t) __attribute__((btf_decl_tag(t)))
#define data(name) SEC(".bss." #name) __attribute__((visibility("hidden"), aligned(8)))

struct bpf_dynptr {
	__u64 opaque[2];
} __attribute__((aligned(8)));

struct bpf_list_head {
	__u64 opaque[2];
} __attribute__((aligned(8)));

struct bpf_list_node {
	__u64 opaque[3];
} __attribute__((aligned(8)));

struct bpf_refcount {
	__u32 opaque[1];
} __attribute__((aligned(4)));

struct bpf_spin_lock {
	__u32 val;
};

struct item {
	__u64 value;
	struct bpf_list_node node;
	struct bpf_refcount refs;
};

struct task_struct {
	char comm[16];
} __attribute__((preserve_access_index));

ksym int bpf_dynptr_from_skb(struct __sk_buff *skb, __u64 flags, struct bpf_dynptr *ptr);
ksym int bpf_dynptr_from_skb_meta(struct __sk_buff *skb, __u64 flags, struct bpf_dynptr *ptr);
ksym void *bpf_dynptr_slice(const struct bpf_dynptr *ptr, __u64 off, void *buf, __u64 len);
ksym void bpf_throw(__u64 cookie);
ksym struct bpf_list_node *bpf_list_pop_front(struct bpf_list_head *head);
ksym void *bpf_refcount_acquire_impl(void *obj, void *meta);
ksym void bpf_obj_drop_impl(void *obj, void *meta);
ksym int bpf_modify_return_test(int a, int *b);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4);
} jumps SEC(".maps");

data(A) struct bpf_spin_lock lock;
data(A) struct bpf_list_head list tagged("contains:item:node");

struct item *described; // its type has to be among those of the object

__u64 sink;

#define META(name, between)                                                                                                                                  \
	SEC("tc")                                                                                                                                            \
	int name(struct __sk_buff *skb)                                                                                                                      \
	{                                                                                                                                                    \
		struct bpf_dynptr meta, packet;                                                                                                              \
		__u32 word = 7, *p;                                                                                                                          \
                                                                                                                                                             \
		bpf_dynptr_from_skb(skb, 0, &packet);                                                                                                        \
		bpf_dynptr_from_skb_meta(skb, 0, &meta);                                                                                                     \
		p = bpf_dynptr_slice(&meta, 0, 0, 4);                                                                                                        \
		if (!p)                                                                                                                                      \
			return 0;                                                                                                                            \
		between;                                                                                                                                     \
		return *p;                                                                                                                                   \
	}

META(ok_meta, bpf_skb_load_bytes(skb, 0, &word, 4))
META(meta_written, bpf_dynptr_write(&meta, 0, &word, 4, 0))
META(meta_payload, bpf_dynptr_write(&packet, 0, &word, 4, 0))
META(meta_pulled, bpf_skb_pull_data(skb, 0))

alone void nothing(__u64 x)
{
	sink = x;
}

SEC("tc")
int ok_nothing(struct __sk_buff *skb)
{
	nothing(1);
	return 0;
}

SEC("tc")
int nothing_used(struct __sk_buff *skb)
{
	__u64 x;

	nothing(1);
	asm volatile("r1 = 1; call nothing; %0 = r0" : "=r"(x) : : "r0", "r1", "r2", "r3", "r4", "r5");
	return x;
}

alone int throw_one(__u64 x)
{
	if (x)
		bpf_throw(1);
	return 0;
}

alone int throw_five(__u64 x)
{
	if (x)
		bpf_throw(5);
	return 0;
}

SEC("cgroup_skb/ingress")
int ok_throws(struct __sk_buff *skb)
{
	throw_one(skb->len);
	return 1;
}

SEC("cgroup_skb/ingress")
int throws(struct __sk_buff *skb)
{
	throw_five(skb->len);
	return 1;
}

alone int takes_context(void *ctx tagged("arg:ctx"))
{
	return ctx != 0;
}

SEC("syscall")
int ok_context(void *ctx)
{
	return takes_context(ctx);
}

SEC("syscall")
int context(void *ctx)
{
	return takes_context(ctx + 8);
}

SEC("syscall")
int ok_jumps(void *ctx)
{
	bpf_tail_call(ctx, &jumps, 0);
	return 0;
}

SEC("syscall")
int jumping(void *ctx)
{
	bpf_tail_call(ctx + 8, &jumps, 0);
	return 0;
}

alone int takes_value(__u64 *v tagged("arg:nonnull"))
{
	return *v;
}

SEC("tc")
int ok_value(struct __sk_buff *skb)
{
	__u64 v = skb->len;

	return takes_value(&v);
}

SEC("tc")
int null_value(struct __sk_buff *skb)
{
	return takes_value(0);
}

alone int takes_packet(struct __sk_buff *skb, __u32 *p)
{
	if (!p)
		return 0;
	bpf_skb_pull_data(skb, 0);
	return 1;
}

alone int reads_packet(struct __sk_buff *skb, __u32 *p)
{
	return p ? *p + skb->len : 0;
}

SEC("tc")
int ok_packet(struct __sk_buff *skb)
{
	__u32 *p = (void *)(long)skb->data;

	if ((void *)(p + 1) > (void *)(long)skb->data_end)
		return 0;
	return reads_packet(skb, p);
}

SEC("tc")
int packet(struct __sk_buff *skb)
{
	__u32 *p = (void *)(long)skb->data;

	if ((void *)(p + 1) > (void *)(long)skb->data_end)
		return 0;
	return takes_packet(skb, p);
}

SEC("tp_btf/sched_switch")
int ok_object(__u64 *ctx)
{
	struct task_struct *t = (void *)ctx[1];

	return bpf_strncmp(t->comm, 16, "idle");
}

SEC("tp_btf/sched_switch")
int object(__u64 *ctx)
{
	struct task_struct *t = (void *)ctx[1];

	bpf_get_current_comm(t->comm, 16);
	return 0;
}

struct name {
	char text[16];
};

alone int takes_name(struct name *n)
{
	return n ? n->text[0] : 0;
}

SEC("tp_btf/sched_switch")
int ok_name(__u64 *ctx)
{
	struct name n = {};

	return takes_name(&n);
}

SEC("tp_btf/sched_switch")
int name(__u64 *ctx)
{
	struct task_struct *t = (void *)ctx[1];

	return takes_name((void *)t->comm);
}

#define POPPED(name, of)                                                                                                                                     \
	SEC("tc")                                                                                                                                            \
	int name(struct __sk_buff *skb)                                                                                                                      \
	{                                                                                                                                                    \
		struct bpf_list_node *n;                                                                                                                     \
		struct item *x, *y;                                                                                                                          \
                                                                                                                                                             \
		bpf_spin_lock(&lock);                                                                                                                        \
		n = bpf_list_pop_front(&list);                                                                                                               \
		bpf_spin_unlock(&lock);                                                                                                                      \
		if (!n)                                                                                                                                      \
			return 0;                                                                                                                            \
		x = (void *)n - __builtin_offsetof(struct item, node);                                                                                       \
		y = bpf_refcount_acquire_impl(of, 0);                                                                                                        \
		if (y)                                                                                                                                       \
			bpf_obj_drop_impl(y, 0);                                                                                                             \
		bpf_obj_drop_impl(x, 0);                                                                                                                     \
		return 0;                                                                                                                                    \
	}

POPPED(ok_node, x)
POPPED(node, n)

SEC("tc")
int traced_only(struct __sk_buff *skb)
{
	int b = 1;

	return bpf_modify_return_test(1, &b); // tagged as a kfunc, and not for programs to call
}

char _license[] SEC("license") = "GPL";
