// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// ops: members of struct_ops that a release changed the answer to, each named after its rule
// (verifier/testdata/boundaries.txt), and members that are refused, each with a neighbour.
#include "refused.h"

struct sock {
	unsigned long sk_pacing_rate;
} CORE;
struct tcp_sock {
	u32 app_limited;
	u32 snd_cwnd_stamp;
} CORE;
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*set_state)(struct sock *sk, u8 state);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	char name[16];
};
struct sched_ext_ops {
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	s32 (*init)(void);
	char name[128];
};
struct sk_buff {
	u32 len;
} CORE;
struct Qdisc_ops {
	int (*enqueue)(struct sk_buff *skb, void *sch, void *to_free);
	struct sk_buff *(*dequeue)(void *sch);
	char id[16];
};
struct bpf_sk_buff_ptr {
	struct sk_buff *skb;
};
struct queue {
	struct sk_buff __kptr *skb;
};
struct rq {
	struct task_struct *idle;
} CORE;

MAP(queues, BPF_MAP_TYPE_ARRAY, u32, struct queue, 1);
MAP(tasks, BPF_MAP_TYPE_TASK_STORAGE, int, u64, 0, __uint(map_flags, BPF_F_NO_PREALLOC););

extern struct rq *scx_bpf_locked_rq(void) __ksym;
extern void bpf_qdisc_skb_drop(struct sk_buff *skb, struct bpf_sk_buff_ptr *to_free) __ksym;
extern int bpf_dynptr_from_skb(struct __sk_buff *s, u64 flags, struct bpf_dynptr *p) __ksym;

SEC("struct_ops/init") void PacingWrites(u64 *ctx)
{
	((struct sock *)ctx[0])->sk_pacing_rate = 1;
}

SEC("struct_ops/release") void AppLimitedWrites(u64 *ctx)
{
	((struct tcp_sock *)ctx[0])->app_limited = 1;
}

SEC("struct_ops/cong_avoid") void CwndStampWrites(u64 *ctx)
{
	((struct tcp_sock *)ctx[0])->snd_cwnd_stamp = 1;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops tcp = {
	.init = (void *)PacingWrites,
	.release = (void *)AppLimitedWrites,
	.cong_avoid = (void *)CwndStampWrites,
	.name = "bpf_rules",
};

SEC("struct_ops/dispatch") void OpsArgSuffixes(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1];

	asm volatile("" ::"r"(prev->pid));
}

SEC("struct_ops.s/init") int KfuncResultsTrusted(u64 *ctx)
{
	struct rq *rq = scx_bpf_locked_rq();

	if (rq)
		bpf_task_storage_get(&tasks, rq->idle, NULL, 0);
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops sched = {
	.dispatch = (void *)OpsArgSuffixes,
	.init = (void *)KfuncResultsTrusted,
	.name = "bpf_rules",
};

SEC("struct_ops/enqueue") int OpsRefArgs(u64 *ctx)
{
	return ctx[0] == 0;
}

SEC("struct_ops/dequeue") struct sk_buff *OpsReturnKptr(u64 *ctx)
{
	struct queue *q = first(queues);

	return bpf_kptr_xchg(&q->skb, NULL);
}

SEC(".struct_ops.link")
struct Qdisc_ops qdisc = {
	.enqueue = (void *)OpsRefArgs,
	.dequeue = (void *)OpsReturnKptr,
	.id = "bpf_rules",
};

SEC("struct_ops/enqueue") int DerivedDynptrs(u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];
	struct bpf_dynptr d;
	u8 b;

	bpf_dynptr_from_skb((void *)skb, 0, &d);
	bpf_qdisc_skb_drop(skb, (void *)ctx[2]);
	bpf_dynptr_read(&b, 1, &d, 0, 0);
	return 1;
}

SEC(".struct_ops.link")
struct Qdisc_ops drops = {
	.enqueue = (void *)DerivedDynptrs,
	.dequeue = (void *)OpsReturnKptr,
	.id = "bpf_drops",
};

struct Qdisc {
	u32 flags;
	u32 limit;
} CORE;

/* Both members of each pair are in their own queueing discipline, because a struct has one enqueue. */
PAIR("struct_ops/enqueue", NoWriteSupportOff, u64)
{
	struct Qdisc *sch = (void *)ctx[1];

	if (bad)
		sch->flags = 1;
	else
		sch->limit = 1;
	bpf_qdisc_skb_drop((void *)ctx[0], (void *)ctx[2]);
	return 1;
}

PAIR("struct_ops/enqueue", WriteAccessOffSizeBeyondMember, u64)
{
	struct Qdisc *sch = (void *)ctx[1];

	if (bad)
		asm volatile("*(u64 *)(%0 + 0) = 1" ::"r"(&sch->limit) : "memory");
	else
		sch->limit = 1;
	bpf_qdisc_skb_drop((void *)ctx[0], (void *)ctx[2]);
	return 1;
}

#define QDISC(name) \
	SEC(".struct_ops.link") struct Qdisc_ops qdisc_##name = {.enqueue = (void *)name, .dequeue = (void *)OpsReturnKptr, .id = "bpf_refused"}
QDISC(NoWriteSupportOff);
QDISC(NoWriteSupportOff_ok);
QDISC(WriteAccessOffSizeBeyondMember);
QDISC(WriteAccessOffSizeBeyondMember_ok);

extern void *bpf_rdonly_cast(const void *obj, u32 type) __ksym;
extern u32 tcp_reno_ssthresh(struct sock *sk) __ksym;

PAIR("struct_ops/ssthresh", ArgExpectedSocket, u64)
{
	void *sk = (void *)ctx[0];

	return tcp_reno_ssthresh(bad ? bpf_rdonly_cast(sk, bpf_core_type_id_kernel(struct sock)) : sk);
}

SEC(".struct_ops.link") struct tcp_congestion_ops reno = {.ssthresh = (void *)ArgExpectedSocket, .name = "bpf_refused"};
SEC(".struct_ops.link") struct tcp_congestion_ops reno_ok = {.ssthresh = (void *)ArgExpectedSocket_ok, .name = "bpf_refused"};

struct hid_bpf_ctx {
	u32 allocated_size;
} CORE;
struct hid_bpf_ops {
	int (*hid_device_event)(struct hid_bpf_ctx *ctx, int type, u64 source);
};
extern u8 *hid_bpf_get_data(struct hid_bpf_ctx *ctx, unsigned int offset, const u64 rdwr_buf_size) __ksym;

PAIR("struct_ops/hid_device_event", NotConst, u64)
{
	u8 *data = hid_bpf_get_data((void *)ctx[0], 0, bad ? (opaque(ctx[1]) & 3) + 1 : 4);

	return data ? data[0] & 1 : 0;
}

PAIR("struct_ops/hid_device_event", RdonlyRdwrBufSizeExceedsU32, u64)
{
	u8 *data = hid_bpf_get_data((void *)ctx[0], 0, bad ? 1ull << 32 : 4);

	return data ? data[0] & 1 : 0;
}

#define HID(name) SEC(".struct_ops.link") struct hid_bpf_ops hid_##name = {.hid_device_event = (void *)name}
HID(NotConst);
HID(NotConst_ok);
HID(RdonlyRdwrBufSizeExceedsU32);
HID(RdonlyRdwrBufSizeExceedsU32_ok);
