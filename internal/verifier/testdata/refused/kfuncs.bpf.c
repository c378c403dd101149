// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// kfuncs: arguments of kernel functions, dynptrs, iterators, and where functions may be called.
#include "refused.h"

struct work {
	struct bpf_wq wq;
	u64 v;
};
struct timed {
	struct bpf_timer timer;
	u64 v;
};
struct plain {
	u64 a, b;
};
struct holder {
	struct task_struct __kptr *task;
};

MAP(works, BPF_MAP_TYPE_ARRAY, u32, struct work, 4);
MAP(works2, BPF_MAP_TYPE_ARRAY, u32, struct work, 4);
MAP(timers, BPF_MAP_TYPE_ARRAY, u32, struct timed, 4);
MAP(timers2, BPF_MAP_TYPE_ARRAY, u32, struct timed, 4);
MAP(plains, BPF_MAP_TYPE_ARRAY, u32, struct plain, 4);
MAP(holders, BPF_MAP_TYPE_ARRAY, u32, struct holder, 4);
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, sizeof(struct timed));
	__uint(max_entries, 2);
} untyped SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_USER_RINGBUF);
	__uint(max_entries, 4096);
} user SEC(".maps");

extern int bpf_wq_init(struct bpf_wq *wq, void *p__map, unsigned int flags) __ksym;
extern int bpf_wq_set_callback_impl(struct bpf_wq *wq, int(callback)(void *map, int *key, void *value), unsigned int flags, void *aux) __ksym;
extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym;
extern int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task, unsigned int flags) __ksym;
extern struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it) __ksym;
extern void bpf_iter_task_destroy(struct bpf_iter_task *it) __ksym;
struct cgroup_subsys_state {
	struct cgroup *cgroup;
} CORE;
extern int bpf_iter_css_task_new(struct bpf_iter_css_task *it, struct cgroup_subsys_state *css, unsigned int flags) __ksym;
extern struct task_struct *bpf_iter_css_task_next(struct bpf_iter_css_task *it) __ksym;
extern void bpf_iter_css_task_destroy(struct bpf_iter_css_task *it) __ksym;
extern int bpf_dynptr_from_skb(struct __sk_buff *s, u64 flags, struct bpf_dynptr *p) __ksym;
extern void *bpf_dynptr_slice(const struct bpf_dynptr *p, u32 off, void *buffer, u32 len) __ksym;
extern void *bpf_dynptr_slice_rdwr(const struct bpf_dynptr *p, u32 off, void *buffer, u32 len) __ksym;
extern bool bpf_dynptr_is_null(const struct bpf_dynptr *p) __ksym;
extern int bpf_dynptr_clone(const struct bpf_dynptr *p, struct bpf_dynptr *clone) __ksym;
extern void *bpf_cast_to_kern_ctx(void *obj) __ksym;
extern void *bpf_rdonly_cast(const void *obj, u32 type) __ksym;
extern int bpf_strcmp(const char *a, const char *b) __ksym;
extern struct cgroup *bpf_task_get_cgroup1(struct task_struct *task, int hierarchy) __ksym;
extern void bpf_cgroup_release(struct cgroup *c) __ksym;
extern struct cgroup *bpf_cgroup_from_id(u64 id) __ksym;
extern long bpf_task_under_cgroup(struct task_struct *task, struct cgroup *ancestor) __ksym;
extern int bpf_xdp_metadata_rx_timestamp(const struct xdp_md *ctx, u64 *timestamp) __ksym;
struct bpf_cpumask {
	u32 usage;
} CORE;
struct cpumask {
	unsigned long bits[1];
} CORE;
extern struct bpf_cpumask *bpf_cpumask_create(void) __ksym;
extern void bpf_cpumask_release(struct bpf_cpumask *c) __ksym;
extern u32 bpf_cpumask_first(const struct cpumask *c) __ksym;
extern void bpf_cpumask_set_cpu(u32 cpu, struct bpf_cpumask *c) __ksym;
struct nf_conn;
struct bpf_ct_opts {
	s32 netns_id;
	s32 error;
	u8 l4proto;
	u8 dir;
	u8 reserved[2];
};
extern struct nf_conn *bpf_skb_ct_lookup(struct __sk_buff *s, struct bpf_sock_tuple *t, u32 size, struct bpf_ct_opts *o, u32 osize) __ksym;
extern void bpf_ct_release(struct nf_conn *c) __ksym;

static int on_work(void *map, int *key, void *value)
{
	return 0;
}

PAIR("tc", PointerInR1MapUidNot, struct __sk_buff)
{
	struct work *w = first(works);

	bpf_wq_init(&w->wq, bad ? (void *)&works2 : &works, 0);
	return 0;
}

