// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// unlink: the classic first program, a kprobe with a ring buffer. Newer kernels have no do_unlinkat: there the hook is unknown.
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

struct event {
	__u32 pid;
	__u32 ppid;
	__u32 uid;
	char comm[16];
	char parent_comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} events SEC(".maps");

// Keeps the type in BTF, so that whoever reads the records can decode them.
const struct event *unused_event __attribute__((unused));

SEC("kprobe/do_unlinkat")
int on_unlink(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct event e = {};

	e.pid = bpf_get_current_pid_tgid() >> 32;
	e.uid = (__u32)bpf_get_current_uid_gid();
	e.ppid = BPF_CORE_READ(task, real_parent, tgid);
	BPF_CORE_READ_STR_INTO(&e.comm, task, comm);
	BPF_CORE_READ_STR_INTO(&e.parent_comm, task, real_parent, comm);
	bpf_ringbuf_output(&events, &e, sizeof(e), 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
