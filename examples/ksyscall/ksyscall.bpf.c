// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// ksyscall: system calls by name, whatever the kernel calls the function and wherever it finds the arguments.
#include "kernel.h"
#include "regs.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

int killed, sig, result;

SEC("ksyscall/kill")
int BPF_KSYSCALL(on_kill, int pid, int nr)
{
	killed = pid;
	sig = nr;
	return 0;
}

SEC("kretsyscall/kill")
int BPF_KRETPROBE(on_killed, long ret)
{
	result = ret;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
