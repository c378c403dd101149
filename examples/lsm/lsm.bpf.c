// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// lsm: refuses execve for the users listed in a map, and lets an earlier refusal of another module stand.
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 128);
	__type(key, __u32);
	__type(value, __u8);
} denied_uids SEC(".maps");

struct denial {
	__u32 pid;
	__u32 uid;
	__u64 ino;
	char filename[64];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} denials SEC(".maps");

// Keeps the type in BTF, so that whoever reads the records can decode them.
const struct denial *unused_denial __attribute__((unused));

SEC("lsm/bprm_check_security")
int BPF_PROG(check_exec, struct linux_binprm *bprm, int ret)
{
	struct denial *d;
	__u32 uid;

	if (ret)
		return ret;
	uid = bprm->cred->uid.val;
	if (!bpf_map_lookup_elem(&denied_uids, &uid))
		return 0;
	d = bpf_ringbuf_reserve(&denials, sizeof(*d), 0);
	if (d) {
		__builtin_memset(d->filename, 0, sizeof(d->filename)); /* what follows the string leaves, too */
		d->pid = bpf_get_current_pid_tgid() >> 32;
		d->uid = uid;
		d->ino = bprm->file->f_inode->i_ino;
		bpf_probe_read_kernel_str(d->filename, sizeof(d->filename), bprm->filename);
		bpf_ringbuf_submit(d, 0);
	}
	return -EPERM;
}

char LICENSE[] SEC("license") = "GPL";
