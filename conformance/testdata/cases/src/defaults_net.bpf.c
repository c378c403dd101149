// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// defaults_net: what holds of a test run's packet, its socket, its device and the network namespace on any healthy system: pointers that lead back, lists
// that close, offsets that agree. A result is 1 where it holds, except where the name says "number".
#include "case.h"
#include <bpf/bpf_core_read.h>

#define CLOSE 64 // longest list that is walked

struct list_head {
	struct list_head *next, *prev;
} CORE;
struct hlist_node {
	struct hlist_node *next, **pprev;
} CORE;
struct hlist_head {
	struct hlist_node *first;
} CORE;
typedef struct {
	int counter;
} atomic_t;
typedef struct {
	atomic_t refs;
} refcount_t;
struct net_device;
struct net {
	struct list_head dev_base_head;
	struct hlist_head *dev_index_head;
	struct net_device *loopback_dev;
} CORE;
typedef struct {
	struct net *net;
} possible_net_t;
struct in_ifaddr;
struct in_device {
	struct net_device *dev;
	struct in_ifaddr *ifa_list;
} CORE;
struct in_ifaddr {
	struct in_device *ifa_dev;
	u32 ifa_local, ifa_mask;
	unsigned char ifa_prefixlen;
} CORE;
struct netdev_queue {
	struct net_device *dev;
} CORE;
struct net_device {
	char name[16];
	int ifindex;
	u32 flags, mtu, min_mtu, max_mtu, num_tx_queues, real_num_tx_queues, num_rx_queues, real_num_rx_queues;
	u16 type, hard_header_len;
	u8 addr_len, reg_state, operstate;
	u64 state;
	struct list_head dev_list;
	struct hlist_node index_hlist;
	possible_net_t nd_net;
	struct in_device *ip_ptr;
	struct netdev_queue *_tx;
	unsigned char *dev_addr;
	void *netdev_ops, *ethtool_ops, *header_ops;
} CORE;
struct proto {
	char name[32];
	u32 obj_size;
} CORE;
struct sock_common {
	u32 skc_daddr, skc_rcv_saddr;
	u16 skc_family;
	u8 skc_state;
	struct proto *skc_prot;
	possible_net_t skc_net;
	refcount_t skc_refcnt;
} CORE;
struct sk_buff_head {
	struct sk_buff *next, *prev;
	u32 qlen;
} CORE;
struct sock {
	struct sock_common __sk_common;
	struct sk_buff_head sk_receive_queue, sk_write_queue, sk_error_queue;
	void *sk_socket;
	refcount_t sk_wmem_alloc;
	int sk_rcvbuf, sk_sndbuf;
	u16 sk_type, sk_protocol;
	int sk_err;
	u32 sk_shutdown;
	void (*sk_state_change)(struct sock *sk), (*sk_data_ready)(struct sock *sk);
} CORE;
struct sk_buff {
	struct sk_buff *next, *prev;
	struct net_device *dev;
	struct sock *sk;
	u32 len, data_len, tail, end, truesize, priority, mark;
	u16 mac_len, hdr_len, mac_header, network_header, transport_header, protocol, vlan_proto, queue_mapping;
	int skb_iif;
	unsigned char *head, *data;
	refcount_t users;
	u64 tstamp;
	void (*destructor)(struct sk_buff *skb);
	u8 active_extensions;
} CORE;
struct skb_shared_info {
	u8 nr_frags, tx_flags, meta_len;
	u16 gso_size, gso_segs;
	u32 gso_type;
	struct sk_buff *frag_list;
	atomic_t dataref;
} CORE;

extern void *bpf_cast_to_kern_ctx(void *obj) __ksym;

#define AT(p, field) ((void *)&(p)->field)

// What a list has: how many nodes, whether it closes with every node's prev right, and whether a node is on it.
struct found {
	u64 nodes, closes, has;
};

