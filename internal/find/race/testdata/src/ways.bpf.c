// Programs that get to their mistake only on one of several ways, with a constant that user space sets, or with an element that an event with another key
// would have left.
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

// Counting is off unless user space turns it on, to a level.
const volatile struct {
	__u32 level;
	__u8 on;
} config = {};
__u64 counted;
SEC("xdp") int by_constant(struct xdp_md *ctx)
{
	if (!config.on || config.level < 3)
		return XDP_PASS;
	counted += 1;
	return XDP_DROP;
}

// The longest way is that of packets which nothing is kept of.
__u64 kept;
SEC("xdp") int short_way(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u8 *p = data;
	__u32 sum = 0;

	if (data + 40 > end)
		return XDP_PASS;
	if (p[23] == 47) {
		for (int i = 0; i < 6; i++)
			sum = (sum ^ p[20 + i]) * 31 + p[14 + i];
		return sum & 1 ? XDP_PASS : XDP_DROP;
	}
	if (p[23] != 17 || p[22] != 9)
		return XDP_PASS;
	kept += 1;
	return XDP_DROP;
}

// What a request left is found by its answer, whose key no request of the search has.
BPF_MAP(requests, HASH, 64, __u32, __u32);
__u64 answered;
SEC("xdp") int request(struct xdp_md *ctx)
{
	__u32 key = 7, size = ctx->data_end - ctx->data;

	bpf_map_update_elem(&requests, &key, &size, BPF_ANY);
	return XDP_PASS;
}

SEC("xdp") int answer(struct xdp_md *ctx)
{
	__u32 key = 8, *size = bpf_map_lookup_elem(&requests, &key);

	if (!size || *size < 14)
		return XDP_PASS;
	answered += *size;
	return XDP_PASS;
}

// A buffer for each CPU in an array, and one for all.
struct event {
	__u64 kind, more[8];
};
BPF_MAP(buffers, ARRAY, 128, __u32, struct event);
BPF_MAP(common, ARRAY, 1, __u32, struct event);
SEC("fentry/do_unlinkat") int cpu_slot(void *ctx)
{
	__u32 key = bpf_get_smp_processor_id();
	struct event *e = bpf_map_lookup_elem(&buffers, &key);

	if (e)
		e->kind = 1;
	return 0;
}

SEC("fentry/do_rmdir") int cpu_slot_too(void *ctx)
{
	__u32 key = bpf_get_smp_processor_id();
	struct event *e = bpf_map_lookup_elem(&buffers, &key);

	if (e)
		e->kind = 3;
	return 0;
}

SEC("fentry/do_mkdirat") int one_slot(void *ctx)
{
	__u32 key = 0;
	struct event *e = bpf_map_lookup_elem(&common, &key);

	if (e && bpf_get_smp_processor_id() < 100)
		e->kind = 2;
	return 0;
}

char _license[] SEC("license") = "GPL";
