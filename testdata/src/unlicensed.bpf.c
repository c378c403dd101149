// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// unlicensed: a helper for programs under the GPL, called by one that is not.
#include "types.h"
#include <bpf/bpf_helpers.h>

SEC("kprobe/do_unlinkat")
int traces(void *ctx)
{
	bpf_printk("unlink");
	return 0;
}

char LICENSE[] SEC("license") = "Apache-2.0";