PAIR("tc", TimerPointerInR1MapUid, struct __sk_buff)
{
	struct timed *t = first(timers);

	bpf_timer_init(&t->timer, bad ? (void *)&timers2 : &timers, 1);
	return 0;
}

PAIR("tc", NotConstantOffsetBpfTimerConstant, struct __sk_buff)
{
	void *t = first(timers);

	if (bad)
		t += opaque(ctx->len) & 8;
	bpf_timer_init(t, &timers, 1);
	return 0;
}

PAIR("tc", MapBTFInOrderUseBpf, struct __sk_buff)
{
	u32 key = 0;
	struct timed *t = bad ? bpf_map_lookup_elem(&untyped, &key) : bpf_map_lookup_elem(&timers, &key);

	if (!t)
		return 0;
	bpf_timer_init(&t->timer, bad ? (void *)&untyped : &timers, 1);
	return 0;
}

PAIR("kprobe/do_exit", TracingProgsCannotUseBpfTimer, void)
{
	u32 key = 0;

	if (bad)
		return bpf_map_lookup_elem(&timers, &key) != NULL;
	return bpf_map_lookup_elem(&plains, &key) != NULL;
}

PAIR("kprobe/do_exit", TracingProgsCannotUseBpfWq, void)
{
	u32 key = 0;

	if (bad)
		return bpf_map_lookup_elem(&works, &key) != NULL;
	return bpf_map_lookup_elem(&plains, &key) != NULL;
}

PAIR("syscall", MustRcuPointer, void)
{
	struct task_struct *t = bpf_get_current_task_btf(), *got;

	got = bpf_task_acquire(bad ? t->last_wakee : t);
	if (got)
		bpf_task_release(got);
	return 0;
}

PAIR("tc", ReleaseKernelFunctionExpectsRefcountedPTR, struct __sk_buff)
{
	struct task_struct *t = bpf_get_current_task_btf(), *got = bpf_task_acquire(t);

	if (!got)
		return 0;
	bpf_task_release(bad ? t : got);
	if (bad)
		bpf_task_release(got);
	return 0;
}

PAIR("tc", KernelFunctionArgsExpectedPointerBut, struct __sk_buff)
{
	struct task_struct *t = bpf_task_from_pid(1);

	if (!t)
		return 0;
	if (bad)
		bpf_cgroup_release((void *)t);
	else
		bpf_task_release(t);
	return 0;
}

PAIR("tc", MustZeroOffsetWhenPassedRelease, struct __sk_buff)
{
	struct task_struct *t = bpf_task_from_pid(1);

	if (!t)
		return 0;
	bpf_task_release(bad ? (void *)t + 8 : t);
	return 0;
}

PAIR("tc", NotScalar2, struct __sk_buff)
{
	struct task_struct *t = bpf_task_from_pid(bad ? (s32)(long)ctx : 1);

	if (t)
		bpf_task_release(t);
	return 0;
}

PAIR("tc", ExpectedPointerCtxButGot, struct __sk_buff)
{
	struct plain *p = first(plains);

	return bpf_cast_to_kern_ctx(bad ? (void *)p : ctx) != NULL;
}

PAIR("tc", ExpectedInitializedDynptrAgain, struct __sk_buff)
{
	struct bpf_dynptr d;

	if (!bad)
		bpf_dynptr_from_skb(ctx, 0, &d);
	return bpf_dynptr_is_null(&d);
}

PAIR("tc", ArgExpectedPointerStackConstStruct, struct __sk_buff)
{
	struct bpf_dynptr d, *other = first(plains);

	bpf_dynptr_from_skb(ctx, 0, &d);
	return bpf_dynptr_is_null(bad ? other : &d);
}

PAIR("tc", ArgUnacquiredReference, struct __sk_buff)
{
	struct bpf_dynptr d;

	if (bad)
		bpf_dynptr_from_skb(ctx, 0, &d);
	else
		bpf_ringbuf_reserve_dynptr(&ring, 8, 0, &d);
	bpf_ringbuf_submit_dynptr(&d, 0);
	return 0;
}

PAIR("tc", CannotOverwriteReferencedDynptr, struct __sk_buff)
{
	struct bpf_dynptr d;

	bpf_ringbuf_reserve_dynptr(&ring, 8, 0, &d);
	if (bad)
		*(volatile u64 *)&d = 0;
	bpf_ringbuf_discard_dynptr(&d, 0);
	return 0;
}

PAIR("tc", PotentialWriteDynptrOffDisallowed, struct __sk_buff)
{
	struct bpf_dynptr d;
	u64 other;

	bpf_ringbuf_reserve_dynptr(&ring, 8, 0, &d);
	bpf_skb_load_bytes(ctx, 0, bad ? (void *)&d : &other, 8);
	bpf_ringbuf_discard_dynptr(&d, 0);
	return 0;
}

