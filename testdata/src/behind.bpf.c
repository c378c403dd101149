// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// behind: records with bytes that were never stored, behind what decides programs of tracing tools: the same kernel object in two events, and a long
// name. The tests of package fuzz search it.
#include "types.h"
#include <bpf/bpf_helpers.h>

// Of x86.
struct pt_regs {
	unsigned long si;
} __attribute__((preserve_access_index));

struct note {
	__u32 what; // and a hole
	__u64 when;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 128);
	__type(key, __u64);
	__type(value, __u64);
} born SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} notes SEC(".maps");

static __always_inline void send(__u32 what, __u64 when)
{
	struct note *n = bpf_ringbuf_reserve(&notes, sizeof(*n), 0);

	if (!n)
		return;
	n->what = what;
	n->when = when;
	bpf_ringbuf_submit(n, 0);
}

SEC("kprobe/security_inode_create")
int made(struct pt_regs *ctx)
{
	__u64 key = ctx->si, now = bpf_ktime_get_ns();

	bpf_map_update_elem(&born, &key, &now, BPF_ANY);
	return 0;
}

// The dentry is only looked up: nothing is read from it.
SEC("kprobe/security_inode_rename")
int moved(struct pt_regs *ctx)
{
	__u64 key = ctx->si, *when = bpf_map_lookup_elem(&born, &key);

	if (when)
		send(1, *when);
	return 0;
}

SEC("kprobe/security_inode_rmdir")
int named(void *ctx)
{
	char comm[16];

	bpf_get_current_comm(comm, sizeof(comm));
	if (comm[14])
		send(3, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
