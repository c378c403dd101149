// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// more_kfuncs: resilient locks, iterators over tasks and cgroups, strings without case, counts of map elements, loops that may end.
#include "case.h"
#include <bpf/bpf_core_read.h>

struct task_struct {
	int pid;
	int tgid;
} CORE;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
} CORE;

struct cgroup {
	struct cgroup_subsys_state self;
	int level;
} CORE;

struct bpf_iter_task {
	u64 opaque[3];
};
struct bpf_iter_css {
	u64 opaque[3];
};
struct bpf_iter_css_task {
	u64 opaque[1];
};

extern int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *t, u32 flags) __ksym;
extern struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it) __ksym;
extern void bpf_iter_task_destroy(struct bpf_iter_task *it) __ksym;
extern int bpf_iter_css_new(struct bpf_iter_css *it, struct cgroup_subsys_state *start, u32 flags) __ksym;
extern struct cgroup_subsys_state *bpf_iter_css_next(struct bpf_iter_css *it) __ksym;
extern void bpf_iter_css_destroy(struct bpf_iter_css *it) __ksym;
extern struct cgroup *bpf_cgroup_from_id(u64 id) __ksym;
extern void bpf_cgroup_release(struct cgroup *c) __ksym;
extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;
extern int bpf_strcasecmp(const char *a, const char *b) __ksym;
struct bpf_map {
	u32 id;
} CORE;
extern s64 bpf_map_sum_elem_count(const struct bpf_map *map) __ksym;
struct bpf_res_spin_lock {
	u32 val;
};
extern int bpf_res_spin_lock(struct bpf_res_spin_lock *l) __ksym;
extern void bpf_res_spin_unlock(struct bpf_res_spin_lock *l) __ksym;
extern int bpf_res_spin_lock_irqsave(struct bpf_res_spin_lock *l, unsigned long *f) __ksym;
extern void bpf_res_spin_unlock_irqrestore(struct bpf_res_spin_lock *l, unsigned long *f) __ksym;

struct locked {
	struct bpf_res_spin_lock lock;
	u32 v;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, struct locked);
	__uint(max_entries, 3);
} locks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, u32);
	__type(value, u64);
	__uint(max_entries, 10);
} hash SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, u64);
	__uint(max_entries, 10);
} arr SEC(".maps");

SEC("tc") int t_res_lock(struct __sk_buff *ctx)
{
	u32 k0 = 0, k1 = 1;
	struct locked *a = bpf_map_lookup_elem(&locks, &k0), *b = bpf_map_lookup_elem(&locks, &k1);
	unsigned long f;
	int r;

	if (!a || !b)
		return 1;
	r = bpf_res_spin_lock(&a->lock);
	CHECK("res lock", r);
	if (r)
		return 2;
	a->v++;
	r = bpf_res_spin_lock(&b->lock);
	CHECK("res lock of another", r);
	if (!r)
		bpf_res_spin_unlock(&b->lock);
	bpf_res_spin_unlock(&a->lock);
	r = bpf_res_spin_lock_irqsave(&a->lock, &f);
	CHECK("res lock irqsave", r);
	if (!r)
		bpf_res_spin_unlock_irqrestore(&a->lock, &f);
	return 0;
}

u64 seen, own, first, last, wrong;

SEC("syscall") int t_task_iter(void *ctx)
{
	struct task_struct *cur = bpf_get_current_task_btf(), *t;
	struct bpf_iter_task it;

	bpf_rcu_read_lock();
	CHECK("iter own threads", bpf_iter_task_new(&it, cur, 2));
	while ((t = bpf_iter_task_next(&it))) {
		seen++;
		own += t->pid == cur->pid;
		wrong += t->tgid != cur->tgid;
	}
	bpf_iter_task_destroy(&it);
	CHECK("own threads", seen >= 1);
	CHECK("own thread once", own);
	CHECK("threads of others", wrong);
	seen = own = 0;
	CHECK("iter processes", bpf_iter_task_new(&it, NULL, 0));
	while ((t = bpf_iter_task_next(&it))) {
		seen++;
		own += t->pid == cur->tgid;
	}
	bpf_iter_task_destroy(&it);
	CHECK("some processes", seen > 0);
	CHECK("own process once", own);
	CHECK("iter flags 3", bpf_iter_task_new(&it, NULL, 3));
	CHECK("iter flags 3 next", bpf_iter_task_next(&it) == NULL);
	bpf_iter_task_destroy(&it);
	CHECK("iter threads of NULL", bpf_iter_task_new(&it, NULL, 2));
	bpf_iter_task_destroy(&it);
	bpf_rcu_read_unlock();
	return 0;
}