PAIR("tc", ConstantOffset, struct __sk_buff)
{
	struct bpf_dynptr d[2];
	u64 at = 0;

	if (bad)
		at = opaque(ctx->len) & 16;
	bpf_dynptr_from_skb(ctx, 0, &d[0]);
	bpf_dynptr_from_skb(ctx, 0, &d[1]);
	return bpf_dynptr_is_null((void *)d + at);
}

PAIR("tc", CannotPassInOffset, struct __sk_buff)
{
	struct bpf_dynptr d;

	bpf_dynptr_from_skb(ctx, 0, &d);
	return bpf_dynptr_is_null((void *)&d + (bad ? 1 : 0));
}

PAIR("tc", UnsupportedRegTypeBpfDynptrFrom, struct __sk_buff)
{
	struct bpf_dynptr d;
	u64 own[2] = {}, *value = first(plains);

	bpf_dynptr_from_mem(bad ? own : value, 16, 0, &d);
	return 0;
}

static long bad_sample(struct bpf_dynptr *d, void *ctx)
{
	bpf_ringbuf_submit_dynptr(d, 0);
	return 0;
}

static long good_sample(struct bpf_dynptr *d, void *ctx)
{
	u64 v;

	bpf_dynptr_read(&v, 8, d, 0, 0);
	return 0;
}

static long writing_sample(struct bpf_dynptr *d, void *ctx)
{
	struct bpf_dynptr *own = first(plains);

	bpf_dynptr_from_mem(own, 8, 0, d);
	return 0;
}

PAIR("syscall", CannotReleaseUnownedConstBpfDynptr, void)
{
	bpf_user_ringbuf_drain(&user, bad ? bad_sample : good_sample, NULL, 0);
	return 0;
}

PAIR("syscall", DynptrUninitializedConst, void)
{
	bpf_user_ringbuf_drain(&user, bad ? writing_sample : good_sample, NULL, 0);
	return 0;
}

PAIR("cgroup_skb/egress", ProgDoesNotAllowWritesPacket, struct __sk_buff)
{
	struct bpf_dynptr d;
	u8 buf[8];
	u8 *p;

	bpf_dynptr_from_skb(ctx, 0, &d);
	p = bad ? bpf_dynptr_slice_rdwr(&d, 0, buf, 8) : bpf_dynptr_slice(&d, 0, buf, 8);
	return p ? *p & 1 : 0;
}

/* Iterators. */

PAIR("tc", ArgExpectedPointerIteratorStack, struct __sk_buff)
{
	struct bpf_iter_num it, *other = first(plains);

	bpf_iter_num_new(bad ? other : &it, 0, 2);
	bpf_iter_num_destroy(&it);
	return 0;
}

PAIR("tc", ExpectedUninitializedIterArg, struct __sk_buff)
{
	struct bpf_iter_num it;

	bpf_iter_num_new(&it, 0, 2);
	if (bad)
		bpf_iter_num_new(&it, 0, 2);
	bpf_iter_num_destroy(&it);
	return 0;
}

PAIR("tc", ExpectedInitializedIterArg, struct __sk_buff)
{
	struct bpf_iter_num it;

	if (!bad)
		bpf_iter_num_new(&it, 0, 2);
	bpf_iter_num_destroy(&it);
	return 0;
}

PAIR("syscall", ExpectedRCUCSWhenUsing, void)
{
	struct bpf_iter_task it;

	bpf_rcu_read_lock();
	bpf_iter_task_new(&it, NULL, 0);
	if (bad) {
		bpf_rcu_read_unlock();
		bpf_rcu_read_lock();
	}
	bpf_iter_task_next(&it);
	bpf_iter_task_destroy(&it);
	bpf_rcu_read_unlock();
	return 0;
}

PAIR("syscall", RCUSectionOfIterators, void)
{
	struct bpf_iter_task it;

	if (!bad)
		bpf_rcu_read_lock();
	bpf_iter_task_new(&it, NULL, 0);
	if (bad)
		bpf_rcu_read_lock();
	bpf_iter_task_destroy(&it);
	bpf_rcu_read_unlock();
	return 0;
}

PAIR("tc", CssTaskIterOnlyAllowedIn, struct __sk_buff)
{
	struct cgroup *c = bpf_cgroup_from_id(1);
	struct bpf_iter_css_task it;
	struct bpf_iter_num n;

	if (!c)
		return 0;
	if (bad) {
		bpf_iter_css_task_new(&it, (void *)c, 0);
		bpf_iter_css_task_destroy(&it);
	} else {
		bpf_iter_num_new(&n, 0, 1);
		bpf_iter_num_destroy(&n);
	}
	bpf_cgroup_release(c);
	return 0;
}

/* Calls. */

PAIR("kprobe/do_exit", CallingKernelFunctionNotAllowed, void)
{
	struct bpf_dynptr d;

	if (bad)
		bpf_dynptr_from_skb((void *)ctx, 0, &d);
	return 0;
}

