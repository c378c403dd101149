// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// getsockopt and setsockopt of a cgroup: marks are not changed, the congestion control is, and a private option has a value here.
#include "sock.h"
#include <bpf/bpf_helpers.h>

#define PRIVATE 0x1234

SEC("cgroup/setsockopt")
int set(struct bpf_sockopt *ctx)
{
	char *optval = (char *)ctx->optval, *end = (char *)ctx->optval_end;

	if (ctx->level == SOL_SOCKET && ctx->optname == SO_MARK)
		return 0; /* EPERM */
	if (ctx->level == SOL_TCP && ctx->optname == TCP_CONGESTION) {
		if (optval + 5 > end)
			return 0;
		if (optval[0] == 'b' && optval[1] == 'b' && optval[2] == 'r') {
			__builtin_memcpy(optval, "cubic", 5);
			ctx->optlen = 5;
		}
		return 1;
	}
	if (ctx->level == SOL_SOCKET && ctx->optname == PRIVATE)
		ctx->optlen = -1; /* handled here: the kernel does not see it */
	return 1;
}

SEC("cgroup/getsockopt")
int get(struct bpf_sockopt *ctx)
{
	__u32 *optval = (__u32 *)ctx->optval;

	if (ctx->level != SOL_SOCKET || ctx->optname != PRIVATE)
		return 1;
	if ((void *)(optval + 1) > (void *)ctx->optval_end)
		return 0;
	*optval = 42;
	/* One field at a time: a store of both at once is none the verifier knows. */
	*(volatile __s32 *)&ctx->optlen = sizeof(*optval);
	*(volatile __s32 *)&ctx->retval = 0; /* the kernel knew no such option */
	return 1;
}

char LICENSE[] SEC("license") = "GPL";
