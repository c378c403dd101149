// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// functions: one program on several functions, which tells them apart by the cookie that it is attached to each with.
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define MOST 4
__u64 ips[MOST], calls[MOST];

SEC("kprobe.multi/vfs_rea*")
int on_each(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);

	if (cookie < MOST) {
		ips[cookie] = bpf_get_func_ip(ctx);
		calls[cookie]++;
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