extern void __bpf_trap(void) __ksym __weak;

PAIR("tc", UnexpectedBpfTrapDueUninitializedVariable, struct __sk_buff)
{
	if (bad)
		__bpf_trap();
	return 0;
}

extern struct task_struct *bpf_task_from_vpid(s32 vpid) __ksym;
struct bpf_crypto_params {
	char type[14];
	u8 reserved[2];
	char algo[128];
	u8 key[256];
	u32 key_len;
	u32 authsize;
};
struct bpf_crypto_ctx {
	int usage;
} CORE;
extern struct bpf_crypto_ctx *bpf_crypto_ctx_create(const struct bpf_crypto_params *params, u32 size, int *err) __ksym;
extern void bpf_crypto_ctx_release(struct bpf_crypto_ctx *c) __ksym;

static struct bpf_crypto_params params;

static __always_inline void create(void)
{
	struct bpf_crypto_ctx *c;
	int err = 0;

	c = bpf_crypto_ctx_create(&params, sizeof(params), &err);
	if (c)
		bpf_crypto_ctx_release(c);
}

PAIR("syscall", KernelFuncSleepableWithinRcuRead, void)
{
	bpf_rcu_read_lock();
	if (!bad)
		bpf_rcu_read_unlock();
	create();
	if (bad)
		bpf_rcu_read_unlock();
	return 0;
}

PAIR("syscall", KernelFuncSleepableWithinNonPreemptible, void)
{
	bpf_preempt_disable();
	if (!bad)
		bpf_preempt_enable();
	create();
	if (bad)
		bpf_preempt_enable();
	return 0;
}

extern void bpf_local_irq_save(unsigned long *flags) __ksym;
extern void bpf_local_irq_restore(unsigned long *flags) __ksym;

PAIR("syscall", KernelFuncSleepableWithinIRQDisabled, void)
{
	unsigned long flags;

	bpf_local_irq_save(&flags);
	if (!bad)
		bpf_local_irq_restore(&flags);
	create();
	if (bad)
		bpf_local_irq_restore(&flags);
	return 0;
}

PAIR("syscall", ArgArgMemoryLenPairLeads, void)
{
	struct bpf_crypto_ctx *c;
	int err = 0;

	c = bpf_crypto_ctx_create(&params, bad ? sizeof(params) + 8 : sizeof(params), &err);
	if (c)
		bpf_crypto_ctx_release(c);
	return 0;
}

PAIR("syscall", KernelFunctionArgsPointerTypeNot, void)
{
	struct task_struct *t = bpf_task_from_pid(1);
	struct bpf_crypto_ctx *c;
	int err = 0;

	if (!t)
		return 0;
	c = bpf_crypto_ctx_create(&params, sizeof(params), bad ? (void *)t : &err);
	if (c)
		bpf_crypto_ctx_release(c);
	bpf_task_release(t);
	return 0;
}

PAIR("tc", UnknownTypeIDPassedKfuncBpf, struct __sk_buff)
{
	struct task_struct *t = bpf_rdonly_cast(ctx, bad ? 0x7fffffff : bpf_core_type_id_kernel(struct task_struct));

	return t != NULL;
}

PAIR("tc", KfuncBpfRdonlyCastTypeID, struct __sk_buff)
{
	struct task_struct *t = bpf_rdonly_cast(ctx, bad ? 1 : bpf_core_type_id_kernel(struct task_struct));

	return t != NULL;
}

PAIR("tc", OnlyReadSupported, struct __sk_buff)
{
	struct task_struct *t = bpf_get_current_task_btf();

	if (bad)
		t->pid = 1;
	return t->pid & 1;
}

PAIR("tc", UntrustedWrite, struct __sk_buff)
{
	struct task_struct *t = bpf_rdonly_cast(bpf_get_current_task_btf(), bpf_core_type_id_kernel(struct task_struct));

	if (bad)
		t->pid = 1;
	return t->pid & 1;
}

PAIR("tc", PtrInvalidVariableOffsetOffVar, struct __sk_buff)
{
	void *t = bpf_get_current_task_btf();
	u64 at = 0;

	if (bad)
		at = opaque(ctx->len) & 8;
	return *(u64 *)(t + at) != 0;
}

PAIR("tc", MustReferencedTrusted, struct __sk_buff)
{
	struct plain *p = new(struct plain), own = {};

	if (!p)
		return 0;
	drop(bad ? &own : p);
	return 0;
}

extern struct task_struct *scx_bpf_cpu_curr(s32 cpu) __ksym __weak;

PAIR("syscall", RCUCriticalSection, void)
{
	if (!bad)
		bpf_rcu_read_lock();
	scx_bpf_cpu_curr(0);
	if (!bad)
		bpf_rcu_read_unlock();
	return 0;
}
