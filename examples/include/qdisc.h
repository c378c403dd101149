/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What our queueing disciplines need of the kernel: the fields of packets and of the discipline that they use, the
 * operations that they implement, and the functions that they call. Layouts come from the target's BTF, as in kernel.h.
 */
#ifndef BPFRUN_QDISC_H
#define BPFRUN_QDISC_H

#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sk_buff {
	__u32 len;
	__u32 priority;
	char cb[48];
};

struct qdisc_skb_cb {
	__u32 pkt_len;
};

struct qdisc_skb_head {
	__u32 qlen;
};

struct gnet_stats_queue {
	__u32 backlog;
	__u32 drops;
	__u32 overlimits;
};

struct Qdisc {
	__u32 limit;
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
};

struct nlattr;
struct netlink_ext_ack;

struct bpf_sk_buff_ptr {
	struct sk_buff *skb;
};

#pragma clang attribute pop

struct bpf_spin_lock {
	__u32 val;
};

struct bpf_list_head {
	__u64 words[2];
} __attribute__((aligned(8)));

struct bpf_list_node {
	__u64 words[3];
} __attribute__((aligned(8)));

struct Qdisc_ops {
	char id[16];
	int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free);
	struct sk_buff *(*dequeue)(struct Qdisc *sch);
	int (*init)(struct Qdisc *sch, struct nlattr *arg, struct netlink_ext_ack *extack);
	void (*reset)(struct Qdisc *sch);
	void (*destroy)(struct Qdisc *sch);
};

#define NET_XMIT_SUCCESS 0
#define NET_XMIT_DROP	 1

#define __contains(name, node) __attribute__((btf_decl_tag("contains:" #name ":" #node)))
#define private(name) SEC(".data." #name) __hidden __attribute__((aligned(8)))

void *bpf_obj_new(__u64 local_type_id) __ksym;
void bpf_obj_drop(void *object) __ksym;
int bpf_list_push_front(struct bpf_list_head *head, struct bpf_list_node *node) __ksym;
int bpf_list_push_back(struct bpf_list_head *head, struct bpf_list_node *node) __ksym;
struct bpf_list_node *bpf_list_pop_front(struct bpf_list_head *head) __ksym;

__u32 bpf_skb_get_hash(struct sk_buff *skb) __ksym;
void bpf_kfree_skb(struct sk_buff *skb) __ksym;
void bpf_qdisc_skb_drop(struct sk_buff *skb, struct bpf_sk_buff_ptr *to_free) __ksym;
void bpf_qdisc_watchdog_schedule(struct Qdisc *sch, __u64 expire, __u64 delta_ns) __ksym;
void bpf_qdisc_bstats_update(struct Qdisc *sch, const struct sk_buff *skb) __ksym;

#define new_object(type) ((type *)bpf_obj_new(bpf_core_type_id_local(type)))

/* The length that a queueing discipline counts (qdisc_pkt_len). */
static __always_inline __u32 packet_len(const struct sk_buff *skb)
{
	return ((const struct qdisc_skb_cb *)skb->cb)->pkt_len;
}

#endif
