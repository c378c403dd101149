// A count in a shared map that two CPUs change: plainly, and by one operation.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} hits SEC(".maps");

SEC("xdp")
int plain(struct xdp_md *ctx)
{
	__u32 key = 0;
	__u64 *n = bpf_map_lookup_elem(&hits, &key);

	if (n)
		*n += 1;
	return XDP_PASS;
}

SEC("xdp")
int atomic(struct xdp_md *ctx)
{
	__u32 key = 0;
	__u64 *n = bpf_map_lookup_elem(&hits, &key);

	if (n)
		__sync_fetch_and_add(n, 1);
	return XDP_PASS;
}


// Some hundred instructions, ten of which touch what is shared.
SEC("xdp")
int lengthy(struct xdp_md *ctx)
{
	__u32 key = 0, x = ctx->rx_queue_index + 1;
	__u64 *n = bpf_map_lookup_elem(&hits, &key);

	if (!n)
		return XDP_PASS;
	for (int i = 0; i < 5; i++) {
		for (int j = 0; j < 4; j++)
			x = x * 3 + (x >> 3);
		__sync_fetch_and_add(n, x);
		for (int j = 0; j < 4; j++)
			x = x * 5 + (x >> 7);
		__sync_fetch_and_add(n, x & 1);
	}
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
