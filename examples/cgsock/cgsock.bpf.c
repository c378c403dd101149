// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Sockets of a cgroup: those created get a mark, raw ones are not created, and ports are counted when they are bound.
#include "sock.h"
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u64);
} ports SEC(".maps");

__u64 open;

SEC("cgroup/sock_create")
int create(struct bpf_sock *sk)
{
	if (sk->type == 3)
		return 0;
	sk->mark = 0x100 | sk->family;
	sk->priority = 6;
	__sync_fetch_and_add(&open, 1);
	return 1;
}

SEC("cgroup/sock_release")
int release(struct bpf_sock *sk)
{
	__sync_fetch_and_add(&open, -1);
	return 1;
}

SEC("cgroup/post_bind4")
int bound(struct bpf_sock *sk)
{
	__u64 one = 1, *n;
	__u32 port = sk->src_port;

	n = bpf_map_lookup_elem(&ports, &port);
	if (n)
		(*n)++;
	else
		bpf_map_update_elem(&ports, &port, &one, 0);
	return port != 0;
}

char LICENSE[] SEC("license") = "GPL";
