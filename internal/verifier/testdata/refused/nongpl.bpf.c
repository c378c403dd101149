// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// nongpl: a program that says that its licence is another one.
#define LICENSE_TEXT "Proprietary"
#include "refused.h"

struct tcp_sock {
	u32 snd_cwnd;
} CORE;

SEC("?tc") int KernelStructsGPL(struct __sk_buff *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	struct tcp_sock *tp;

	if (!sk)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	return tp ? tp->snd_cwnd & 1 : 0;
}
