// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// sleepable: programs that may wait for memory: hooks with .s, and the hooks of one cgroup.
#include "hooks.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

char first_word[16];
__u64 opened;
int refused;

SEC("fentry.s/security_file_open")
int BPF_PROG(on_open, struct file *file)
{
	opened = file->f_inode->i_ino;
	return 0;
}

SEC("lsm.s/bprm_check_security")
int BPF_PROG(on_exec, struct linux_binprm *bprm, int ret)
{
	struct task_struct___mm *task = (void *)bpf_get_current_task_btf();

	if (task->mm)
		bpf_copy_from_user(first_word, sizeof(first_word), (const void *)task->mm->arg_start);
	return ret;
}

SEC("lsm_cgroup/socket_bind")
int BPF_PROG(on_bind, void *sock, void *address, int addrlen)
{
	refused = addrlen < 16;
	return !refused; // 1 goes on, 0 is -EPERM
}

char LICENSE[] SEC("license") = "GPL";
