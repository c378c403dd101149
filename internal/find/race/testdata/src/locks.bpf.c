// Locks and guards that kernel functions give: what they protect has no finding, what is done outside has.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define BPF_MAP(name, kind, v)                                                                                                                         \
	struct {                                                                                                                                       \
		__uint(type, BPF_MAP_TYPE_##kind);                                                                                                     \
		__uint(max_entries, 1);                                                                                                                \
		__type(key, __u32);                                                                                                                    \
		__type(value, v);                                                                                                                      \
	} name SEC(".maps")

#define READ_ONCE(x) (*(volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile typeof(x) *)&(x) = (v))

struct bpf_res_spin_lock {
	__u32 val;
};
int bpf_res_spin_lock(struct bpf_res_spin_lock *lock) __ksym;
void bpf_res_spin_unlock(struct bpf_res_spin_lock *lock) __ksym;
void bpf_local_irq_save(unsigned long *flags) __ksym;
void bpf_local_irq_restore(unsigned long *flags) __ksym;

struct locked {
	struct bpf_res_spin_lock lock;
	__u32 unused;
	__u64 packets, bytes;
};
struct pair {
	__u64 packets, bytes;
};

BPF_MAP(res_map, ARRAY, struct locked);
SEC("tc") int res_right(struct __sk_buff *skb)
{
	__u32 key = 0;
	struct locked *v = bpf_map_lookup_elem(&res_map, &key);

	if (!v || bpf_res_spin_lock(&v->lock))
		return 0;
	v->packets++;
	v->bytes += 64;
	bpf_res_spin_unlock(&v->lock);
	return 0;
}

BPF_MAP(res_wrong_map, ARRAY, struct locked);
SEC("tc") int res_wrong(struct __sk_buff *skb)
{
	__u32 key = 0;
	struct locked *v = bpf_map_lookup_elem(&res_wrong_map, &key);
	__u64 had;

	if (!v || bpf_res_spin_lock(&v->lock))
		return 0;
	had = v->packets;
	bpf_res_spin_unlock(&v->lock);
	if (bpf_res_spin_lock(&v->lock))
		return 0;
	v->packets = had + 1;
	bpf_res_spin_unlock(&v->lock);
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} out SEC(".maps");
BPF_MAP(irq_map, PERCPU_ARRAY, struct pair);
BPF_MAP(irq_wrong_map, PERCPU_ARRAY, struct pair);

static __always_inline int fill(void *map, __u64 tag, int soon)
{
	__u32 key = 0;
	unsigned long flags;
	struct pair *p = bpf_map_lookup_elem(map, &key);

	if (!p)
		return 0;
	bpf_local_irq_save(&flags);
	WRITE_ONCE(p->packets, tag);
	if (soon) {
		bpf_local_irq_restore(&flags);
		WRITE_ONCE(p->bytes, tag);
		bpf_ringbuf_output(&out, p, sizeof(*p), 0);
		return 0;
	}
	WRITE_ONCE(p->bytes, tag);
	bpf_ringbuf_output(&out, p, sizeof(*p), 0);
	bpf_local_irq_restore(&flags);
	return 0;
}

SEC("fentry/vfs_read") int irq_right(void *ctx)
{
	return fill(&irq_map, 1, 0);
}

SEC("fentry/tcp_v4_rcv") int irq_right_too(void *ctx)
{
	return fill(&irq_map, 2, 0);
}

SEC("fentry/vfs_read") int irq_wrong(void *ctx)
{
	return fill(&irq_wrong_map, 1, 1);
}

SEC("fentry/tcp_v4_rcv") int irq_wrong_too(void *ctx)
{
	return fill(&irq_wrong_map, 2, 1);
}

char _license[] SEC("license") = "GPL";
