// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// fentry: bytes asked for and bytes got by vfs_read, per inode, through typed pointers (plain loads, no probe_read).
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

struct reads {
	__u64 calls;
	__u64 asked;
	__u64 got;
	__u64 failed;
	long long size;
	__u32 flags;
	__u16 mode;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct reads);
} by_inode SEC(".maps");

SEC("fentry/vfs_read")
int BPF_PROG(vfs_read_enter, struct file *file, char *buf, unsigned long count)
{
	struct reads zero = {}, *r;
	__u64 ino = file->f_inode->i_ino;

	r = bpf_map_lookup_elem(&by_inode, &ino);
	if (!r) {
		bpf_map_update_elem(&by_inode, &ino, &zero, BPF_NOEXIST);
		r = bpf_map_lookup_elem(&by_inode, &ino);
		if (!r)
			return 0;
	}
	__sync_fetch_and_add(&r->calls, 1);
	__sync_fetch_and_add(&r->asked, count);
	r->size = file->f_inode->i_size;
	r->mode = file->f_inode->i_mode;
	r->flags = file->f_flags;
	return 0;
}

SEC("fexit/vfs_read")
int BPF_PROG(vfs_read_exit, struct file *file, char *buf, unsigned long count, long long *pos, long ret)
{
	__u64 ino = file->f_inode->i_ino;
	struct reads *r;

	r = bpf_map_lookup_elem(&by_inode, &ino);
	if (!r)
		return 0;
	if (ret < 0)
		__sync_fetch_and_add(&r->failed, 1);
	else
		__sync_fetch_and_add(&r->got, ret);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