static __noinline int walk(struct found *f, u64 head, u64 node)
{
	struct list_head *prev = (void *)head, *at;
	int i;

	if (!f)
		return 1;
	f->nodes = f->closes = f->has = 0;
	at = BPF_CORE_READ(prev, next);
	for (i = 0; i < CLOSE; i++) {
		if (BPF_CORE_READ(at, prev) != prev)
			return 1;
		if (at == (void *)head) {
			f->closes = 1;
			return 0;
		}
		f->nodes++;
		f->has |= at == (void *)node;
		prev = at;
		at = BPF_CORE_READ(at, next);
	}
	return 1;
}

static __noinline int length(u64 text)
{
	char buf[32];

	return bpf_probe_read_kernel_str(buf, sizeof(buf), (void *)text);
}

SEC("tc") int t_skb(struct __sk_buff *ctx)
{
	struct sk_buff *skb = bpf_cast_to_kern_ctx(ctx);
	unsigned char *head = BPF_CORE_READ(skb, head), *data = BPF_CORE_READ(skb, data);
	u32 tail = BPF_CORE_READ(skb, tail), end = BPF_CORE_READ(skb, end), len = BPF_CORE_READ(skb, len), at = data - head;
	struct skb_shared_info *info = (void *)(head + end);
	u32 first = 0;

	CHECK("skb: number of bytes", len);
	CHECK("skb: length of the context", len == ctx->len);
	CHECK("skb: linear", BPF_CORE_READ(skb, data_len) == 0);
	CHECK("skb: the tail follows the data", tail == at + len);
	CHECK("skb: the tail is in the buffer", tail <= end);
	CHECK("skb: room for more headers", at >= 64);
	CHECK("skb: headers of the link begin the data", BPF_CORE_READ(skb, mac_header) == at);
	CHECK("skb: headers of the network follow", BPF_CORE_READ(skb, network_header) == at + 14);
	CHECK("skb: headers of the transport are not known", BPF_CORE_READ(skb, transport_header) == 0xffff);
	CHECK("skb: number of bytes of the link's headers", BPF_CORE_READ(skb, mac_len));
	CHECK("skb: number of the protocol", BPF_CORE_READ(skb, protocol));
	CHECK("skb: protocol of the context", BPF_CORE_READ(skb, protocol) == ctx->protocol);
	CHECK("skb: counted memory holds the packet", BPF_CORE_READ(skb, truesize) >= end);
	CHECK("skb: number of users", BPF_CORE_READ(skb, users.refs.counter));
	CHECK("skb: in no queue", BPF_CORE_READ(skb, next) == NULL && BPF_CORE_READ(skb, prev) == NULL);
	CHECK("skb: no destructor", BPF_CORE_READ(skb, destructor) == NULL);
	CHECK("skb: no extensions", BPF_CORE_READ(skb, active_extensions) == 0);
	CHECK("skb: number of the VLAN's protocol", BPF_CORE_READ(skb, vlan_proto));
	CHECK("skb: number of the mark", BPF_CORE_READ(skb, mark));
	CHECK("skb: number of the priority", BPF_CORE_READ(skb, priority));
	CHECK("skb: number of the queue", BPF_CORE_READ(skb, queue_mapping));
	CHECK("skb: number of the interface it came by", BPF_CORE_READ(skb, skb_iif));
	CHECK("skb: number of the time", BPF_CORE_READ(skb, tstamp));
	bpf_probe_read_kernel(&first, 4, data);
	CHECK("skb: number of the first bytes", first);
	CHECK("shared: number of pieces", BPF_CORE_READ(info, nr_frags));
	CHECK("shared: no list", BPF_CORE_READ(info, frag_list) == NULL);
	CHECK("shared: number of references", BPF_CORE_READ(info, dataref.counter));
	CHECK("shared: number of bytes in a segment", BPF_CORE_READ(info, gso_size));
	CHECK("shared: number of segments", BPF_CORE_READ(info, gso_segs));
	CHECK("shared: number of the kind of segments", BPF_CORE_READ(info, gso_type));
	CHECK("shared: number of bytes of metadata", BPF_CORE_READ(info, meta_len));
	CHECK("shared: number of the flags", BPF_CORE_READ(info, tx_flags));
	return 0;
}

