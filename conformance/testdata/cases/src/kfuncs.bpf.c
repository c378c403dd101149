// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// kfuncs: iterators, CPU masks, tasks and cgroups, casts, sections, exceptions, strings.
#include "case.h"
#include <bpf/bpf_core_read.h>

struct cred {
	int x;
} CORE;

struct css_set;
struct cgroup {
	int level;
} CORE;

struct task_struct {
	int pid;
	int tgid;
	unsigned int flags;
	struct task_struct *group_leader;
	char comm[16];
} CORE;

struct cpumask {
	unsigned long bits[128];
};
struct bpf_cpumask {
	struct cpumask cpumask;
	u32 usage;
};

extern struct bpf_cpumask *bpf_cpumask_create(void) __ksym;
extern struct bpf_cpumask *bpf_cpumask_acquire(struct bpf_cpumask *m) __ksym;
extern void bpf_cpumask_release(struct bpf_cpumask *m) __ksym;
extern u32 bpf_cpumask_first(const struct cpumask *m) __ksym;
extern u32 bpf_cpumask_first_zero(const struct cpumask *m) __ksym;
extern u32 bpf_cpumask_first_and(const struct cpumask *a, const struct cpumask *b) __ksym;
extern void bpf_cpumask_set_cpu(u32 cpu, struct bpf_cpumask *m) __ksym;
extern void bpf_cpumask_clear_cpu(u32 cpu, struct bpf_cpumask *m) __ksym;
extern bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *m) __ksym;
extern bool bpf_cpumask_test_and_set_cpu(u32 cpu, struct bpf_cpumask *m) __ksym;
extern bool bpf_cpumask_test_and_clear_cpu(u32 cpu, struct bpf_cpumask *m) __ksym;
extern void bpf_cpumask_setall(struct bpf_cpumask *m) __ksym;
extern void bpf_cpumask_clear(struct bpf_cpumask *m) __ksym;
extern bool bpf_cpumask_and(struct bpf_cpumask *d, const struct cpumask *a, const struct cpumask *b) __ksym;
extern void bpf_cpumask_or(struct bpf_cpumask *d, const struct cpumask *a, const struct cpumask *b) __ksym;
extern void bpf_cpumask_xor(struct bpf_cpumask *d, const struct cpumask *a, const struct cpumask *b) __ksym;
extern bool bpf_cpumask_equal(const struct cpumask *a, const struct cpumask *b) __ksym;
extern bool bpf_cpumask_intersects(const struct cpumask *a, const struct cpumask *b) __ksym;
extern bool bpf_cpumask_subset(const struct cpumask *a, const struct cpumask *b) __ksym;
extern bool bpf_cpumask_empty(const struct cpumask *m) __ksym;
extern bool bpf_cpumask_full(const struct cpumask *m) __ksym;
extern void bpf_cpumask_copy(struct bpf_cpumask *d, const struct cpumask *s) __ksym;
extern u32 bpf_cpumask_any_distribute(const struct cpumask *m) __ksym;
extern u32 bpf_cpumask_weight(const struct cpumask *m) __ksym;
extern int bpf_cpumask_populate(struct cpumask *m, void *src, u64 size) __ksym;

extern struct task_struct *bpf_task_from_pid(s32 pid) __ksym;
extern struct task_struct *bpf_task_from_vpid(s32 pid) __ksym;
extern struct task_struct *bpf_task_acquire(struct task_struct *t) __ksym;
extern void bpf_task_release(struct task_struct *t) __ksym;
extern struct cgroup *bpf_cgroup_from_id(u64 id) __ksym;
extern struct cgroup *bpf_cgroup_acquire(struct cgroup *c) __ksym;
extern struct cgroup *bpf_cgroup_ancestor(struct cgroup *c, int level) __ksym;
extern void bpf_cgroup_release(struct cgroup *c) __ksym;
extern long bpf_task_under_cgroup(struct task_struct *t, struct cgroup *c) __ksym;
extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;
extern void bpf_preempt_disable(void) __ksym;
extern void bpf_preempt_enable(void) __ksym;
extern void bpf_local_irq_save(unsigned long *flags) __ksym;
extern void bpf_local_irq_restore(unsigned long *flags) __ksym;
extern void *bpf_rdonly_cast(const void *p, u32 type) __ksym;
extern void bpf_throw(u64 cookie) __ksym;

