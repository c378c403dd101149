// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Programs of socket addresses: a service address becomes that of a backend, and peers see the service again.
#include "sock.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

struct backend {
	__be32 ip;
	__u16 port;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, struct backend);
	__type(value, struct backend);
} services SEC(".maps"), reverse SEC(".maps");

static __always_inline int translate(struct bpf_sock_addr *ctx, void *map)
{
	struct backend key = {}, *b;

	key.ip = ctx->user_ip4;
	key.port = bpf_ntohs(ctx->user_port);
	b = bpf_map_lookup_elem(map, &key);
	if (!b)
		return 0;
	ctx->user_ip4 = b->ip;
	ctx->user_port = bpf_htons(b->port);
	return 1;
}

SEC("cgroup/connect4")
int connect4(struct bpf_sock_addr *ctx)
{
	if (ctx->type == 1)
		translate(ctx, &services);
	return 1;
}

SEC("cgroup/sendmsg4")
int sendmsg4(struct bpf_sock_addr *ctx)
{
	if (translate(ctx, &services))
		ctx->msg_src_ip4 = bpf_htonl(0x7f000002);
	return 1;
}

SEC("cgroup/recvmsg4")
int recvmsg4(struct bpf_sock_addr *ctx)
{
	translate(ctx, &reverse);
	return 1;
}

SEC("cgroup/getpeername4")
int getpeername4(struct bpf_sock_addr *ctx)
{
	translate(ctx, &reverse);
	return 1;
}

// Connections within the documentation prefix only; 64 bits of an address at once.
SEC("cgroup/connect6")
int connect6(struct bpf_sock_addr *ctx)
{
	return (*(__u64 *)&ctx->user_ip6[0] & 0xffffffff) == bpf_htonl(0x20010db8);
}

// Nobody takes the ports of the services.
SEC("cgroup/bind4")
int bind4(struct bpf_sock_addr *ctx)
{
	return bpf_ntohs(ctx->user_port) >= 1024;
}

char LICENSE[] SEC("license") = "GPL";
