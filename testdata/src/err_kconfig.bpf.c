// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// err_kconfig: a strong configuration option that does not exist: the object must not load.
#include "types.h"
#include <bpf/bpf_helpers.h>

extern int CONFIG_NO_SUCH_OPTION __kconfig;

SEC("syscall")
int uses(__u64 *ctx)
{
	return CONFIG_NO_SUCH_OPTION;
}

char LICENSE[] SEC("license") = "GPL";