SEC("tc") int t_skb_sock(struct __sk_buff *ctx)
{
	struct sk_buff *skb = bpf_cast_to_kern_ctx(ctx);
	struct sock *sk = BPF_CORE_READ(skb, sk);
	unsigned char *data = BPF_CORE_READ(skb, data);
	struct found f;
	u32 ip[2] = {};

	bpf_probe_read_kernel(ip, sizeof(ip), data + 14 + 12);
	CHECK("sock: the packet has one", sk != NULL);
	CHECK("sock: number of the family", BPF_CORE_READ(sk, __sk_common.skc_family));
	CHECK("sock: source of the packet", BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr) == ip[0]);
	CHECK("sock: destination of the packet", BPF_CORE_READ(sk, __sk_common.skc_daddr) == ip[1]);
	CHECK("sock: number of the state", BPF_CORE_READ(sk, __sk_common.skc_state));
	CHECK("sock: number of references", BPF_CORE_READ(sk, __sk_common.skc_refcnt.refs.counter));
	CHECK("sock: number of the type", BPF_CORE_READ(sk, sk_type));
	CHECK("sock: number of the protocol", BPF_CORE_READ(sk, sk_protocol));
	CHECK("sock: no error", BPF_CORE_READ(sk, sk_err) == 0);
	CHECK("sock: number of the shut directions", BPF_CORE_READ_BITFIELD_PROBED(sk, sk_shutdown));
	CHECK("sock: number of bytes being sent", BPF_CORE_READ(sk, sk_wmem_alloc.refs.counter));
	CHECK("sock: room", BPF_CORE_READ(sk, sk_rcvbuf) > 0 && BPF_CORE_READ(sk, sk_sndbuf) > 0);
	CHECK("sock: of no file", BPF_CORE_READ(sk, sk_socket) == NULL);
	CHECK("sock: network namespace of the device", BPF_CORE_READ(sk, __sk_common.skc_net.net) == BPF_CORE_READ(skb, dev, nd_net.net));
	CHECK("sock: operations", BPF_CORE_READ(sk, __sk_common.skc_prot) != NULL);
	CHECK("sock: calls", BPF_CORE_READ(sk, sk_state_change) && BPF_CORE_READ(sk, sk_data_ready));
	walk(&f, (u64)AT(sk, sk_receive_queue), 0);
	CHECK("receive queue: closes", f.closes);
	CHECK("receive queue: as many as are counted", f.nodes == BPF_CORE_READ(sk, sk_receive_queue.qlen));
	walk(&f, (u64)AT(sk, sk_write_queue), 0);
	CHECK("write queue: closes", f.closes);
	CHECK("write queue: as many as are counted", f.nodes == BPF_CORE_READ(sk, sk_write_queue.qlen));
	walk(&f, (u64)AT(sk, sk_error_queue), 0);
	CHECK("error queue: closes", f.closes);
	CHECK("error queue: as many as are counted", f.nodes == BPF_CORE_READ(sk, sk_error_queue.qlen));
	return 0;
}

