// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Numbers in network byte order against constants: in the lines that end in "wrong" the constant is in the byte order of the host.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

struct headers {
	__u8 macs[12];
	__u16 type;
	__u8 ip[20];
	__u16 sport, dport;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sock_common {
	__u32 skc_daddr;
	__u16 skc_dport;
};

struct sock {
	struct sock_common __sk_common;
};
#pragma clang attribute pop

unsigned long passed;

static struct headers *headers(struct xdp_md *ctx)
{
	struct headers *h = (void *)(long)ctx->data;

	return (void *)(h + 1) > (void *)(long)ctx->data_end ? 0 : h;
}

SEC("xdp")
int port_wrong(struct xdp_md *ctx)
{
	struct headers *h = headers(ctx);

	if (!h)
		return XDP_DROP;
	if (h->dport != 8080) /* wrong */
		return XDP_PASS;
	passed++;
	return XDP_DROP;
}

SEC("xdp")
int port_right(struct xdp_md *ctx)
{
	struct headers *h = headers(ctx);

	if (!h)
		return XDP_DROP;
	if (h->dport == bpf_htons(8080) || h->dport == bpf_htons(36895) || bpf_ntohs(h->sport) == 8080)
		passed++;
	return XDP_PASS;
}

SEC("xdp")
int type_wrong(struct xdp_md *ctx)
{
	struct headers *h = headers(ctx);

	if (!h)
		return XDP_DROP;
	if (h->type != 0x0800) /* wrong */
		return XDP_PASS;
	passed++;
	return XDP_DROP;
}

SEC("xdp")
int type_right(struct xdp_md *ctx)
{
	struct headers *h = headers(ctx);

	if (!h)
		return XDP_DROP;
	if (h->type != bpf_htons(0x0800) && h->type != bpf_htons(0x0008))
		return XDP_PASS;
	passed++;
	return XDP_DROP;
}

SEC("fentry/tcp_connect")
int BPF_PROG(peer_wrong, struct sock *sk)
{
	if (sk->__sk_common.skc_daddr == 0x7f000001) /* wrong */
		passed++;
	if (BPF_CORE_READ(sk, __sk_common.skc_dport) == 443) /* wrong */
		passed++;
	return 0;
}

SEC("fentry/tcp_connect")
int BPF_PROG(peer_right, struct sock *sk)
{
	if (sk->__sk_common.skc_daddr == bpf_htonl(0x7f000001))
		passed++;
	if (BPF_CORE_READ(sk, __sk_common.skc_dport) == bpf_htons(443))
		passed++;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
