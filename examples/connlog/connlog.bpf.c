// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// connlog: a record of each TCP connection that a process opens. It has a bug that the verifier does not see: docs/find.md finds it.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define AF_INET 2
#define AF_INET6 10

struct in6_addr {
	__u8 bytes[16];
};

struct sock_common {
	__be32 skc_daddr, skc_rcv_saddr;
	__be16 skc_dport;
	unsigned short skc_family;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
} __attribute__((preserve_access_index));

struct sock {
	struct sock_common __sk_common;
} __attribute__((preserve_access_index));

struct connection {
	__u8 saddr[16], daddr[16];
	__u64 when;
	__u32 pid;
	__u16 family;
	__be16 port;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} connections SEC(".maps");

SEC("fentry/tcp_connect")
int BPF_PROG(on_connect, struct sock *sk)
{
	__u16 family = sk->__sk_common.skc_family;
	struct connection *c;

	if (family != AF_INET && family != AF_INET6)
		return 0;
	c = bpf_ringbuf_reserve(&connections, sizeof(*c), 0);
	if (!c)
		return 0;
	c->when = bpf_ktime_get_ns();
	c->pid = bpf_get_current_pid_tgid() >> 32;
	c->family = family;
	c->port = sk->__sk_common.skc_dport;
	if (family == AF_INET) {
		*(__be32 *)c->saddr = sk->__sk_common.skc_rcv_saddr;
		*(__be32 *)c->daddr = sk->__sk_common.skc_daddr;
	} else {
		bpf_probe_read_kernel(c->saddr, 16, &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_probe_read_kernel(c->daddr, 16, &sk->__sk_common.skc_v6_daddr);
	}
	bpf_ringbuf_submit(c, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