struct bpf_iter_num;
extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym;
struct bpf_iter_bits {
	u64 opaque[2];
};
extern int bpf_iter_bits_new(struct bpf_iter_bits *it, const u64 *p, u32 n) __ksym;
extern int *bpf_iter_bits_next(struct bpf_iter_bits *it) __ksym;
extern void bpf_iter_bits_destroy(struct bpf_iter_bits *it) __ksym;

extern int bpf_strcmp(const char *a, const char *b) __ksym;
extern int bpf_strcasecmp(const char *a, const char *b) __ksym;
extern int bpf_strchr(const char *s, char c) __ksym;
extern int bpf_strchrnul(const char *s, char c) __ksym;
extern int bpf_strnchr(const char *s, size_t n, char c) __ksym;
extern int bpf_strrchr(const char *s, char c) __ksym;
extern int bpf_strlen(const char *s) __ksym;
extern int bpf_strnlen(const char *s, size_t n) __ksym;
extern int bpf_strspn(const char *s, const char *a) __ksym;
extern int bpf_strcspn(const char *s, const char *a) __ksym;
extern int bpf_strstr(const char *s, const char *t) __ksym;
extern int bpf_strnstr(const char *s, const char *t, size_t n) __ksym;

SEC("tc") int t_iter_num(struct __sk_buff *ctx)
{
	struct bpf_iter_num it;
	u64 sum = 0, n = 0;
	int *v;

	CHECK("num 2..6", bpf_iter_num_new(&it, 2, 6));
	while ((v = bpf_iter_num_next(&it)))
		sum = sum * 10 + *v;
	bpf_iter_num_destroy(&it);
	CHECK("num order", sum);
	CHECK("num empty", bpf_iter_num_new(&it, 5, 5));
	CHECK("num empty next", bpf_iter_num_next(&it) == NULL);
	bpf_iter_num_destroy(&it);
	CHECK("num reversed", bpf_iter_num_new(&it, 5, 4));
	CHECK("num reversed next", bpf_iter_num_next(&it) == NULL);
	bpf_iter_num_destroy(&it);
	CHECK("num too many", bpf_iter_num_new(&it, -1, 1 << 23));
	CHECK("num too many next", bpf_iter_num_next(&it) == NULL);
	bpf_iter_num_destroy(&it);
	CHECK("num most", bpf_iter_num_new(&it, -5, (1 << 23) - 5));
	v = bpf_iter_num_next(&it);
	CHECK("num first negative", v ? *v : 1);
	bpf_iter_num_destroy(&it);
	bpf_for(n, 0, 10) {
		if (n == 7)
			break;
	}
	CHECK("bpf_for break", n);
	sum = 0;
	bpf_repeat(13) {
		sum++;
	}
	CHECK("bpf_repeat", sum);
	return 0;
}

u64 mask[4] = {0x8000000000000011, 0, 0x5, 1};

SEC("tc") int t_iter_bits(struct __sk_buff *ctx)
{
	struct bpf_iter_bits it;
	u64 sum = 0, n = 0;
	int *v;

	CHECK("bits 1 word", bpf_iter_bits_new(&it, mask, 1));
	while ((v = bpf_iter_bits_next(&it))) {
		sum = sum * 100 + *v;
		n++;
	}
	bpf_iter_bits_destroy(&it);
	CHECK("bits 1 word order", sum);
	CHECK("bits 1 word n", n);
	sum = n = 0;
	CHECK("bits 4 words", bpf_iter_bits_new(&it, mask, 4));
	while ((v = bpf_iter_bits_next(&it))) {
		sum += *v;
		n++;
	}
	bpf_iter_bits_destroy(&it);
	CHECK("bits 4 words sum", sum);
	CHECK("bits 4 words n", n);
	CHECK("bits 0 words", bpf_iter_bits_new(&it, mask, 0));
	CHECK("bits 0 words next", bpf_iter_bits_next(&it) == NULL);
	bpf_iter_bits_destroy(&it);
	CHECK("bits 512 words", bpf_iter_bits_new(&it, mask, 512));
	bpf_iter_bits_destroy(&it);
	return 0;
}

