// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// structops: a congestion control for TCP that halves the window on loss and grows it by what was acknowledged.
#include "hooks.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

__u32 losses;

SEC("struct_ops/ssthresh")
__u32 BPF_PROG(halve_ssthresh, struct sock *sk)
{
	const struct tcp_sock *tp = (const struct tcp_sock *)sk;
	__u32 half = tp->snd_cwnd >> 1;

	losses++;
	return half > 2 ? half : 2;
}

SEC("struct_ops/cong_avoid")
void BPF_PROG(halve_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	tp->snd_cwnd += acked;
}

SEC("struct_ops/undo_cwnd")
__u32 BPF_PROG(halve_undo_cwnd, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_cwnd;
}

SEC(".struct_ops")
struct tcp_congestion_ops halve = {
	.ssthresh = (void *)halve_ssthresh,
	.cong_avoid = (void *)halve_cong_avoid,
	.undo_cwnd = (void *)halve_undo_cwnd,
	.name = "bpf_halve",
};

char LICENSE[] SEC("license") = "GPL";
