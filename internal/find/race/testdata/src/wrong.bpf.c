// Programs with one mistake each that only shows when they run at the same time, or in the middle of each other: bpfrun race must find every one. Each has maps
// of its own. The name of a program says what is wrong.
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>

#define BPF_MAP(name, kind, n, k, v)                                                                                                                   \
	struct {                                                                                                                                       \
		__uint(type, BPF_MAP_TYPE_##kind);                                                                                                     \
		__uint(max_entries, n);                                                                                                                \
		__type(key, k);                                                                                                                        \
		__type(value, v);                                                                                                                      \
	} name SEC(".maps")

#define BPF_RING(name)                                                                                                                                 \
	struct {                                                                                                                                       \
		__uint(type, BPF_MAP_TYPE_RINGBUF);                                                                                                    \
		__uint(max_entries, 4096);                                                                                                             \
	} name SEC(".maps")

#define READ_ONCE(x) (*(volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile typeof(x) *)&(x) = (v))

struct pair {
	__u64 packets, bytes;
};

struct locked {
	struct bpf_spin_lock lock;
	__u32 state;
	__u64 packets, bytes;
};

// A count in memory that CPUs share.
__u64 counted;
SEC("xdp") int lost_update(struct xdp_md *ctx)
{
	counted++;
	return XDP_PASS;
}

// Both find no element, and the second overwrites the first one's.
BPF_MAP(flows, HASH, 16, __u32, struct pair);
SEC("tc") int check_then_act(struct __sk_buff *skb)
{
	__u32 key = 7;
	struct pair one = {1, skb->len}, *p = bpf_map_lookup_elem(&flows, &key);

	if (p) {
		__sync_fetch_and_add(&p->packets, 1);
		__sync_fetch_and_add(&p->bytes, skb->len);
		return 0;
	}
	bpf_map_update_elem(&flows, &key, &one, BPF_ANY);
	return 0;
}

// More than the limit get in.
__u64 inside;
SEC("xdp") int over_limit(struct xdp_md *ctx)
{
	if (READ_ONCE(inside) >= 1)
		return XDP_DROP;
	__sync_fetch_and_add(&inside, 1);
	return XDP_PASS;
}

// One number for two.
__u64 next_port = 40000;
BPF_MAP(ports, ARRAY, 4, __u32, __u64);
SEC("xdp") int double_allocation(struct xdp_md *ctx)
{
	__u64 mine = READ_ONCE(next_port);
	__u32 slot = mine & 3;
	__u64 *owner;

	WRITE_ONCE(next_port, mine + 1);
	owner = bpf_map_lookup_elem(&ports, &slot);
	if (owner)
		*owner = bpf_get_smp_processor_id() + 1;
	return XDP_PASS;
}

// A copy that another CPU changes while it is made.
BPF_RING(copies);
BPF_MAP(copied, ARRAY, 1, __u32, struct pair);
SEC("tc") int torn_copy(struct __sk_buff *skb)
{
	__u32 key = 0;
	struct pair *p = bpf_map_lookup_elem(&copied, &key), copy;

	if (!p)
		return 0;
	copy.packets = READ_ONCE(p->packets);
	copy.bytes = READ_ONCE(p->bytes);
	bpf_ringbuf_output(&copies, &copy, sizeof(copy), 0);
	WRITE_ONCE(p->packets, bpf_get_smp_processor_id() + 1);
	WRITE_ONCE(p->bytes, bpf_get_smp_processor_id() + 1);
	return 0;
}

// bpf_map_update_elem of an array is no single write.
BPF_MAP(settings, ARRAY, 1, __u32, struct pair);
SEC("tc") int torn_update(struct __sk_buff *skb)
{
	__u32 key = 0;
	__u64 cpu = bpf_get_smp_processor_id() + 1;
	struct pair mine = {cpu, cpu};

	bpf_map_update_elem(&settings, &key, &mine, BPF_ANY);
	return 0;
}

// The lock is released between the look and the act.
BPF_MAP(tokens, ARRAY, 1, __u32, struct locked);
SEC("tc") int lock_released(struct __sk_buff *skb)
{
	__u32 key = 0;
	struct locked *v = bpf_map_lookup_elem(&tokens, &key);
	__u64 had;

	if (!v)
		return 0;
	bpf_spin_lock(&v->lock);
	had = v->packets;
	bpf_spin_unlock(&v->lock);
	if (had >= 1)
		return 2;
	bpf_spin_lock(&v->lock);
	v->packets = had + 1;
	bpf_spin_unlock(&v->lock);
	return 0;
}

// One of the writers does without the lock.
BPF_MAP(half_locked, ARRAY, 1, __u32, struct locked);
SEC("tc") int with_lock(struct __sk_buff *skb)
{
	__u32 key = 0;
	struct locked *v = bpf_map_lookup_elem(&half_locked, &key);

	if (!v)
		return 0;
	bpf_spin_lock(&v->lock);
	v->bytes += 5;
	bpf_spin_unlock(&v->lock);
	return 0;
}

SEC("tc") int without_lock(struct __sk_buff *skb)
{
	__u32 key = 0;
	struct locked *v = bpf_map_lookup_elem(&half_locked, &key);

	if (v)
		__sync_fetch_and_add(&v->bytes, 7);
	return 0;
}

// Scratch memory of a CPU that programs use in the middle of each other.
struct scratch {
	__u64 value[4];
};
BPF_RING(scratch_out);
BPF_MAP(scratch_map, PERCPU_ARRAY, 1, __u32, struct scratch);

static __always_inline int fill(__u64 tag)
{
	__u32 zero = 0;
	struct scratch *s = bpf_map_lookup_elem(&scratch_map, &zero);

	if (!s)
		return 0;
	for (int i = 0; i < 4; i++)
		WRITE_ONCE(s->value[i], tag);
	bpf_ringbuf_output(&scratch_out, s, sizeof(*s), 0);
	return 0;
}

SEC("tp_btf/sched_switch") int scratch_switch(void *ctx)
{
	return fill(1);
}

SEC("fentry/do_unlinkat") int scratch_unlink(void *ctx)
{
	return fill(2);
}

// A guard that is looked at and set in two steps, of which another run comes in between and leaves it set.
BPF_RING(guard_out);
struct guarded {
	__u32 busy;
	__u64 value[2];
};
BPF_MAP(guard_map, PERCPU_ARRAY, 1, __u32, struct guarded);

static __always_inline int guarded_late(__u64 tag)
{
	__u32 zero = 0;
	struct guarded *g = bpf_map_lookup_elem(&guard_map, &zero);

	if (!g)
		return 0;
	WRITE_ONCE(g->value[0], tag);
	if (READ_ONCE(g->busy))
		return 0;
	WRITE_ONCE(g->busy, 1);
	WRITE_ONCE(g->value[1], tag);
	bpf_ringbuf_output(&guard_out, g->value, sizeof(g->value), 0);
	WRITE_ONCE(g->busy, 0);
	return 0;
}

SEC("tp_btf/sched_switch") int guard_switch(void *ctx)
{
	return guarded_late(1);
}

SEC("fentry/do_unlinkat") int guard_unlink(void *ctx)
{
	return guarded_late(2);
}

// A lock of its own that an interrupt waits for on the CPU of its holder.
__u64 my_lock, my_value;

static __always_inline int spin(void)
{
	for (int i = 0; i < 200; i++) {
		if (__sync_val_compare_and_swap(&my_lock, 0, 1) == 0) {
			my_value++;
			__sync_lock_test_and_set(&my_lock, 0);
			break;
		}
	}
	return 0;
}

SEC("tp_btf/sched_switch") int deadlock_switch(void *ctx)
{
	return spin();
}

SEC("fentry/do_unlinkat") int deadlock_unlink(void *ctx)
{
	return spin();
}

// Both find the element, and each thinks that it removed it.
BPF_MAP(resources, HASH, 16, __u32, __u64);
__u64 freed;
SEC("xdp") int double_free(struct xdp_md *ctx)
{
	__u32 key = 7;
	__u64 one = 1;

	if (!bpf_map_lookup_elem(&resources, &key)) {
		bpf_map_update_elem(&resources, &key, &one, BPF_NOEXIST);
		return XDP_PASS;
	}
	bpf_map_delete_elem(&resources, &key);
	__sync_fetch_and_add(&freed, 1);
	return XDP_DROP;
}

// An element is used after another program deleted it and its memory became another key's.
BPF_MAP(moved, HASH, 16, __u32, struct pair);
SEC("xdp") int use_deleted(struct xdp_md *ctx)
{
	__u32 key = 7;
	struct pair zero = {}, *p;

	bpf_map_update_elem(&moved, &key, &zero, BPF_NOEXIST);
	p = bpf_map_lookup_elem(&moved, &key);
	if (p)
		__sync_fetch_and_add(&p->packets, 1000);
	return XDP_PASS;
}

SEC("xdp") int move_element(struct xdp_md *ctx)
{
	__u32 key = 7, other = 8;
	struct pair zero = {};

	bpf_map_delete_elem(&moved, &key);
	bpf_map_update_elem(&moved, &other, &zero, BPF_NOEXIST);
	return XDP_PASS;
}

// An element is used after the program itself deleted it: its memory is the next one's.
BPF_MAP(taken, HASH, 16, __u32, struct pair);
__u64 took_bytes, put_bytes = 64;
SEC("xdp") int take_then_read(struct xdp_md *ctx)
{
	__u32 key = 7;
	struct pair *p = bpf_map_lookup_elem(&taken, &key);

	if (!p)
		return XDP_PASS;
	bpf_map_delete_elem(&taken, &key);
	__sync_fetch_and_add(&took_bytes, p->bytes);
	return XDP_DROP;
}

SEC("xdp") int put_back(struct xdp_md *ctx)
{
	__u32 key = 7;
	struct pair some = {1, __sync_fetch_and_add(&put_bytes, 64)};

	bpf_map_update_elem(&taken, &key, &some, BPF_ANY);
	return XDP_PASS;
}

// The same where no outcome shows it: all elements have the same contents.
BPF_MAP(alike, HASH, 16, __u32, struct pair);
__u64 alike_bytes;
SEC("xdp") int take_alike(struct xdp_md *ctx)
{
	__u32 key = 7;
	struct pair *p = bpf_map_lookup_elem(&alike, &key);

	if (!p)
		return XDP_PASS;
	bpf_map_delete_elem(&alike, &key);
	__sync_fetch_and_add(&alike_bytes, p->bytes);
	return XDP_DROP;
}

SEC("xdp") int put_alike(struct xdp_md *ctx)
{
	__u32 key = 7;
	struct pair some = {1, 64};

	bpf_map_update_elem(&alike, &key, &some, BPF_ANY);
	return XDP_PASS;
}

// What BPF_NOEXIST says is looked at, but a number was taken for nothing.
BPF_MAP(numbers, HASH, 16, __u32, __u64);
__u64 next_number;
SEC("xdp") int takes_two(struct xdp_md *ctx)
{
	__u32 key = 7;
	__u64 n;

	if (bpf_map_lookup_elem(&numbers, &key))
		return XDP_PASS;
	n = __sync_fetch_and_add(&next_number, 1);
	return bpf_map_update_elem(&numbers, &key, &n, BPF_NOEXIST) ? XDP_DROP : XDP_PASS;
}

// Other tasks are let in again before the buffer is sent.
void bpf_preempt_disable(void) __ksym;
void bpf_preempt_enable(void) __ksym;
BPF_MAP(soon_map, PERCPU_ARRAY, 1, __u32, struct pair);
BPF_RING(soon_out);

static __always_inline int too_soon(__u64 tag)
{
	__u32 key = 0;
	struct pair *p = bpf_map_lookup_elem(&soon_map, &key);

	if (!p)
		return 0;
	bpf_preempt_disable();
	WRITE_ONCE(p->packets, tag);
	WRITE_ONCE(p->bytes, tag);
	bpf_preempt_enable();
	bpf_ringbuf_output(&soon_out, p, sizeof(*p), 0);
	return 0;
}

SEC("fentry/do_unlinkat") int soon_unlink(void *ctx)
{
	return too_soon(1);
}

SEC("fentry/vfs_read") int soon_read(void *ctx)
{
	return too_soon(2);
}

char _license[] SEC("license") = "GPL";