SEC("syscall") int t_css_iter(void *ctx)
{
	struct cgroup *root = bpf_cgroup_from_id(1);
	struct cgroup_subsys_state *css;
	struct bpf_iter_css it;

	if (!root)
		return 1;
	bpf_rcu_read_lock();
	CHECK("iter pre", bpf_iter_css_new(&it, &root->self, 2));
	while ((css = bpf_iter_css_next(&it))) {
		if (seen == 0)
			first = css == &root->self;
		seen++;
	}
	bpf_iter_css_destroy(&it);
	CHECK("pre: the root is first", first);
	CHECK("iter post", bpf_iter_css_new(&it, &root->self, 3));
	while ((css = bpf_iter_css_next(&it)))
		last = css == &root->self;
	bpf_iter_css_destroy(&it);
	CHECK("post: the root is last", last);
	seen = 0;
	CHECK("iter up", bpf_iter_css_new(&it, &root->self, 4));
	while ((css = bpf_iter_css_next(&it)))
		seen++;
	bpf_iter_css_destroy(&it);
	CHECK("up: the root alone", seen);
	CHECK("iter flags 9", bpf_iter_css_new(&it, &root->self, 9));
	CHECK("iter flags 9 next", bpf_iter_css_next(&it) == NULL);
	bpf_iter_css_destroy(&it);
	bpf_rcu_read_unlock();
	bpf_cgroup_release(root);
	return 0;
}

CASE({"name": "t_task_iter", "env_dependent": ["global:seen"]});
CASE({"name": "t_css_iter", "env_dependent": ["global:seen"]});

char text[] = "Hello, World";

SEC("syscall") int t_case(void *ctx)
{
	CHECK("strcasecmp", bpf_strcasecmp(text, "hELLO, wORLD"));
	CHECK("strcasecmp prefix", bpf_strcasecmp(text, "hello"));
	return 0;
}

SEC("tc") int t_sum(struct __sk_buff *ctx)
{
	u64 v = 1;

	CHECK("sum of an empty hash", bpf_map_sum_elem_count((struct bpf_map *)&hash));
	for (u32 i = 0; i < 4; i++) {
		u32 k = i;

		bpf_map_update_elem(&hash, &k, &v, 0);
	}
	CHECK("sum of four", bpf_map_sum_elem_count((struct bpf_map *)&hash));
	CHECK("sum of an array", bpf_map_sum_elem_count((struct bpf_map *)&arr));
	return 0;
}

SEC("tc") int t_may_goto(struct __sk_buff *ctx)
{
	u64 n = 0;

	for (;;) {
		if (n == 100)
			break;
		n++;
		asm volatile goto("may_goto %l[end]" : : : : end);
	}
end:
	CHECK("iterations", n);
	return 0;
}

SEC("syscall") int t_helpers(void *ctx)
{
	u64 addr = 1;
	u8 buf[8] = {1, 1, 1, 1, 1, 1, 1, 1};

	CHECK("copy_from_user NULL", bpf_copy_from_user(buf, 8, NULL));
	CHECK("copy_from_user zeroes", *(u64 *)buf);
	CHECK("kallsyms missing", bpf_kallsyms_lookup_name("no_such_symbol_here", 20, 0, &addr));
	CHECK("kallsyms missing address", addr);
	CHECK("kallsyms flags", bpf_kallsyms_lookup_name("x", 2, 1, &addr));
	CHECK("kallsyms no NUL", bpf_kallsyms_lookup_name("ab", 2, 0, &addr));
	CHECK("sys_close", bpf_sys_close(12345));
	CHECK("btf_find void name", bpf_btf_find_by_name_kind("task_struct", 12, 4, 0) > 0);
	CHECK("btf_find missing", bpf_btf_find_by_name_kind("no_such_struct", 15, 4, 0));
	CHECK("btf_find flags", bpf_btf_find_by_name_kind("task_struct", 12, 4, 1));
	CHECK("btf_find no NUL", bpf_btf_find_by_name_kind("task_struct", 3, 4, 0));
	CHECK("send_signal to no signal", bpf_send_signal(0));
	return 0;
}

SEC("tc") int t_lookup(struct __sk_buff *ctx)
{
	struct bpf_sock_tuple tuple = {.ipv4 = {.saddr = 1, .daddr = 2, .sport = 3, .dport = 4}};
	struct bpf_fib_lookup fib = {.family = 99, .ifindex = 1};
	struct bpf_sock *sk;

	sk = bpf_sk_lookup_tcp(ctx, &tuple, sizeof(tuple.ipv4), BPF_F_CURRENT_NETNS, 0);
	CHECK("no tcp socket", sk == NULL);
	if (sk)
		bpf_sk_release(sk);
	sk = bpf_sk_lookup_udp(ctx, &tuple, sizeof(tuple.ipv4), BPF_F_CURRENT_NETNS, 0);
	CHECK("no udp socket", sk == NULL);
	if (sk)
		bpf_sk_release(sk);
	sk = bpf_skc_lookup_tcp(ctx, &tuple, 7, BPF_F_CURRENT_NETNS, 0);
	CHECK("bad tuple size", sk == NULL);
	if (sk)
		bpf_sk_release(sk);
	sk = bpf_sk_lookup_tcp(ctx, &tuple, sizeof(tuple.ipv4), 12345, 0);
	CHECK("bad netns", sk == NULL);
	if (sk)
		bpf_sk_release(sk);
	CHECK("fib bad family", bpf_fib_lookup(ctx, &fib, sizeof(fib), 0));
	CHECK("fib short", bpf_fib_lookup(ctx, &fib, 10, 0));
	CHECK("fib flags", bpf_fib_lookup(ctx, &fib, sizeof(fib), 1 << 20));
	CHECK("socket cookie", bpf_get_socket_cookie(ctx) != 0);
	CHECK("socket uid", bpf_get_socket_uid(ctx) >= 0);
	CHECK("netns cookie", bpf_get_netns_cookie(ctx) > 0);
	return 0;
}
