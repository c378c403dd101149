// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// qdisctbf: a queueing discipline that limits the rate, whatever the link's: a token bucket. A packet leaves when there are
// tokens for it; until then the watchdog makes the kernel ask again.
#include "qdisc.h"
#include <bpf/bpf_tracing.h>

#define SECOND 1000000000ULL

const volatile __u64 rate = 125000; // bytes per second
const volatile __u64 burst = 3028;  // bytes
const volatile __u32 limit = 100;
// Without it, nothing wakes the discipline: packets stay until the next one arrives.
const volatile bool rearm = true;

struct packet {
	__u32 len;
	struct sk_buff __kptr *skb;
	struct bpf_list_node node;
};

private(A) struct bpf_spin_lock lock;
private(A) struct bpf_list_head queue __contains(packet, node);

__u64 tokens, filled; // bytes, and when they were counted

static __always_inline struct packet *first(void)
{
	struct bpf_list_node *node;

	bpf_spin_lock(&lock);
	node = bpf_list_pop_front(&queue);
	bpf_spin_unlock(&lock);
	return node ? container_of(node, struct packet, node) : NULL;
}

SEC("struct_ops/tbf_enqueue")
int BPF_PROG(tbf_enqueue, struct sk_buff *skb, struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free)
{
	__u32 len = packet_len(skb);
	struct packet *p;

	if (sch->q.qlen >= sch->limit || len > burst)
		goto drop;
	p = new_object(struct packet);
	if (!p)
		goto drop;
	p->len = len;
	skb = bpf_kptr_xchg(&p->skb, skb);
	if (skb)
		bpf_qdisc_skb_drop(skb, to_free);
	bpf_spin_lock(&lock);
	bpf_list_push_back(&queue, &p->node);
	bpf_spin_unlock(&lock);
	sch->q.qlen++;
	sch->qstats.backlog += len;
	return NET_XMIT_SUCCESS;
drop:
	bpf_qdisc_skb_drop(skb, to_free);
	sch->qstats.drops++;
	return NET_XMIT_DROP;
}

SEC("struct_ops/tbf_dequeue")
struct sk_buff *BPF_PROG(tbf_dequeue, struct Qdisc *sch)
{
	__u64 now = bpf_ktime_get_ns(), missing;
	struct packet *p = first();
	struct sk_buff *skb;

	if (!p)
		return NULL;
	tokens += (now - filled) * rate / SECOND;
	filled = now;
	if (tokens > burst)
		tokens = burst;
	if (tokens < p->len) {
		missing = p->len - tokens;
		bpf_spin_lock(&lock);
		bpf_list_push_front(&queue, &p->node);
		bpf_spin_unlock(&lock);
		if (rearm)
			bpf_qdisc_watchdog_schedule(sch, now + (missing * SECOND + rate - 1) / rate, 0);
		sch->qstats.overlimits++;
		return NULL;
	}
	tokens -= p->len;
	skb = bpf_kptr_xchg(&p->skb, NULL);
	bpf_obj_drop(p);
	if (!skb)
		return NULL;
	sch->q.qlen--;
	sch->qstats.backlog -= packet_len(skb);
	bpf_qdisc_bstats_update(sch, skb);
	return skb;
}

SEC("struct_ops/tbf_init")
int BPF_PROG(tbf_init, struct Qdisc *sch, struct nlattr *arg, struct netlink_ext_ack *extack)
{
	sch->limit = limit;
	tokens = burst;
	filled = bpf_ktime_get_ns();
	return 0;
}

static int drop_one(__u32 i, void *ctx)
{
	struct packet *p = first();
	struct sk_buff *skb;

	if (!p)
		return 1;
	skb = bpf_kptr_xchg(&p->skb, NULL);
	if (skb)
		bpf_kfree_skb(skb);
	bpf_obj_drop(p);
	return 0;
}

SEC("struct_ops/tbf_reset")
void BPF_PROG(tbf_reset, struct Qdisc *sch)
{
	bpf_loop(1 << 20, drop_one, NULL, 0);
	sch->q.qlen = 0;
}

SEC("struct_ops/tbf_destroy")
void BPF_PROG(tbf_destroy, struct Qdisc *sch)
{
}

SEC(".struct_ops.link")
struct Qdisc_ops tbf = {
	.enqueue = (void *)tbf_enqueue,
	.dequeue = (void *)tbf_dequeue,
	.init = (void *)tbf_init,
	.reset = (void *)tbf_reset,
	.destroy = (void *)tbf_destroy,
	.id = "example_tbf",
};

char LICENSE[] SEC("license") = "GPL";
