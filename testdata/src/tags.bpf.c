// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// tags: attributes in BTF: type tags (kptr, percpu, user), declaration tags on functions, arguments, members and variables, an
// exception callback named only by a declaration tag, spin lock and kptr in a map value.
#include "kernel.h"
#include <bpf/bpf_helpers.h>

#ifndef __kptr
#define __kptr __attribute__((btf_type_tag("kptr")))
#endif
#define __tag(s) __attribute__((btf_decl_tag(s)))

struct bpf_spin_lock {
	__u32 val;
};

struct guarded_value {
	struct bpf_spin_lock lock;
	__u64 sum __tag("guarded_by:lock");
	struct task_struct __kptr *task;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct guarded_value);
} values SEC(".maps");

__u64 secret __tag("sensitive");

extern void bpf_throw(__u64 cookie) __ksym __weak;

__attribute__((noinline)) int on_throw(__u64 cookie)
{
	return cookie + 1;
}

__attribute__((noinline)) int not_null(const __u64 *p __tag("arg:nonnull"))
{
	return p ? *p : 0;
}

SEC("tc")
__tag("exception_callback:on_throw")
int throws(struct __sk_buff *skb)
{
	__u64 v = skb->mark;

	if (v > 10)
		bpf_throw(v);
	return not_null(&v);
}

SEC("tc")
int locked(struct __sk_buff *skb)
{
	struct guarded_value *v;
	__u32 zero = 0;

	v = bpf_map_lookup_elem(&values, &zero);
	if (!v)
		return -1;
	bpf_spin_lock((void *)&v->lock);
	v->sum += skb->len;
	secret = v->sum;
	bpf_spin_unlock((void *)&v->lock);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
