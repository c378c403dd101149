// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// connects: TCP connections and how long they took to be set up: fentry and fexit, and records too large for the stack.
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

struct sock_common {
	__be32 skc_daddr, skc_rcv_saddr;
	__be16 skc_dport;
	unsigned short skc_family;
} __attribute__((preserve_access_index));

struct sock {
	struct sock_common __sk_common;
} __attribute__((preserve_access_index));

struct connection {
	__u64 took;
	__u32 pid, ret;
	__be32 saddr, daddr;
	__be16 dport;
	__u16 family;
	char comm[16];
	char tag[512];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u64);
} started SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct sock *);
} sockets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct connection);
} scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 16);
} events SEC(".maps");

SEC("fentry/tcp_v4_connect")
int BPF_PROG(connect, struct sock *sk)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	__u64 now = bpf_ktime_get_ns();

	bpf_map_update_elem(&started, &tid, &now, BPF_ANY);
	bpf_map_update_elem(&sockets, &tid, &sk, BPF_ANY);
	return 0;
}

SEC("fexit/tcp_v4_connect")
int BPF_PROG(connected, struct sock *sk, void *addr, int len, int ret)
{
	__u64 id = bpf_get_current_pid_tgid(), *since;
	__u32 tid = (__u32)id, zero = 0;
	struct connection *c = bpf_map_lookup_elem(&scratch, &zero);
	struct sock **kept = bpf_map_lookup_elem(&sockets, &tid);

	since = bpf_map_lookup_elem(&started, &tid);
	if (!c || !since || !kept || *kept != sk)
		return 0;
	c->took = bpf_ktime_get_ns() - *since;
	c->pid = id >> 32;
	c->ret = ret;
	c->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	c->saddr = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
	c->daddr = BPF_CORE_READ(sk, __sk_common.skc_daddr);
	c->dport = BPF_CORE_READ(sk, __sk_common.skc_dport);
	bpf_get_current_comm(c->comm, sizeof(c->comm));
	bpf_ringbuf_output(&events, c, sizeof(*c), 0);
	bpf_map_delete_elem(&started, &tid);
	bpf_map_delete_elem(&sockets, &tid);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
