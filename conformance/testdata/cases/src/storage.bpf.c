// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// storage: local storages of tasks, cgroups and sockets.
#include "case.h"
#include <bpf/bpf_core_read.h>

struct task_struct {
	int pid;
	struct task_struct *group_leader;
	struct css_set *cgroups;
} CORE;

struct cgroup {
	int level;
} CORE;
struct css_set {
	struct cgroup *dfl_cgrp;
} CORE;

struct value {
	u64 n;
	u32 m;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct value);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGRP_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct value);
} cgroups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct value);
} socks SEC(".maps");

extern struct cgroup *bpf_cgroup_from_id(u64 id) __ksym;
extern void bpf_cgroup_release(struct cgroup *c) __ksym;

SEC("syscall") int t_task_storage(void *ctx)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	struct value init = {.n = 7, .m = 8}, *v;

	v = bpf_task_storage_get(&tasks, cur, NULL, 0);
	CHECK("task get missing", v == NULL);
	CHECK("task delete missing", bpf_task_storage_delete(&tasks, cur));
	v = bpf_task_storage_get(&tasks, cur, NULL, 2);
	CHECK("task get flags 2", v == NULL);
	v = bpf_task_storage_get(&tasks, cur, &init, BPF_LOCAL_STORAGE_GET_F_CREATE);
	CHECK("task create", v ? v->n : -1);
	if (v)
		v->n = 70;
	init.n = 9;
	v = bpf_task_storage_get(&tasks, cur, &init, BPF_LOCAL_STORAGE_GET_F_CREATE);
	CHECK("task create again", v ? v->n : -1);
	v = bpf_task_storage_get(&tasks, cur, NULL, 0);
	CHECK("task get", v ? v->m : -1);
	CHECK("task delete", bpf_task_storage_delete(&tasks, cur));
	CHECK("task delete again", bpf_task_storage_delete(&tasks, cur));
	v = bpf_task_storage_get(&tasks, cur, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	CHECK("task create without a value", v ? v->n : -1);
	return 0;
}

SEC("syscall") int t_cgrp_storage(void *ctx)
{
	struct cgroup *root = bpf_cgroup_from_id(1);
	struct value init = {.n = 7, .m = 8}, *v;

	if (!root)
		return 1;
	v = bpf_cgrp_storage_get(&cgroups, root, NULL, 0);
	CHECK("cgroup get missing", v == NULL);
	CHECK("cgroup delete missing", bpf_cgrp_storage_delete(&cgroups, root));
	v = bpf_cgrp_storage_get(&cgroups, root, &init, BPF_LOCAL_STORAGE_GET_F_CREATE);
	CHECK("cgroup create", v ? v->n : -1);
	if (v)
		v->m++;
	v = bpf_cgrp_storage_get(&cgroups, root, NULL, 0);
	CHECK("cgroup get", v ? v->m : -1);
	CHECK("cgroup delete", bpf_cgrp_storage_delete(&cgroups, root));
	bpf_cgroup_release(root);
	return 0;
}

SEC("tc") int t_sk_storage(struct __sk_buff *ctx)
{
	struct value init = {.n = 3}, *v;
	struct bpf_sock *sk = ctx->sk;

	CHECK("skb has a socket", sk != NULL);
	if (!sk)
		return 1;
	v = bpf_sk_storage_get(&socks, sk, NULL, 0);
	CHECK("sk get missing", v == NULL);
	CHECK("sk delete missing", bpf_sk_storage_delete(&socks, sk));
	sk = bpf_sk_fullsock(sk);
	CHECK("full socket", sk != NULL);
	if (!sk)
		return 2;
	v = bpf_sk_storage_get(&socks, sk, &init, BPF_SK_STORAGE_GET_F_CREATE);
	CHECK("sk create", v ? v->n : -1);
	if (v)
		v->n++;
	v = bpf_sk_storage_get(&socks, sk, &init, BPF_SK_STORAGE_GET_F_CREATE);
	CHECK("sk again", v ? v->n : -1);
	CHECK("sk delete", bpf_sk_storage_delete(&socks, sk));
	CHECK("sk family", sk->family);
	CHECK("sk type", sk->type);
	CHECK("sk protocol", sk->protocol);
	CHECK("sk mark", sk->mark);
	CHECK("sk state", sk->state);
	return 0;
}

/* The storage of the current task lives from run to run. */
SEC("syscall") int storage_count(void *ctx)
{
	struct value *v = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!v)
		return -1;
	return ++v->n;
}
CASE({"name": "storage_count_runs", "runs": [{"prog": "storage_count"}, {"prog": "storage_count"}, {"prog": "storage_count"}]});