SEC("syscall") int t_cpumask(void *ctx)
{
	struct bpf_cpumask *a = bpf_cpumask_create(), *b, *c;

	if (!a)
		return 1;
	b = bpf_cpumask_create();
	if (!b) {
		bpf_cpumask_release(a);
		return 1;
	}
	CHECK("mask empty", bpf_cpumask_empty(&a->cpumask));
	CHECK("mask full", bpf_cpumask_full(&a->cpumask));
	CHECK("first of empty", bpf_cpumask_first(&a->cpumask) >= 2);
	CHECK("first zero of empty", bpf_cpumask_first_zero(&a->cpumask));
	bpf_cpumask_set_cpu(1, a);
	CHECK("first", bpf_cpumask_first(&a->cpumask));
	CHECK("test 1", bpf_cpumask_test_cpu(1, &a->cpumask));
	CHECK("test 0", bpf_cpumask_test_cpu(0, &a->cpumask));
	CHECK("test 100000", bpf_cpumask_test_cpu(100000, &a->cpumask));
	bpf_cpumask_set_cpu(100000, a);
	CHECK("weight", bpf_cpumask_weight(&a->cpumask));
	CHECK("test and set 1", bpf_cpumask_test_and_set_cpu(1, a));
	CHECK("test and set 0", bpf_cpumask_test_and_set_cpu(0, a));
	CHECK("test and clear 0", bpf_cpumask_test_and_clear_cpu(0, a));
	CHECK("test and clear 0 again", bpf_cpumask_test_and_clear_cpu(0, a));
	CHECK("test and set big", bpf_cpumask_test_and_set_cpu(1 << 20, a));
	bpf_cpumask_set_cpu(0, b);
	CHECK("intersects", bpf_cpumask_intersects(&a->cpumask, &b->cpumask));
	CHECK("equal", bpf_cpumask_equal(&a->cpumask, &b->cpumask));
	CHECK("first_and", bpf_cpumask_first_and(&a->cpumask, &b->cpumask) >= 2);
	c = bpf_cpumask_create();
	if (!c) {
		bpf_cpumask_release(a);
		bpf_cpumask_release(b);
		return 1;
	}
	CHECK("and", bpf_cpumask_and(c, &a->cpumask, &b->cpumask));
	bpf_cpumask_or(c, &a->cpumask, &b->cpumask);
	CHECK("or weight", bpf_cpumask_weight(&c->cpumask));
	CHECK("subset a of or", bpf_cpumask_subset(&a->cpumask, &c->cpumask));
	CHECK("subset or of a", bpf_cpumask_subset(&c->cpumask, &a->cpumask));
	CHECK("full after or", bpf_cpumask_full(&c->cpumask));
	bpf_cpumask_xor(c, &c->cpumask, &a->cpumask);
	CHECK("xor first", bpf_cpumask_first(&c->cpumask));
	bpf_cpumask_setall(c);
	CHECK("setall full", bpf_cpumask_full(&c->cpumask));
	CHECK("setall weight", bpf_cpumask_weight(&c->cpumask));
	CHECK("setall first zero", bpf_cpumask_first_zero(&c->cpumask) >= 2);
	bpf_cpumask_clear(c);
	CHECK("clear", bpf_cpumask_empty(&c->cpumask));
	bpf_cpumask_copy(c, &a->cpumask);
	CHECK("copy equal", bpf_cpumask_equal(&a->cpumask, &c->cpumask));
	CHECK("any of one", bpf_cpumask_any_distribute(&a->cpumask));
	bpf_cpumask_clear_cpu(1, c);
	CHECK("clear_cpu", bpf_cpumask_empty(&c->cpumask));
	bpf_cpumask_release(c);
	c = bpf_cpumask_acquire(a);
	bpf_cpumask_release(c);
	bpf_cpumask_release(b);
	bpf_cpumask_release(a);
	return 0;
}

