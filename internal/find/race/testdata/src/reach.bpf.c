// Programs whose mistake shows only with an input that is not the default one, or with what other programs of the object left: race looks for both.
#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define BPF_MAP(name, kind, n, k, v)                                                                                                                   \
	struct {                                                                                                                                       \
		__uint(type, BPF_MAP_TYPE_##kind);                                                                                                     \
		__uint(max_entries, n);                                                                                                                \
		__type(key, k);                                                                                                                        \
		__type(value, v);                                                                                                                      \
	} name SEC(".maps")

// Only packets of IPv6 count.
__u64 six;
SEC("xdp") int of_six(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u16 *type = data + 12;

	if (data + 14 > end || *type != bpf_htons(0x86dd))
		return XDP_PASS;
	six += 1;
	return XDP_DROP;
}

// The second half of a call counts, and takes the element away: two of them find one only if the first half ran in both tasks.
BPF_MAP(starts, HASH, 64, __u64, __u64);
__u64 took;
SEC("kprobe/vfs_read") int begins(void *ctx)
{
	__u64 id = bpf_get_current_pid_tgid(), now = bpf_ktime_get_ns();

	bpf_map_update_elem(&starts, &id, &now, BPF_ANY);
	return 0;
}

SEC("kretprobe/vfs_read") int ends(void *ctx)
{
	__u64 id = bpf_get_current_pid_tgid(), *at = bpf_map_lookup_elem(&starts, &id);

	if (!at)
		return 0;
	took += bpf_ktime_get_ns() - *at;
	bpf_map_delete_elem(&starts, &id);
	return 0;
}

// It takes the element away before it reads it. The memory is another call's only if that one has none yet.
__u64 late;
SEC("kretprobe/vfs_read") int ends_late(void *ctx)
{
	__u64 id = bpf_get_current_pid_tgid(), *at = bpf_map_lookup_elem(&starts, &id);

	if (!at)
		return 0;
	bpf_map_delete_elem(&starts, &id);
	__sync_fetch_and_add(&late, *at);
	return 0;
}

// What user space fills decides, and no program adds it.
struct rule {
	__u32 mode, limit;
};
BPF_MAP(rules, HASH, 64, __u32, struct rule);
__u64 matched;
SEC("tc") int by_rule(struct __sk_buff *skb)
{
	__u32 key = 3;
	struct rule *r = bpf_map_lookup_elem(&rules, &key);

	if (!r || r->mode != 5)
		return 0;
	matched += skb->len;
	return 2;
}

// The map that counts is one that user space makes and puts into another.
struct counts {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 4);
	__type(key, __u32);
	__array(values, struct counts);
} tenants SEC(".maps");
SEC("tc") int by_tenant(struct __sk_buff *skb)
{
	__u32 tenant = 2, zero = 0;
	void *counts = bpf_map_lookup_elem(&tenants, &tenant);
	__u64 *n;

	if (!counts)
		return 0;
	n = bpf_map_lookup_elem(counts, &zero);
	if (!n)
		return 0;
	*n += skb->len;
	return 2;
}

char _license[] SEC("license") = "GPL";
