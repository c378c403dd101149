// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// chain: several programs on one hook, for run --chain. Each sees what those before it left in the context.
#include "sock.h"
#include <bpf/bpf_helpers.h>

#define NEXT -1
#define PASS 0
#define DROP 2

SEC("tcx/ingress")
int mark(struct __sk_buff *skb)
{
	skb->mark = skb->mark + 7;
	return NEXT;
}

SEC("tcx/ingress")
int drop_marked(struct __sk_buff *skb)
{
	return skb->mark == 7 ? DROP : NEXT;
}

SEC("tcx/ingress")
int last(struct __sk_buff *skb)
{
	return PASS;
}

SEC("netkit/primary")
int odd(struct __sk_buff *skb)
{
	return 4;
}

int seen;

SEC("cgroup/connect4")
int deny(struct bpf_sock_addr *ctx)
{
	ctx->user_port = 0x1234;
	return 0;
}

SEC("cgroup/connect4")
int look(struct bpf_sock_addr *ctx)
{
	seen = bpf_get_retval();
	return ctx->user_port == 0x1234;
}

SEC("cgroup/connect4")
int err_context(struct bpf_sock_addr *ctx)
{
	return *(volatile int *)((char *)ctx + 4096);
}

SEC("xdp")
int alone(struct xdp_md *ctx)
{
	return 2;
}

char LICENSE[] SEC("license") = "GPL";
