// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// sysctl: a cgroup may read everything, write net/ipv4/tcp_mem within bounds, and nothing else.
#include "sock.h"
#include <bpf/bpf_helpers.h>

static const char tcp_mem[] = "net/ipv4/tcp_mem";

SEC("cgroup/sysctl")
int filter(struct bpf_sysctl *ctx)
{
	char name[32] = {}, value[32] = {};
	unsigned long pages;
	long n;
	int i;

	if (!ctx->write)
		return 1;
	n = bpf_sysctl_get_name(ctx, name, sizeof(name), 0);
	if (n != sizeof(tcp_mem) - 1)
		return 0;
	for (i = 0; i < (int)sizeof(tcp_mem) - 1; i++)
		if (name[i] != tcp_mem[i])
			return 0;
	n = bpf_sysctl_get_new_value(ctx, value, sizeof(value));
	if (n < 0 || bpf_strtoul(value, sizeof(value), 0, &pages) < 0)
		return 0;
	if (pages > 4096) {
		char most[] = "4096 4096 4096";

		return !bpf_sysctl_set_new_value(ctx, most, sizeof(most) - 1);
	}
	return 1;
}

char LICENSE[] SEC("license") = "GPL";