SEC("tc") int t_device(struct __sk_buff *ctx)
{
	struct sk_buff *skb = bpf_cast_to_kern_ctx(ctx);
	struct net_device *dev = BPF_CORE_READ(skb, dev);
	struct net *net = BPF_CORE_READ(dev, nd_net.net);
	u32 index = BPF_CORE_READ(dev, ifindex);
	struct hlist_node *node = NULL, **back;
	struct in_device *in = BPF_CORE_READ(dev, ip_ptr);
	struct found f;
	int i, hashed = 0, linked = 1;

	CHECK("device: number", index);
	CHECK("device: index of the context", index == ctx->ifindex);
	CHECK("device: the loopback device of its namespace", BPF_CORE_READ(net, loopback_dev) == dev);
	walk(&f, (u64)AT(net, dev_base_head), (u64)AT(dev, dev_list));
	CHECK("devices: close", f.closes);
	CHECK("devices: have the device", f.has);
	back = (void *)(BPF_CORE_READ(net, dev_index_head) + (index & 255));
	bpf_probe_read_kernel(&node, 8, back);
	for (i = 0; i < 8 && node; i++) {
		linked &= BPF_CORE_READ(node, pprev) == back;
		hashed |= (void *)node == AT(dev, index_hlist);
		back = (void *)AT(node, next);
		node = BPF_CORE_READ(node, next);
	}
	CHECK("device: hashed by its index", hashed);
	CHECK("device: the chain leads back", linked);
	CHECK("device: number of bytes of the name", length((u64)AT(dev, name)));
	CHECK("device: number of the type", BPF_CORE_READ(dev, type));
	CHECK("device: number of bytes in a packet", BPF_CORE_READ(dev, mtu));
	CHECK("device: number of bytes in headers", BPF_CORE_READ(dev, hard_header_len));
	CHECK("device: number of bytes in an address", BPF_CORE_READ(dev, addr_len));
	CHECK("device: packets within the limits", BPF_CORE_READ(dev, min_mtu) <= BPF_CORE_READ(dev, mtu) && (BPF_CORE_READ(dev, max_mtu) == 0 || BPF_CORE_READ(dev, mtu) <= BPF_CORE_READ(dev, max_mtu)));
	CHECK("device: number of the registration", BPF_CORE_READ(dev, reg_state));
	CHECK("device: queues for sending", BPF_CORE_READ(dev, real_num_tx_queues) >= 1 && BPF_CORE_READ(dev, real_num_tx_queues) <= BPF_CORE_READ(dev, num_tx_queues));
	CHECK("device: queues for receiving", BPF_CORE_READ(dev, real_num_rx_queues) >= 1 && BPF_CORE_READ(dev, real_num_rx_queues) <= BPF_CORE_READ(dev, num_rx_queues));
	CHECK("device: its queue leads back", BPF_CORE_READ(dev, _tx, dev) == dev);
	CHECK("device: operations", BPF_CORE_READ(dev, netdev_ops) && BPF_CORE_READ(dev, ethtool_ops) && BPF_CORE_READ(dev, header_ops));
	CHECK("device: has an address", BPF_CORE_READ(dev, dev_addr) != NULL);
	CHECK("IPv4: leads back", BPF_CORE_READ(in, dev) == dev);
	CHECK("IPv4: the address leads back", BPF_CORE_READ(in, ifa_list, ifa_dev) == in);
	CHECK("IPv4: number of the address", BPF_CORE_READ(in, ifa_list, ifa_local));
	CHECK("IPv4: number of the mask", BPF_CORE_READ(in, ifa_list, ifa_mask));
	CHECK("IPv4: number of bits of the network", BPF_CORE_READ(in, ifa_list, ifa_prefixlen));
	return 0;
}

CASE({"name": "t_skb", "runs": [{"prog": "t_skb", "data": "001122334455aabbccddeeff08004500003200014000400600000102030405060708303900500000000100000002501020000000000030313233343536373839"}]});
CASE({"name": "t_skb_sock", "runs": [{"prog": "t_skb_sock", "data": "001122334455aabbccddeeff08004500003200014000400600000102030405060708303900500000000100000002501020000000000030313233343536373839"}]});
CASE({"name": "t_device", "runs": [{"prog": "t_device", "data": "001122334455aabbccddeeff08004500003200014000400600000102030405060708303900500000000100000002501020000000000030313233343536373839"}]});
