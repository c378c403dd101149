// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// sockiter: iterators over sockets, which do more the more of a socket they find.
#include "types.h"
#include <bpf/bpf_helpers.h>

#define CORE __attribute__((preserve_access_index))
#define AF_INET 2
#define AF_INET6 10
#define TCP_LISTEN 10

struct sock_common {
	__be32 skc_daddr, skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
} CORE;

struct sock {
	struct sock_common __sk_common;
	int sk_rcvbuf;
} CORE;

struct inet_sock {
	struct sock sk;
} CORE;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	__u8 icsk_retransmits;
	__u8 icsk_pending;
} CORE;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 snd_cwnd, srtt_us;
} CORE;

struct udp_sock {
	struct inet_sock inet;
	int pending;
} CORE;

struct unix_sock {
	struct sock sk;
} CORE;

struct tcp_timewait_sock;
struct tcp_request_sock;

struct bpf_iter__tcp {
	void *meta;
	struct sock_common *sk_common;
	unsigned int uid;
} CORE;

struct bpf_iter__udp {
	void *meta;
	struct udp_sock *udp_sk;
	unsigned int uid;
	int bucket;
} CORE;

struct bpf_iter__unix {
	void *meta;
	struct unix_sock *unix_sk;
	unsigned int uid;
} CORE;

__u64 listening, v4, v6, retransmitting, slow, waiting, requests, roots, dns, pending;

SEC("iter/tcp")
int tcp(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct tcp_sock *tp;

	if (!skc)
		return 0;
	if (skc->skc_family == AF_INET)
		v4++;
	else if (skc->skc_family == AF_INET6)
		v6++;
	else
		return 0;
	if (ctx->uid == 0)
		roots++;
	if (skc->skc_state == TCP_LISTEN)
		listening++;
	tp = bpf_skc_to_tcp_sock(skc);
	if (tp) {
		if (tp->inet_conn.icsk_pending == 1 && tp->inet_conn.icsk_retransmits > 3)
			retransmitting++;
		if (tp->srtt_us >> 3 > 100000)
			slow++;
		return 0;
	}
	if (bpf_skc_to_tcp_timewait_sock(skc))
		waiting++;
	else if (bpf_skc_to_tcp_request_sock(skc))
		requests++;
	return 0;
}

SEC("iter/udp")
int udp(struct bpf_iter__udp *ctx)
{
	struct udp_sock *up = ctx->udp_sk;

	if (!up)
		return 0;
	if (up->inet.sk.__sk_common.skc_num == 53)
		dns++;
	if (up->pending && ctx->uid == 1000)
		pending++;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
