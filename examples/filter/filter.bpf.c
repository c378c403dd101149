// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// socket filter: of DNS 128 bytes are kept, of ICMP everything, of the rest nothing.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

SEC("socket")
int capture(struct __sk_buff *skb)
{
	__be16 ports[2];
	__u8 vhl, proto;

	if (skb->protocol != bpf_htons(ETH_P_IP) || bpf_skb_load_bytes_relative(skb, 0, &vhl, 1, 1) || bpf_skb_load_bytes_relative(skb, 9, &proto, 1, 1))
		return 0;
	if (proto == 1)
		return skb->len;
	if (proto != IPPROTO_UDP || bpf_skb_load_bytes_relative(skb, (vhl & 0xf) * 4, ports, sizeof(ports), 1))
		return 0;
	skb->cb[0] = bpf_ntohs(ports[1]);
	return skb->cb[0] == 53 ? 128 : 0;
}

char LICENSE[] SEC("license") = "GPL";
