// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// qdiscfifo: a queueing discipline with one queue of at most so many packets, first come, first served.
#include "qdisc.h"
#include <bpf/bpf_tracing.h>

const volatile __u32 limit = 100;
// Without it, reset leaves the packets where they are: a leak.
const volatile bool drain = true;

struct packet {
	struct sk_buff __kptr *skb;
	struct bpf_list_node node;
};

private(A) struct bpf_spin_lock lock;
private(A) struct bpf_list_head queue __contains(packet, node);

// take removes the first packet; NULL for none.
static __always_inline struct sk_buff *take(void)
{
	struct bpf_list_node *node;
	struct packet *p;
	struct sk_buff *skb;

	bpf_spin_lock(&lock);
	node = bpf_list_pop_front(&queue);
	bpf_spin_unlock(&lock);
	if (!node)
		return NULL;
	p = container_of(node, struct packet, node);
	skb = bpf_kptr_xchg(&p->skb, NULL);
	bpf_obj_drop(p);
	return skb;
}

SEC("struct_ops/fifo_enqueue")
int BPF_PROG(fifo_enqueue, struct sk_buff *skb, struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free)
{
	__u32 len = packet_len(skb);
	struct packet *p;

	if (sch->q.qlen >= sch->limit)
		goto drop;
	p = new_object(struct packet);
	if (!p)
		goto drop;
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

SEC("struct_ops/fifo_dequeue")
struct sk_buff *BPF_PROG(fifo_dequeue, struct Qdisc *sch)
{
	struct sk_buff *skb = take();

	if (!skb)
		return NULL;
	sch->q.qlen--;
	sch->qstats.backlog -= packet_len(skb);
	bpf_qdisc_bstats_update(sch, skb);
	return skb;
}

SEC("struct_ops/fifo_init")
int BPF_PROG(fifo_init, struct Qdisc *sch, struct nlattr *arg, struct netlink_ext_ack *extack)
{
	sch->limit = limit;
	return 0;
}

static int drop_one(__u32 i, void *ctx)
{
	struct sk_buff *skb = take();

	if (!skb)
		return 1;
	bpf_kfree_skb(skb);
	return 0;
}

SEC("struct_ops/fifo_reset")
void BPF_PROG(fifo_reset, struct Qdisc *sch)
{
	if (drain)
		bpf_loop(1 << 20, drop_one, NULL, 0);
	sch->q.qlen = 0;
}

SEC("struct_ops/fifo_destroy")
void BPF_PROG(fifo_destroy, struct Qdisc *sch)
{
}

SEC(".struct_ops.link")
struct Qdisc_ops fifo = {
	.enqueue = (void *)fifo_enqueue,
	.dequeue = (void *)fifo_dequeue,
	.init = (void *)fifo_init,
	.reset = (void *)fifo_reset,
	.destroy = (void *)fifo_destroy,
	.id = "example_fifo",
};

char LICENSE[] SEC("license") = "GPL";