SEC("syscall") int t_task(void *ctx)
{
	struct task_struct *t, *cur = bpf_get_current_task_btf();

	t = bpf_task_from_pid(bpf_get_current_pid_tgid() >> 32);
	CHECK("leader found", t != NULL);
	if (t) {
		CHECK("leader pid is tgid", t->pid == t->tgid);
		bpf_task_release(t);
	}
	t = bpf_task_from_pid(-1);
	CHECK("pid -1", t == NULL);
	if (t)
		bpf_task_release(t);
	t = bpf_task_from_pid(1 << 30);
	CHECK("pid 1<<30", t == NULL);
	if (t)
		bpf_task_release(t);
	t = bpf_task_from_pid(0);
	CHECK("pid 0", t == NULL);
	if (t)
		bpf_task_release(t);
	t = bpf_task_from_vpid(cur->tgid);
	CHECK("vpid of the leader", t != NULL);
	if (t)
		bpf_task_release(t);
	t = bpf_task_acquire(cur);
	CHECK("acquire current", t == cur);
	if (t)
		bpf_task_release(t);
	t = bpf_task_from_pid(cur->pid);
	CHECK("own pid", t == cur);
	if (t)
		bpf_task_release(t);
	CHECK("pid_tgid", (u32)bpf_get_current_pid_tgid() == cur->pid);
	CHECK("group leader", cur->group_leader->pid == cur->tgid);
	return 0;
}

SEC("syscall") int t_cgroup(void *ctx)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	struct cgroup *root = bpf_cgroup_from_id(1), *c;

	CHECK("root cgroup", root != NULL);
	if (!root)
		return 1;
	CHECK("root level", root->level);
	c = bpf_cgroup_acquire(root);
	CHECK("acquire root", c == root);
	if (c)
		bpf_cgroup_release(c);
	c = bpf_cgroup_ancestor(root, 0);
	CHECK("ancestor 0 of root", c == root);
	if (c)
		bpf_cgroup_release(c);
	c = bpf_cgroup_ancestor(root, 1);
	CHECK("ancestor 1 of root", c == NULL);
	if (c)
		bpf_cgroup_release(c);
	c = bpf_cgroup_ancestor(root, -1);
	CHECK("ancestor -1 of root", c == NULL);
	if (c)
		bpf_cgroup_release(c);
	c = bpf_cgroup_from_id(0xffffffffffff);
	CHECK("cgroup of no id", c == NULL);
	if (c)
		bpf_cgroup_release(c);
	CHECK("under root", bpf_task_under_cgroup(cur, root));
	CHECK("current cgroup id", bpf_get_current_cgroup_id() != 0);
	CHECK("ancestor id 0", bpf_get_current_ancestor_cgroup_id(0));
	CHECK("ancestor id -1", bpf_get_current_ancestor_cgroup_id(-1));
	CHECK("ancestor id 100", bpf_get_current_ancestor_cgroup_id(100));
	bpf_cgroup_release(root);
	return 0;
}

SEC("syscall") int t_sections(void *ctx)
{
	struct task_struct *cur = bpf_get_current_task_btf(), *c;
	unsigned long flags;

	bpf_rcu_read_lock();
	CHECK("in rcu", cur->tgid != 0);
	bpf_rcu_read_unlock();
	bpf_preempt_disable();
	bpf_preempt_disable();
	CHECK("cpu in section", bpf_get_smp_processor_id());
	bpf_preempt_enable();
	bpf_preempt_enable();
	bpf_local_irq_save(&flags);
	CHECK("irqs off", bpf_get_smp_processor_id());
	bpf_local_irq_restore(&flags);
	c = bpf_rdonly_cast(cur, bpf_core_type_id_kernel(struct task_struct));
	CHECK("cast", c->pid == cur->pid);
	c = bpf_rdonly_cast((void *)8, bpf_core_type_id_kernel(struct task_struct));
	CHECK("cast of a bad pointer reads 0", c->pid);
	c = bpf_rdonly_cast(NULL, bpf_core_type_id_kernel(struct task_struct));
	CHECK("cast of NULL reads 0", c->tgid);
	return 0;
}

SEC("tc") int t_throw(struct __sk_buff *ctx)
{
	CHECK("before throw", 1);
	if (ctx->len)
		bpf_throw(33);
	CHECK("after throw", 1);
	return 5;
}

