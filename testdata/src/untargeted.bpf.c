// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// untargeted: section names without a target, of programs that others tail-call or that a loader attaches, and names that only a loader knows.
#include "types.h"
#include <bpf/bpf_helpers.h>

#define BARE(name, section) \
	SEC(section) \
	int on_##name(void *ctx) \
	{ \
		return bpf_get_smp_processor_id() > 1000; \
	}

BARE(tracepoint, "tracepoint")
BARE(tp, "tp")
BARE(kprobe, "kprobe")
BARE(kretprobe, "kretprobe")
BARE(uprobe, "uprobe")
BARE(uretprobe, "uretprobe")
BARE(raw_tracepoint, "raw_tracepoint")
BARE(raw_tp, "raw_tp")
BARE(perf_event, "perf_event")
BARE(kprobe_multi, "kprobe.multi")
BARE(ksyscall, "ksyscall")
BARE(usdt, "usdt")

BARE(fentry, "fentry")
BARE(dummy_fentry, "fentry/dummy_function")
BARE(dummy_lsm, "lsm/dummy_hook")
BARE(sockops, "cgroup/sockops")

char LICENSE[] SEC("license") = "GPL";
