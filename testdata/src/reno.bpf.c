// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// reno: a congestion control that does what Reno does, and counts what the kernel tells it: for connections as wholes.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

struct sock {
	int sk_pacing_status;
} __attribute__((preserve_access_index));

struct tcp_sock {
	__u32 snd_cwnd;
	__u32 snd_cwnd_cnt;
	__u32 snd_ssthresh;
	__u32 prior_cwnd;
} __attribute__((preserve_access_index));

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
} __attribute__((preserve_access_index));

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 new_state);
	void (*cwnd_event)(struct sock *sk, int ev);
	void (*in_ack_event)(struct sock *sk, __u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	__u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	char name[16];
} __attribute__((preserve_access_index));

__u32 inits, releases, starts, ends, losses, states, last_state, acked_segments, acks, longest;

SEC("struct_ops/reno_init")
void BPF_PROG(reno_init, struct sock *sk)
{
	inits++;
}

SEC("struct_ops/reno_release")
void BPF_PROG(reno_release, struct sock *sk)
{
	releases++;
}

SEC("struct_ops/reno_ssthresh")
__u32 BPF_PROG(reno_ssthresh, struct sock *sk)
{
	const struct tcp_sock *tp = (const struct tcp_sock *)sk;
	__u32 half = tp->snd_cwnd >> 1;

	return half > 2 ? half : 2;
}

SEC("struct_ops/reno_undo")
__u32 BPF_PROG(reno_undo, struct sock *sk)
{
	const struct tcp_sock *tp = (const struct tcp_sock *)sk;

	return tp->snd_cwnd > tp->prior_cwnd ? tp->snd_cwnd : tp->prior_cwnd;
}

SEC("struct_ops/reno_avoid")
void BPF_PROG(reno_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u32 cwnd = tp->snd_cwnd, count = tp->snd_cwnd_cnt;

	if (cwnd < tp->snd_ssthresh) {
		__u32 most = tp->snd_ssthresh;

		tp->snd_cwnd = cwnd + acked < most ? cwnd + acked : most;
		return;
	}
	count += acked;
	if (count >= cwnd) {
		count -= cwnd;
		tp->snd_cwnd = cwnd + 1;
	}
	tp->snd_cwnd_cnt = count;
}

SEC("struct_ops/reno_state")
void BPF_PROG(reno_state, struct sock *sk, __u8 state)
{
	states++;
	last_state = state;
}

SEC("struct_ops/reno_event")
void BPF_PROG(reno_event, struct sock *sk, int ev)
{
	if (ev == 0)
		starts++;
	else if (ev == 2)
		ends++;
	else if (ev == 3)
		losses++;
}

SEC("struct_ops/reno_ack")
void BPF_PROG(reno_ack, struct sock *sk, __u32 flags)
{
	acks++;
}

SEC("struct_ops/reno_acked")
void BPF_PROG(reno_acked, struct sock *sk, const struct ack_sample *sample)
{
	acked_segments += sample->pkts_acked;
	if (sample->rtt_us > 0 && (__u32)sample->rtt_us > longest)
		longest = sample->rtt_us;
}

SEC(".struct_ops")
struct tcp_congestion_ops reno = {
	.init = (void *)reno_init,
	.release = (void *)reno_release,
	.ssthresh = (void *)reno_ssthresh,
	.undo_cwnd = (void *)reno_undo,
	.cong_avoid = (void *)reno_avoid,
	.set_state = (void *)reno_state,
	.cwnd_event = (void *)reno_event,
	.in_ack_event = (void *)reno_ack,
	.pkts_acked = (void *)reno_acked,
	.name = "bpf_reno",
};

char LICENSE[] SEC("license") = "GPL";
