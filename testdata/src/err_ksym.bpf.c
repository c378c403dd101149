// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// err_ksym: a strong kfunc and a strong variable that no kernel has: the object must not load.
#include "types.h"
#include <bpf/bpf_helpers.h>

extern int bpf_no_such_kfunc(int x) __ksym;
extern const int no_such_variable __ksym;

SEC("syscall")
int uses(__u64 *ctx)
{
	return bpf_no_such_kfunc(*(int *)bpf_this_cpu_ptr(&no_such_variable));
}

char LICENSE[] SEC("license") = "GPL";
