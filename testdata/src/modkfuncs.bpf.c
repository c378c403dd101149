// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// modkfuncs: calls of kfuncs that no table knows; those of btf/ids/testdata/counters.ko.
#include "types.h"
#include <bpf/bpf_helpers.h>

struct bpfrun_counter {
	__u64 value;
	__u32 users;
};

struct bpfrun_counter *bpfrun_counter_get(__u32 cpu) __ksym;
void bpfrun_counter_put(struct bpfrun_counter *c) __ksym;
__u64 bpfrun_counter_add(struct bpfrun_counter *c, __u64 n) __ksym;
int bpfrun_counter_peek(struct bpfrun_counter *c) __ksym;

SEC("syscall")
int counts(void *ctx)
{
	struct bpfrun_counter *c = bpfrun_counter_get(0);

	if (!c)
		return 0;
	bpfrun_counter_add(c, 1);
	bpfrun_counter_put(c);
	return 0;
}

SEC("syscall")
int keeps(void *ctx)
{
	return bpfrun_counter_get(0) != 0; // a reference is lost
}

SEC("syscall")
int unchecked(void *ctx)
{
	bpfrun_counter_put(bpfrun_counter_get(0)); // it may be NULL
	return 0;
}

SEC("tc")
int elsewhere(void *ctx)
{
	struct bpfrun_counter *c = bpfrun_counter_get(0);

	if (c)
		bpfrun_counter_put(c);
	return 0;
}

SEC("syscall")
int no_kfunc(void *ctx)
{
	return bpfrun_counter_peek(0); // a function that is in no set
}

char LICENSE[] SEC("license") = "GPL";
