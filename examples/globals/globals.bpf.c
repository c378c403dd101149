// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// globals: settings in .rodata and .data, counters in .bss: system calls of one process, by number.
#include "types.h"
#include <bpf/bpf_helpers.h>

#define MAX_NR 512

// Set before the program is loaded; 0 means every process.
const volatile __u32 target_tgid;
const volatile __u32 sample_every = 1;
const volatile bool count_by_number = true;

// Changed while the program runs.
__u64 limit = 1000000;
char last_comm[16] = "(none)";
struct {
	__u32 nr;
	__u32 tgid;
} last = {.nr = 0xffffffff};

__u64 total;
__u64 over_limit;
__u64 by_number[MAX_NR];
static __u32 tick;

SEC("raw_tracepoint/sys_enter")
int on_sys_enter(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	// Arguments of the tracepoint: struct pt_regs *regs, long id.
	__u64 nr = ((__u64 *)ctx)[1];

	if (target_tgid && tgid != target_tgid)
		return 0;
	if (sample_every > 1 && tick++ % sample_every)
		return 0;
	if (total >= limit) {
		over_limit++;
		return 0;
	}
	total++;
	last.nr = nr;
	last.tgid = tgid;
	bpf_get_current_comm(last_comm, sizeof(last_comm));
	if (count_by_number && nr < MAX_NR)
		by_number[nr]++;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
