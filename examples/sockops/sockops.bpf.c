// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// sockops: tunes new connections, follows their states, and puts an option of its own into their headers.
#include "sock.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

struct stats {
	__u32 states;
	__u32 last;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, 1); /* BPF_F_NO_PREALLOC */
	__type(key, int);
	__type(value, struct stats);
} per_socket SEC(".maps");

__u32 established, closed, srtt;

struct option {
	__u8 kind;
	__u8 len;
	__u16 magic;
	__u32 tag;
} __attribute__((packed));

SEC("sockops")
int connections(struct bpf_sock_ops *ctx)
{
	struct option opt = {.kind = 254, .len = sizeof(opt), .magic = bpf_htons(0xbf12), .tag = 7};
	char reno[] = "reno";
	struct bpf_sock *sk;
	struct stats *st;

	switch (ctx->op) {
	case SOCK_OPS_TCP_CONNECT:
	case SOCK_OPS_ACTIVE_ESTABLISHED:
	case SOCK_OPS_PASSIVE_ESTABLISHED:
		established++;
		if (ctx->is_fullsock)
			srtt = ctx->srtt_us >> 3;
		if (bpf_ntohl(ctx->remote_port) == 443)
			bpf_setsockopt(ctx, SOL_TCP, TCP_CONGESTION, reno, sizeof(reno));
		bpf_sock_ops_cb_flags_set(ctx, SOCK_OPS_STATE_FLAG | SOCK_OPS_WRITE_HDR_OPT_FLAG);
		break;
	case SOCK_OPS_STATE:
		sk = (struct bpf_sock *)*(__u64 *)((void *)ctx + 184);
		if (!sk)
			break;
		st = bpf_sk_storage_get(&per_socket, sk, 0, 1);
		if (!st)
			break;
		st->states++;
		st->last = ctx->args[1];
		if (ctx->args[1] == 7)
			closed++;
		break;
	case SOCK_OPS_HDR_OPT_LEN:
		bpf_reserve_hdr_opt(ctx, sizeof(opt), 0);
		break;
	case SOCK_OPS_WRITE_HDR_OPT:
		bpf_store_hdr_opt(ctx, &opt, sizeof(opt), 0);
		break;
	}
	ctx->reply = 0;
	return 1;
}

char LICENSE[] SEC("license") = "GPL";
