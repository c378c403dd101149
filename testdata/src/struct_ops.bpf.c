// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// struct_ops: two congestion controls, one in .struct_ops and one in .struct_ops.link; one shares a program, one has a member no
// kernel has (zero, so it is ignored) and a program nobody uses (not loaded).
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

struct sock {
	int sk_pacing_status;
} __attribute__((preserve_access_index));

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	__u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	__u32 flags;
	char name[16];
};

struct tcp_congestion_ops___future {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	__u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
	__u64 not_yet_invented;
};

__u64 inits;

SEC("struct_ops/init")
void BPF_PROG(fixed_init, struct sock *sk)
{
	inits++;
}

SEC("struct_ops/ssthresh")
__u32 BPF_PROG(fixed_ssthresh, struct sock *sk)
{
	return 10;
}

SEC("struct_ops/undo_cwnd")
__u32 BPF_PROG(fixed_undo_cwnd, struct sock *sk)
{
	return 10;
}

SEC("struct_ops/cong_avoid")
void BPF_PROG(fixed_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
}

SEC("struct_ops/unused")
__u32 BPF_PROG(unused_ssthresh, struct sock *sk)
{
	return 1;
}

SEC(".struct_ops")
struct tcp_congestion_ops fixed = {
	.init = (void *)fixed_init,
	.ssthresh = (void *)fixed_ssthresh,
	.cong_avoid = (void *)fixed_cong_avoid,
	.undo_cwnd = (void *)fixed_undo_cwnd,
	.name = "bpf_fixed",
};

SEC(".struct_ops.link")
struct tcp_congestion_ops___future fixed_link = {
	.ssthresh = (void *)fixed_ssthresh,
	.cong_avoid = (void *)fixed_cong_avoid,
	.undo_cwnd = (void *)fixed_undo_cwnd,
	.name = "bpf_fixed_link",
};

char LICENSE[] SEC("license") = "GPL";
