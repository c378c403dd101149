// Messages between CPUs: on processors that may show stores to others in another order, a flag needs more than a plain store.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define READ_ONCE(x) (*(volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile typeof(x) *)&(x) = (v))

__u64 data, flag;

SEC("xdp") int send_plain(struct xdp_md *ctx)
{
	WRITE_ONCE(data, 42);
	WRITE_ONCE(flag, 1);
	return XDP_PASS;
}

// The exchange is seen after what was stored before it.
SEC("xdp") int send_ordered(struct xdp_md *ctx)
{
	WRITE_ONCE(data, 42);
	__sync_lock_test_and_set(&flag, 1);
	return XDP_PASS;
}

SEC("xdp") int receive(struct xdp_md *ctx)
{
	if (!READ_ONCE(flag))
		return XDP_PASS;
	return READ_ONCE(data) == 42 ? XDP_TX : XDP_DROP;
}

__u64 mine[2];

// Each says that it is there and looks whether the other one is: with plain stores both may be alone.
SEC("xdp") int first_there(struct xdp_md *ctx)
{
	WRITE_ONCE(mine[0], 1);
	return READ_ONCE(mine[1]) ? XDP_DROP : XDP_PASS;
}

SEC("xdp") int second_there(struct xdp_md *ctx)
{
	WRITE_ONCE(mine[1], 1);
	return READ_ONCE(mine[0]) ? XDP_DROP : XDP_PASS;
}

SEC("xdp") int first_ordered(struct xdp_md *ctx)
{
	__sync_lock_test_and_set(&mine[0], 1);
	return READ_ONCE(mine[1]) ? XDP_DROP : XDP_PASS;
}

SEC("xdp") int second_ordered(struct xdp_md *ctx)
{
	__sync_lock_test_and_set(&mine[1], 1);
	return READ_ONCE(mine[0]) ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "GPL";
