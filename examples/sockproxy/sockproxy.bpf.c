// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// sockmap: a proxy in the kernel. The client's messages begin with their length and the number of a backend; replies of
// backends begin with R and their length.
#include "types.h"
#include <bpf/bpf_helpers.h>

#define SK_DROP 0
#define SK_PASS 1
#define INGRESS 1 /* BPF_F_INGRESS */
#define EINVAL 22

/* struct sk_msg_md of linux/bpf.h, as far as it is used here. */
struct sk_msg_md {
	void *data;
	void *data_end;
	__u32 family, remote_ip4, local_ip4, remote_ip6[4], local_ip6[4], remote_port, local_port, size;
};

struct {
	__uint(type, BPF_MAP_TYPE_SOCKMAP);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} backends SEC(".maps");

SEC("sk_skb/stream_parser")
int cut(struct __sk_buff *skb)
{
	__u8 len;

	if (bpf_skb_load_bytes(skb, 0, &len, sizeof(len)))
		return 0; /* more */
	return len < 2 ? -EINVAL : len;
}

SEC("sk_skb/stream_verdict")
int route(struct __sk_buff *skb)
{
	__u8 to;

	if (bpf_skb_load_bytes(skb, 1, &to, sizeof(to)))
		return SK_DROP;
	return bpf_sk_redirect_map(skb, &backends, to, to == 2 ? INGRESS : 0);
}

SEC("sk_msg")
int reply(struct sk_msg_md *msg)
{
	__u8 *p;

	if (msg->size < 4) {
		bpf_msg_cork_bytes(msg, 4);
		return SK_PASS;
	}
	p = msg->data;
	if ((void *)(p + 2) > msg->data_end)
		return SK_PASS;
	if (p[0] == 'X')
		return SK_DROP;
	if (p[0] != 'R')
		return SK_PASS;
	bpf_msg_apply_bytes(msg, p[1]);
	return bpf_msg_redirect_map(msg, &backends, 0, INGRESS);
}

char LICENSE[] SEC("license") = "GPL";