static __noinline int deeper(u32 n)
{
	if (n > 3)
		bpf_throw(n);
	return n;
}

SEC("tc") int t_throw_deep(struct __sk_buff *ctx)
{
	CHECK("no throw", deeper(2));
	CHECK("throw", deeper(ctx->len));
	return 1;
}

__noinline int handle(u64 cookie)
{
	out[0] = cookie;
	return cookie + 1000;
}

SEC("tc") __attribute__((btf_decl_tag("exception_callback:handle"))) int t_throw_callback(struct __sk_buff *ctx)
{
	bpf_throw(7);
	return 1;
}

char hello[] = "hello, world";
char upper[] = "HELLO";
char empty_str[] = "";
char high[] = "\xff\x01";

SEC("syscall") int t_strings(void *ctx)
{
	CHECK("strcmp equal", bpf_strcmp(hello, "hello, world"));
	CHECK("strcmp less", bpf_strcmp(hello, "iello"));
	CHECK("strcmp greater", bpf_strcmp(hello, "hello"));
	CHECK("strcmp empty", bpf_strcmp(empty_str, ""));
	CHECK("strcmp high", bpf_strcmp(high, "a"));
	CHECK("strcmp NULL", bpf_strcmp(NULL, hello));
	CHECK("strcasecmp", bpf_strcasecmp(upper, "hello"));
	CHECK("strcasecmp less", bpf_strcasecmp(upper, "hellp"));
	CHECK("strchr", bpf_strchr(hello, 'o'));
	CHECK("strchr none", bpf_strchr(hello, 'z'));
	CHECK("strchr nul", bpf_strchr(hello, 0));
	CHECK("strchrnul", bpf_strchrnul(hello, 'z'));
	CHECK("strchrnul found", bpf_strchrnul(hello, 'w'));
	CHECK("strnchr", bpf_strnchr(hello, 5, 'o'));
	CHECK("strnchr short", bpf_strnchr(hello, 4, 'o'));
	CHECK("strrchr", bpf_strrchr(hello, 'o'));
	CHECK("strrchr none", bpf_strrchr(hello, 'z'));
	CHECK("strrchr nul", bpf_strrchr(hello, 0));
	CHECK("strlen", bpf_strlen(hello));
	CHECK("strlen empty", bpf_strlen(empty_str));
	CHECK("strlen NULL", bpf_strlen(NULL));
	CHECK("strlen bad", bpf_strlen((char *)0xffff800000000000));
	CHECK("strlen user", bpf_strlen((char *)0x1000));
	CHECK("strnlen", bpf_strnlen(hello, 3));
	CHECK("strnlen long", bpf_strnlen(hello, 100));
	CHECK("strspn", bpf_strspn(hello, "leh"));
	CHECK("strspn none", bpf_strspn(hello, "z"));
	CHECK("strspn empty set", bpf_strspn(hello, ""));
	CHECK("strcspn", bpf_strcspn(hello, " ,"));
	CHECK("strcspn none", bpf_strcspn(hello, "z"));
	CHECK("strstr", bpf_strstr(hello, "wor"));
	CHECK("strstr none", bpf_strstr(hello, "wox"));
	CHECK("strstr empty", bpf_strstr(hello, ""));
	CHECK("strnstr", bpf_strnstr(hello, "wor", 10));
	CHECK("strnstr short", bpf_strnstr(hello, "wor", 9));
	CHECK("strnstr empty", bpf_strnstr(hello, "", 0));
	return 0;
}

u64 src_mask[2] = {2, 0};

SEC("syscall") int t_cpumask_populate(void *ctx)
{
	struct bpf_cpumask *a = bpf_cpumask_create();

	if (!a)
		return 1;
	CHECK("populate", bpf_cpumask_populate((struct cpumask *)a, src_mask, sizeof(src_mask)));
	CHECK("populate first", bpf_cpumask_first(&a->cpumask));
	CHECK("populate short", bpf_cpumask_populate((struct cpumask *)a, src_mask, 1));
	bpf_cpumask_release(a);
	return 0;
}
