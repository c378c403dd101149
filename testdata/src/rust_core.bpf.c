// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// rust_core: what rust.rs knows of the kernel's types, with CO-RE records; linked to it as bitcode.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

struct task_struct {
	int tgid;
	struct task_struct *real_parent;
	char comm[16];
	unsigned int __state;
} __attribute__((preserve_access_index));

struct task_struct___before_5_14 {
	long state;
} __attribute__((preserve_access_index));

#define shim __attribute__((always_inline))

shim __u32 core_tgid(const struct task_struct *t)
{
	return BPF_CORE_READ(t, tgid);
}

shim __u32 core_parent_tgid(const struct task_struct *t)
{
	return BPF_CORE_READ(t, real_parent, tgid);
}

shim long core_comm(const struct task_struct *t, char *to, __u32 n)
{
	return bpf_core_read_str(to, n, &t->comm);
}

shim _Bool core_has_state(const struct task_struct *t)
{
	if (bpf_core_field_exists(t->__state))
		return 1;
	return bpf_core_field_exists(((struct task_struct___before_5_14 *)t)->state);
}
