// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Reads past the end of an object of the kernel, in the lines that end in "wrong", and reads that end there.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

struct cred {
	int uid;
} __attribute__((preserve_access_index));

struct task_struct {
	const struct cred *cred;
} __attribute__((preserve_access_index));

static unsigned char copy[512];

SEC("tp_btf/sched_switch")
int BPF_PROG(whole, _Bool preempt, struct task_struct *prev)
{
	unsigned int n = bpf_core_type_size(struct cred);

	if (n <= sizeof(copy))
		bpf_probe_read_kernel(copy, n, prev->cred);
	return copy[0];
}

SEC("tp_btf/sched_switch")
int BPF_PROG(guessed, _Bool preempt, struct task_struct *prev)
{
	bpf_probe_read_kernel(copy, sizeof(copy), prev->cred); /* wrong */
	return copy[0];
}

/* One finding, however often. */
SEC("tp_btf/sched_switch")
int BPF_PROG(in_loop, _Bool preempt, struct task_struct *prev)
{
	for (int i = 0; i < 3; i++)
		bpf_probe_read_kernel(copy, sizeof(copy), prev->cred); /* wrong */
	return copy[0];
}

char LICENSE[] SEC("license") = "GPL";
