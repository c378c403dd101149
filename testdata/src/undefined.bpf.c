// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// undefined: a function and a constant that no section of the object defines.
#include "types.h"
#include <bpf/bpf_helpers.h>

extern int missing_function(int x);
extern const char missing_constant;

SEC("xdp")
int uses(struct xdp_md *ctx)
{
	return missing_function((__u64)&missing_constant);
}

char LICENSE[] SEC("license") = "GPL";
