// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// extcontexts: extensions (freplace) of functions of other objects, one for each context; and one without a context.
#include "types.h"
#include <bpf/bpf_helpers.h>

#define EXTENDS(type) \
	SEC("freplace/elsewhere") \
	int on_##type(struct type *ctx) \
	{ \
		return ctx ? bpf_get_smp_processor_id() : 1; \
	}

#define STRUCT(type) struct type { __u32 first; }; EXTENDS(type)

EXTENDS(__sk_buff)
EXTENDS(xdp_md)
STRUCT(bpf_sock)
STRUCT(bpf_sock_addr)
STRUCT(bpf_sock_ops)
STRUCT(sk_msg_md)
STRUCT(sk_reuseport_md)
STRUCT(bpf_sk_lookup)
STRUCT(bpf_cgroup_dev_ctx)
STRUCT(bpf_sysctl)
STRUCT(bpf_sockopt)
STRUCT(bpf_nf_ctx)
EXTENDS(bpf_raw_tracepoint_args)
STRUCT(bpf_perf_event_data)
STRUCT(pt_regs)

SEC("freplace/elsewhere")
int on_nothing(int a, int b)
{
	return a + b;
}

char LICENSE[] SEC("license") = "GPL";
