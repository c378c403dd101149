// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// fmod_ret: opening a file is refused before the kernel's own check, unless an earlier program already refused it.
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

const volatile __u64 secret_ino = 77;

SEC("fmod_ret/security_file_open")
int BPF_PROG(guard_open, struct file *file, int ret)
{
	if (ret)
		return ret;
	return file->f_inode->i_ino == secret_ino ? -1 : 0;
}

char LICENSE[] SEC("license") = "GPL";
