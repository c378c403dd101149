// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// tenants: a map of maps. Each user has a table of its own with the ports its processes may connect to; user space adds and replaces tables.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

struct bpf_sock_addr {
	__u32 user_family;
	__u32 user_ip4;
	__u32 user_ip6[4];
	__u32 user_port;
};

struct ports {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u16);
	__type(value, __u64);	/* connections */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 128);
	__type(key, __u32);
	__array(values, struct ports);
} tenants SEC(".maps");

SEC("cgroup/connect4")
int check(struct bpf_sock_addr *ctx)
{
	__u32 uid = bpf_get_current_uid_gid();
	__u16 port = bpf_ntohs(ctx->user_port);
	void *table = bpf_map_lookup_elem(&tenants, &uid);
	__u64 *connections;

	if (!table)
		return 1;	/* nothing is said about this user */
	connections = bpf_map_lookup_elem(table, &port);
	if (!connections)
		return 0;
	__sync_fetch_and_add(connections, 1);
	return 1;
}

char LICENSE[] SEC("license") = "GPL";
