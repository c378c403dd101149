// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// deadlicence: a helper that the licence forbids, in code that only the verifier knows to be dead, and where it is reached.
#include "types.h"
#include <bpf/bpf_helpers.h>

SEC("kprobe/vfs_read")
int licence(void *ctx)
{
	__u32 n = bpf_get_smp_processor_id() & 7, word = 0;

	asm volatile("" : "+r"(n));
	if (n > 7)
		bpf_probe_read_kernel(&word, 4, ctx);
	return word;
}

SEC("kprobe/vfs_read")
int err_licence(void *ctx)
{
	__u32 word = 0;

	bpf_probe_read_kernel(&word, 4, ctx);
	return word;
}

char LICENSE[] SEC("license") = "Proprietary";
