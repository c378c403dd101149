// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// cgroup_skb: what a cgroup sends is counted by its socket, and telnet is not sent.
#include "sock.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, 1);
	__type(key, int);
	__type(value, __u64);
} sent SEC(".maps");

__u64 total, last;

SEC("cgroup_skb/egress")
int egress(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct bpf_sock *sk = (struct bpf_sock *)*(__u64 *)((void *)skb + 168);
	struct iphdr *ip = data;
	__be16 *ports;
	__u64 *n;

	if ((void *)(ip + 1) > end || ip->vhl != 0x45)
		return 1;
	ports = (void *)(ip + 1);
	if ((void *)(ports + 2) <= end && ip->protocol == IPPROTO_TCP && ports[1] == bpf_htons(23))
		return 0;
	total += skb->len;
	if (!sk)
		return 1;
	sk = bpf_sk_fullsock(sk);
	if (!sk)
		return 1;
	n = bpf_sk_storage_get(&sent, sk, 0, 1);
	if (n) {
		*n += skb->len;
		last = *n;
	}
	return 1;
}

char LICENSE[] SEC("license") = "GPL";
