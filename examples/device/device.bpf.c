// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// device: a cgroup may use /dev/null and /dev/zero, and read /dev/random.
#include "sock.h"
#include <bpf/bpf_helpers.h>

#define ACC_WRITE 4
#define DEV_CHAR 2

SEC("cgroup/dev")
int allow(struct bpf_cgroup_dev_ctx *ctx)
{
	__u32 type = ctx->access_type & 0xffff, access = ctx->access_type >> 16;

	if (type != DEV_CHAR || ctx->major != 1)
		return 0;
	switch (ctx->minor) {
	case 3:
	case 5:
		return 1;
	case 8:
		return !(access & ACC_WRITE);
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
