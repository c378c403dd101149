// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// qdiscfair: a queueing discipline that gives each flow the same part of the link: a queue per hash of the flow, served in
// turn, each for as many bytes (deficit round robin). With strict set it serves the first queue that has something, and
// the others starve.
#include "qdisc.h"
#include <bpf/bpf_tracing.h>

#define QUEUES 64
#define QUANTUM 1514
#define BPF_NOEXIST 1

const volatile bool strict = false;
const volatile __u32 limit = 1000;

struct packet {
	__u32 len;
	struct sk_buff __kptr *skb;
	struct bpf_list_node node;
};

struct flow {
	struct bpf_spin_lock lock;
	struct bpf_list_head queue __contains(packet, node);
	__s32 deficit;
	__u32 qlen;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct flow);
	__uint(max_entries, QUEUES);
} flows SEC(".maps");

__u32 turn;

// take removes the first packet of a flow; NULL for none.
static __always_inline struct sk_buff *take(struct flow *f)
{
	struct bpf_list_node *node;
	struct packet *p;
	struct sk_buff *skb;

	bpf_spin_lock(&f->lock);
	node = bpf_list_pop_front(&f->queue);
	bpf_spin_unlock(&f->lock);
	if (!node)
		return NULL;
	p = container_of(node, struct packet, node);
	f->deficit -= p->len;
	f->qlen--;
	skb = bpf_kptr_xchg(&p->skb, NULL);
	bpf_obj_drop(p);
	return skb;
}

SEC("struct_ops/fair_enqueue")
int BPF_PROG(fair_enqueue, struct sk_buff *skb, struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free)
{
	__u32 len = packet_len(skb), key = bpf_skb_get_hash(skb) % QUEUES;
	struct packet *p;
	struct flow *f;

	if (sch->q.qlen >= sch->limit)
		goto drop;
	f = bpf_map_lookup_elem(&flows, &key);
	if (!f)
		goto drop;
	p = new_object(struct packet);
	if (!p)
		goto drop;
	p->len = len;
	skb = bpf_kptr_xchg(&p->skb, skb);
	if (skb)
		bpf_qdisc_skb_drop(skb, to_free);
	bpf_spin_lock(&f->lock);
	bpf_list_push_back(&f->queue, &p->node);
	bpf_spin_unlock(&f->lock);
	f->qlen++;
	sch->q.qlen++;
	sch->qstats.backlog += len;
	return NET_XMIT_SUCCESS;
drop:
	bpf_qdisc_skb_drop(skb, to_free);
	sch->qstats.drops++;
	return NET_XMIT_DROP;
}

struct search {
	__u32 found;
};

// A flow that has used up its part waits until its next turn.
static int next_flow(__u32 i, struct search *s)
{
	__u32 key = strict ? i % QUEUES : turn % QUEUES;
	struct flow *f = bpf_map_lookup_elem(&flows, &key);

	if (!f)
		return 1;
	if (f->qlen && (strict || f->deficit > 0)) {
		s->found = key;
		return 1;
	}
	if (f->qlen)
		f->deficit += QUANTUM;
	else
		f->deficit = 0;
	turn++;
	return 0;
}

SEC("struct_ops/fair_dequeue")
struct sk_buff *BPF_PROG(fair_dequeue, struct Qdisc *sch)
{
	struct search s = {.found = QUEUES};
	struct sk_buff *skb;
	struct flow *f;

	if (!sch->q.qlen)
		return NULL;
	bpf_loop(4 * QUEUES, next_flow, &s, 0);
	f = bpf_map_lookup_elem(&flows, &s.found);
	if (!f)
		return NULL;
	skb = take(f);
	if (!skb)
		return NULL;
	sch->q.qlen--;
	sch->qstats.backlog -= packet_len(skb);
	bpf_qdisc_bstats_update(sch, skb);
	return skb;
}

SEC("struct_ops/fair_init")
int BPF_PROG(fair_init, struct Qdisc *sch, struct nlattr *arg, struct netlink_ext_ack *extack)
{
	sch->limit = limit;
	return 0;
}

static int drop_one(__u32 i, __u32 *key)
{
	struct flow *f = bpf_map_lookup_elem(&flows, key);
	struct sk_buff *skb;

	if (!f)
		return 1;
	skb = take(f);
	if (!skb)
		return 1;
	bpf_kfree_skb(skb);
	return 0;
}

static int drop_flow(__u32 i, void *ctx)
{
	__u32 key = i;

	bpf_loop(1 << 20, drop_one, &key, 0);
	return 0;
}

SEC("struct_ops/fair_reset")
void BPF_PROG(fair_reset, struct Qdisc *sch)
{
	bpf_loop(QUEUES, drop_flow, NULL, 0);
	sch->q.qlen = 0;
}

SEC("struct_ops/fair_destroy")
void BPF_PROG(fair_destroy, struct Qdisc *sch)
{
}

SEC(".struct_ops.link")
struct Qdisc_ops fair = {
	.enqueue = (void *)fair_enqueue,
	.dequeue = (void *)fair_dequeue,
	.init = (void *)fair_init,
	.reset = (void *)fair_reset,
	.destroy = (void *)fair_destroy,
	.id = "example_fair",
};

char LICENSE[] SEC("license") = "GPL";
