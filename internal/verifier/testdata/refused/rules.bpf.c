// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// rules: programs that a release changed the answer to, each named after its rule (verifier/testdata/boundaries.jsonl.gz).
#include "refused.h"

struct plain {
	u64 a, b;
};
struct nested {
	u64 v;
	struct {
		struct bpf_spin_lock lock;
	} in;
};
struct timed {
	struct bpf_timer timer;
	u64 v;
};
struct work {
	struct bpf_wq wq;
	u64 v;
};
struct tasked {
	struct bpf_task_work work;
	u64 v;
};
struct resilient {
	struct bpf_res_spin_lock lock;
	u64 v;
};
struct counted {
	struct bpf_refcount ref;
	u64 v;
};
struct leaf {
	struct bpf_spin_lock own; /* a field that 6.2 to 6.5 find: their nodes have another size */
	struct bpf_rb_node node;
	struct bpf_refcount ref;
	u64 v;
};
struct rooted {
	struct bpf_spin_lock lock;
	struct bpf_rb_root root __contains(leaf, node);
};
struct holder {
	struct task_struct __kptr *task;
};
struct raw_holder {
	struct task_struct __kptr_untrusted *task;
};
struct own_holder {
	struct plain __kptr *own;
};
struct plain_lock {
	struct bpf_spin_lock lock;
	u32 v;
};
struct percpu_holder {
	struct plain __percpu_kptr *own;
};
struct user_holder {
	struct plain __uptr *user;
};
struct locked_holder {
	struct bpf_spin_lock lock;
	struct task_struct __kptr *task;
};
struct object {
	u64 v;
	struct task_struct __kptr *task;
};
struct item {
	struct bpf_spin_lock own;
	struct bpf_list_node l;
	u64 v;
};
struct wide {
	u64 a[16];
};

MAP(plains, BPF_MAP_TYPE_HASH, u32, struct plain, 4);
MAP(nests, BPF_MAP_TYPE_ARRAY, u32, struct nested, 4);
MAP(timers, BPF_MAP_TYPE_ARRAY, u32, struct timed, 4);
MAP(works, BPF_MAP_TYPE_ARRAY, u32, struct work, 4);
MAP(taskworks, BPF_MAP_TYPE_ARRAY, u32, struct tasked, 4);
MAP(res, BPF_MAP_TYPE_ARRAY, u32, struct resilient, 4);
MAP(holders, BPF_MAP_TYPE_ARRAY, u32, struct holder, 4);
MAP(raws, BPF_MAP_TYPE_ARRAY, u32, struct raw_holder, 4);
MAP(owns, BPF_MAP_TYPE_ARRAY, u32, struct own_holder, 4);
MAP(plain_locks, BPF_MAP_TYPE_ARRAY, u32, struct plain_lock, 4);
MAP(percpus, BPF_MAP_TYPE_ARRAY, u32, struct percpu_holder, 4);
MAP(counteds, BPF_MAP_TYPE_ARRAY, u32, struct counted, 4);
MAP(roots, BPF_MAP_TYPE_ARRAY, u32, struct rooted, 4);
MAP(lockeds, BPF_MAP_TYPE_ARRAY, u32, struct locked_holder, 4);
MAP(hash, BPF_MAP_TYPE_HASH, u32, u64, 4);
MAP(other, BPF_MAP_TYPE_HASH, u32, u64, 4);
MAP(readonly, BPF_MAP_TYPE_ARRAY, u32, struct wide, 4, __uint(map_flags, BPF_F_RDONLY_PROG););
MAP(sk_storage, BPF_MAP_TYPE_SK_STORAGE, int, u64, 0, __uint(map_flags, BPF_F_NO_PREALLOC););
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_USER_RINGBUF);
	__uint(max_entries, 4096);
} user SEC(".maps");
struct inner_array {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, 1 << 12);
	__uint(max_entries, 4);
	__type(key, u32);
	__type(value, u64);
} inner SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct inner_array);
} outer SEC(".maps") = {.values = {&inner}};

extern void bpf_local_irq_save(unsigned long *flags) __ksym __weak;
extern int bpf_dynptr_clone(const struct bpf_dynptr *p, struct bpf_dynptr *clone) __ksym;
extern int bpf_dynptr_from_skb(struct __sk_buff *s, u64 flags, struct bpf_dynptr *p) __ksym;
extern void *bpf_dynptr_slice(const struct bpf_dynptr *p, u32 off, void *buffer, u32 len) __ksym;
extern void *bpf_rdonly_cast(const void *obj, u32 type) __ksym;
extern int bpf_wq_init(struct bpf_wq *wq, void *p__map, unsigned int flags) __ksym;
extern int bpf_wq_set_callback_impl(struct bpf_wq *wq, int(callback)(void *map, int *key, void *value), unsigned int flags, void *aux) __ksym;
extern struct cgroup *bpf_cgroup_acquire(struct cgroup *c) __ksym;
extern struct cgroup *bpf_cgroup_from_id(u64 id) __ksym;
extern void bpf_cgroup_release(struct cgroup *c) __ksym;
extern bool bpf_session_is_return(void) __ksym __weak;

SEC("?kprobe/do_exit") int TaskStackResult(void *ctx)
{
	u64 stack[8] = {};
	long n = bpf_get_task_stack((void *)bpf_get_current_task_btf(), stack, sizeof(stack), 0);

	if (n <= 0)
		return 0;
	return bpf_trace_printk((void *)stack, n);
}

SEC("?tc") int SharedDynptrs(struct __sk_buff *ctx)
{
	struct bpf_dynptr d, c;

	bpf_ringbuf_reserve_dynptr(&ring, 8, 0, &d);
	bpf_dynptr_clone(&d, &c);
	*(volatile u64 *)&d = 0;
	bpf_ringbuf_discard_dynptr(&c, 0);
	return 0;
}

SEC("?tc") int DynptrSliceTypes(struct __sk_buff *ctx)
{
	struct bpf_dynptr d;
	u8 *p;

	bpf_dynptr_from_mem(first(plains), 16, 0, &d);
	p = bpf_dynptr_slice(&d, 0, NULL, 8);
	*(volatile u64 *)&d = 0;
	return p ? *p : 0;
}

SEC("?tc") int SliceOfOverwritten(struct __sk_buff *ctx)
{
	struct bpf_dynptr d;
	u8 *p;

	bpf_dynptr_from_mem(first(plains), 16, 0, &d);
	p = bpf_dynptr_data(&d, 0, 8);
	*(volatile u64 *)&d = 0;
	return p ? *p : 0;
}

static int on_work(void *map, int *key, void *value)
{
	return 1;
}

SEC("?tc") int AsyncReturnRange(struct __sk_buff *ctx)
{
	struct work *w = first(works);

	bpf_wq_init(&w->wq, &works, 0);
	bpf_wq_set_callback_impl(&w->wq, on_work, 0, NULL);
	return 0;
}

static __noinline int deep2(int x)
{
	volatile char a[300];

	a[x & 63] = 1;
	return a[1] & 0;
}

static int calm(void *map, int *key, struct timed *value)
{
	return 0;
}

static int on_timer(void *map, int *key, struct timed *value)
{
	volatile char a[300];

	a[*key & 63] = 1;
	deep2(*key);
	return 0;
}

SEC("?tc") int AsyncStacks(struct __sk_buff *ctx)
{
	struct timed *t = first(timers);

	bpf_timer_set_callback(&t->timer, on_timer);
	return 0;
}

__noinline int takes_dynptr(const struct bpf_dynptr *d)
{
	u64 v = 0;

	bpf_dynptr_read(&v, 8, (void *)d, 0, 0);
	return v;
}

SEC("?tc") int DynptrGlobalArgs(struct __sk_buff *ctx)
{
	struct bpf_dynptr d;

	bpf_dynptr_from_mem(first(plains), 16, 0, &d);
	return takes_dynptr(&d);
}

__noinline int takes_memory(u64 *p)
{
	return p ? *p : 0;
}

SEC("?tc") int GlobalMemWrites(struct __sk_buff *ctx)
{
	u64 *v = first(readonly);

	return takes_memory(v);
}

struct sk_buff {
	u32 len;
} CORE;

__noinline int takes_skb(struct sk_buff *skb)
{
	struct __sk_buff *s = (void *)skb;

	return s->len;
}

SEC("?tc") int CtxByKernelType(struct __sk_buff *ctx)
{
	return takes_skb((void *)ctx);
}

struct search {
	struct __sk_buff *ctx;
	struct bpf_sock *sk;
};

static long releases(struct bpf_map *map, u32 *key, u64 *value, struct search *s)
{
	struct bpf_sock *sk = s->sk;

	if (sk)
		bpf_sk_release(sk);
	return 0;
}

SEC("?tc") int CallbackRefs(struct __sk_buff *ctx)
{
	struct bpf_sock_tuple t = {};
	struct search s = {ctx, bpf_sk_lookup_tcp(ctx, &t, sizeof(t.ipv4), BPF_F_CURRENT_NETNS, 0)};

	bpf_for_each_map_elem(&hash, releases, &s, 0);
	return 0;
}

SEC("?tc") int SeveralReferences(struct __sk_buff *ctx)
{
	u32 *a = bpf_ringbuf_reserve(&ring, 8, 0), *b;

	if (!a)
		return 0;
	b = bpf_ringbuf_reserve(&ring, 8, 0);
	if (b) {
		bpf_csum_diff(a, 8, b, 8, 0);
		bpf_ringbuf_discard(b, 0);
	}
	bpf_ringbuf_discard(a, 0);
	return 0;
}

SEC("?tc") int SeveralReferences_ok(struct __sk_buff *ctx)
{
	u32 *a = bpf_ringbuf_reserve(&ring, 8, 0), own[2] = {};

	if (!a)
		return 0;
	bpf_csum_diff(a, 8, own, 8, 0);
	bpf_ringbuf_discard(a, 0);
	return 0;
}

SEC("?tc") int HelperWrites(struct __sk_buff *ctx)
{
	struct bpf_fib_lookup *p = first(readonly);

	return bpf_fib_lookup(ctx, p, sizeof(*p), 0) & 1;
}

struct map_elem {
	struct bpf_iter_meta *meta;
	struct bpf_map *map;
	void *key;
	void *value;
};

SEC("?iter/bpf_map_elem") int MapArgsAnyMemory(struct map_elem *ctx)
{
	void *key = ctx->key;

	if (!key)
		return 0;
	bpf_map_lookup_elem(&hash, key);
	return 0;
}

SEC("?iter/bpf_map_elem") int IterArgsReadonly(struct map_elem *ctx)
{
	u32 *key = ctx->key;

	if (!key)
		return 0;
	*key = 1;
	return 0;
}

SEC("?iter/bpf_map_elem") int InvalidVariableBufferOffsetOffVar(struct map_elem *ctx)
{
	u8 *key = ctx->key;

	if (!key)
		return 0;
	return *(volatile u8 *)(key + (opaque(bpf_ktime_get_ns()) & 3)) & 0;
}

SEC("?iter/bpf_map_elem") int InvalidVariableBufferOffsetOffVar_ok(struct map_elem *ctx)
{
	u8 *key = ctx->key;

	if (!key)
		return 0;
	return *(volatile u8 *)key & 0;
}

SEC("?tc") int MemOffsets(struct __sk_buff *ctx)
{
	void *a = bpf_ringbuf_reserve(&ring, 16, 0);

	if (!a)
		return 0;
	bpf_ringbuf_discard(a + 8, 0);
	return 0;
}

SEC("?tc") int XchgLocalKptr(struct __sk_buff *ctx)
{
	struct object *o = new(struct object);
	struct task_struct *t;

	if (!o)
		return 0;
	t = bpf_kptr_xchg(&o->task, NULL);
	if (t)
		bpf_task_release(t);
	drop(o);
	return 0;
}

SEC("?tc") int XchgKeepsRCU(struct __sk_buff *ctx)
{
	struct percpu_holder *h = first(percpus);
	struct plain *p = bpf_percpu_obj_new_impl(bpf_core_type_id_local(struct plain), NULL), *old, *v;

	if (!p)
		return 0;
	bpf_rcu_read_lock();
	old = bpf_kptr_xchg(&h->own, p);
	v = bpf_this_cpu_ptr(p);
	asm volatile("" ::"r"(v->a));
	bpf_rcu_read_unlock();
	if (old)
		bpf_percpu_obj_drop_impl(old, NULL);
	return 0;
}

SEC("?tc") int XchgUnderLock(struct __sk_buff *ctx)
{
	struct locked_holder *h = first(lockeds);
	struct task_struct *t;

	bpf_spin_lock(&h->lock);
	t = bpf_kptr_xchg(&h->task, NULL);
	bpf_spin_unlock(&h->lock);
	if (t)
		bpf_task_release(t);
	return 0;
}

SEC("?tc") int PossiblyNULLPointerPassedHelperArg(struct __sk_buff *ctx)
{
	struct holder *h = first(holders);
	struct task_struct *t = bpf_kptr_xchg(&h->task, bpf_task_from_pid(1));

	if (t)
		bpf_task_release(t);
	return 0;
}

SEC("?tc") int PossiblyNULLPointerPassedHelperArg_ok(struct __sk_buff *ctx)
{
	struct holder *h = first(holders);
	struct task_struct *t = bpf_task_from_pid(1);

	if (!t)
		return 0;
	t = bpf_kptr_xchg(&h->task, t);
	if (t)
		bpf_task_release(t);
	return 0;
}

SEC("?tc") int InnerMapLookups(struct __sk_buff *ctx)
{
	u32 key = 0;
	void *m = bpf_map_lookup_elem(&outer, &key);
	u64 *v;

	if (!m)
		return 0;
	v = bpf_map_lookup_elem(m, &key);
	return *v & 1;
}

SEC("?fentry/do_exit") int UnsafeDrop(void *ctx)
{
	struct item *it = new(struct item);

	if (it)
		drop(it);
	return 0;
}

SEC("?fentry/do_exit") int CannotUsedInTracingProgramsTypes_ok(void *ctx)
{
	struct plain *it = new(struct plain);

	if (it)
		drop(it);
	return 0;
}

SEC("?tp_btf/sched_switch") int TrustedArgs(u64 *ctx)
{
	struct task_struct *t = bpf_task_acquire((void *)ctx[1]);

	if (t)
		bpf_task_release(t);
	return 0;
}

struct iter_task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

SEC("?iter/task") int IterArgsTrusted(struct iter_task *ctx)
{
	struct task_struct *t = ctx->task;

	if (!t)
		return 0;
	t = bpf_task_acquire(t);
	if (t)
		bpf_task_release(t);
	return 0;
}

struct task_struct___parent {
	struct task_struct *real_parent;
} CORE;

SEC("?tp_btf/sched_switch") int SafePointers(u64 *ctx)
{
	struct task_struct___parent *t = (void *)ctx[1];
	struct task_struct *p;

	bpf_rcu_read_lock();
	p = bpf_task_acquire(t->real_parent);
	bpf_rcu_read_unlock();
	if (p)
		bpf_task_release(p);
	return 0;
}

SEC("?tp_btf/sched_switch") int TrustByField(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[1], *p;

	p = bpf_task_acquire(t->last_wakee);
	if (p)
		bpf_task_release(p);
	return 0;
}

struct cgroup_subsys_state {
	struct cgroup *cgroup;
} CORE;

struct bpf_iter_css {
	u64 opaque[3];
} __attribute__((aligned(8)));
extern int bpf_iter_css_new(struct bpf_iter_css *it, struct cgroup_subsys_state *start, u32 flags) __ksym;
extern struct cgroup_subsys_state *bpf_iter_css_next(struct bpf_iter_css *it) __ksym;
extern void bpf_iter_css_destroy(struct bpf_iter_css *it) __ksym;

SEC("?tc") int SafeSubsysCgroup(struct __sk_buff *ctx)
{
	struct cgroup *c = bpf_cgroup_from_id(1), *d = NULL;
	struct cgroup_subsys_state *s;
	struct bpf_iter_css it;

	if (!c)
		return 0;
	bpf_rcu_read_lock();
	bpf_iter_css_new(&it, (void *)c, 1);
	s = bpf_iter_css_next(&it);
	if (s)
		d = bpf_cgroup_acquire(s->cgroup);
	bpf_iter_css_destroy(&it);
	bpf_rcu_read_unlock();
	if (d)
		bpf_cgroup_release(d);
	bpf_cgroup_release(c);
	return 0;
}

struct sock;
struct socket {
	struct sock *sk;
} CORE;

SEC("?lsm/socket_bind") int SafeSocketSk(u64 *ctx)
{
	struct socket *s = (void *)ctx[0];
	struct sock *sk = s->sk;

	bpf_sk_storage_get(&sk_storage, sk, NULL, 0);
	return 0;
}

struct inode {
	unsigned long i_ino;
} CORE;
struct dentry {
	struct inode *d_inode;
} CORE;

SEC("?lsm/inode_unlink") int DentryInodeNullable(u64 *ctx)
{
	struct dentry *d = (void *)ctx[1];

	return d->d_inode->i_ino == 12345 ? -1 : 0;
}

struct mm_struct {
	unsigned long task_size;
} CORE;
struct vm_area_struct {
	struct mm_struct *vm_mm;
} CORE;

SEC("?lsm/file_mprotect") int SafeVMAFields(u64 *ctx)
{
	struct vm_area_struct *v = (void *)ctx[0];

	return v->vm_mm->task_size == 12345 ? -1 : 0;
}

SEC("?flow_dissector") int FlowKeysMath(struct __sk_buff *ctx)
{
	struct bpf_flow_keys *keys = (void *)(long)ctx->flow_keys;

	return *(volatile u8 *)((void *)keys + (opaque(ctx->protocol) & 7)) & 1;
}

SEC("?tc") int NestedFields(struct __sk_buff *ctx)
{
	struct nested *n = first(nests);

	bpf_spin_lock(&n->in.lock);
	bpf_spin_unlock(&n->in.lock);
	return 0;
}

SEC("?tc") int Kptrs(struct __sk_buff *ctx)
{
	struct raw_holder *h = first(raws);

	return *(volatile u32 *)h & 1;
}

SEC("?tc") int KptrUntrustedTag(struct __sk_buff *ctx)
{
	struct holder *h = first(holders);

	h->task = NULL;
	return 0;
}

SEC("?tc") int KptrsAny(struct __sk_buff *ctx)
{
	struct holder *h = first(holders);

	return *(volatile u32 *)h & 1;
}

SEC("?tp_btf/sched_switch") int RCUKptrs(u64 *ctx)
{
	struct holder *h = first(holders);
	struct task_struct *t;

	bpf_rcu_read_lock();
	t = h->task;
	if (t)
		t = bpf_task_acquire(t);
	bpf_rcu_read_unlock();
	if (t)
		bpf_task_release(t);
	return 0;
}

SEC("?tc") int LocalKptrsRCU(struct __sk_buff *ctx)
{
	struct own_holder *h = first(owns);
	struct plain *p;
	int v = 0;

	bpf_rcu_read_lock();
	p = h->own;
	if (p)
		v = p->a;
	bpf_rcu_read_unlock();
	return v & 1;
}

SEC("?tc") int LocalKptrPassed(struct __sk_buff *ctx)
{
	struct own_holder *h = first(owns);
	struct plain *p;

	bpf_rcu_read_lock();
	p = h->own;
	if (p)
		bpf_skb_load_bytes(ctx, 0, p, 8);
	bpf_rcu_read_unlock();
	return 0;
}

SEC("?tc") int ResilientLocks(struct __sk_buff *ctx)
{
	struct resilient *r = first(res);

	return *(volatile u32 *)r & 1;
}

SEC("?tc") int TaskWork(struct __sk_buff *ctx)
{
	struct tasked *r = first(taskworks);

	return *(volatile u32 *)r & 1;
}

SEC("?tc") int FieldNames(struct __sk_buff *ctx)
{
	struct percpu_holder *h = first(percpus);

	return *(volatile u32 *)h & 1;
}

SEC("?tc") int LocalKptrs(struct __sk_buff *ctx)
{
	struct own_holder *h = first(owns);

	return *(volatile u32 *)h & 1;
}

SEC("?tc") int DynptrFromZero(struct __sk_buff *ctx)
{
	struct bpf_dynptr d;
	u64 v;

	bpf_dynptr_read(&v, 8, &d, 0, 0);
	return 0;
}

SEC("?kprobe/do_exit") int SessionKfuncs(void *ctx)
{
	return bpf_session_is_return();
}

static long each(struct bpf_map *map, u32 *key, u64 *value, void *ctx)
{
	return 0;
}

SEC("?tc") int EachMap(struct __sk_buff *ctx)
{
	void *m = &hash;

	if (opaque(ctx->len) > 10)
		m = &other;
	asm volatile("" : "+r"(m));
	bpf_for_each_map_elem(m, each, NULL, 0);
	return 0;
}

SEC("?tc") int EachMap_ok(struct __sk_buff *ctx)
{
	void *m = &hash;

	asm volatile("" : "+r"(m));
	bpf_for_each_map_elem(m, each, NULL, 0);
	return 0;
}

SEC("?tc") int UntrustedMath(struct __sk_buff *ctx)
{
	u8 *p = bpf_rdonly_cast(ctx, 0);
	u64 far = opaque(1ul << 40);

	asm volatile("%0 += %1" : "+r"(p) : "r"(far));
	return *(volatile u8 *)p & 1;
}

SEC("?tc") int MixedUntrusted(struct __sk_buff *ctx)
{
	u8 *p = bpf_rdonly_cast(ctx, 0);

	if (opaque(ctx->len) > 10)
		p = bpf_rdonly_cast(ctx, bpf_core_type_id_kernel(struct task_struct));
	asm volatile("" : "+r"(p));
	return *(volatile u8 *)p & 1;
}

SEC("?tc") int AtomicPointerTypes(struct __sk_buff *ctx)
{
	u64 own = 0, *p = first(plains);

	if (opaque(ctx->len) > 10)
		p = &own;
	asm volatile("lock *(u64 *)(%[p] + 0) += %[p1]" ::[p] "r"(p), [p1] "r"(1ull) : "memory");
	return 0;
}

SEC("?tc") int InvalidAccessMemoryMemSizeOff(struct __sk_buff *ctx)
{
	u8 *a = bpf_ringbuf_reserve(&ring, 8, 0);

	if (!a)
		return 0;
	a[8] = 1;
	bpf_ringbuf_discard(a, 0);
	return 0;
}

SEC("?tc") int InvalidAccessMemoryMemSizeOff_ok(struct __sk_buff *ctx)
{
	u8 *a = bpf_ringbuf_reserve(&ring, 8, 0);

	if (!a)
		return 0;
	a[7] = 1;
	bpf_ringbuf_discard(a, 0);
	return 0;
}

extern void *bpf_cast_to_kern_ctx(void *obj) __ksym;
extern void *bpf_arena_alloc_pages(void *map, void *addr, u32 pages, int node, u64 flags) __ksym;
struct {
	__uint(type, BPF_MAP_TYPE_ARENA);
	__uint(map_flags, 1024);
	__uint(max_entries, 2);
} arena SEC(".maps");

SEC("?tc") int ProgramMustSleepableCallSleepableKfunc(struct __sk_buff *ctx)
{
	return bpf_arena_alloc_pages(&arena, NULL, 1, -1, 0) != NULL;
}

SEC("?tc") int ProgramMustSleepableCallSleepableKfunc_ok(struct __sk_buff *ctx)
{
	return 0;
}

PAIR("syscall", NoKernelContext, void)
{
	return (bad ? bpf_cast_to_kern_ctx(ctx) : bpf_rdonly_cast(ctx, bpf_core_type_id_kernel(struct task_struct))) != NULL;
}

extern int bpf_xdp_metadata_rx_timestamp(const struct xdp_md *ctx, u64 *timestamp) __ksym;

PAIR("xdp", MetadataKfuncsRequireDeviceBoundProgram, struct xdp_md)
{
	u64 t = 0;

	if (bad)
		bpf_xdp_metadata_rx_timestamp(ctx, &t);
	return XDP_PASS;
}

struct file {
	u32 f_flags;
} CORE;
extern int bpf_get_file_xattr(struct file *file, const char *name__str, struct bpf_dynptr *value) __ksym;
static const char xattr[] = "user.x";
static char buffer[16];

PAIR("lsm.s/file_open", NotPointConstString, u64)
{
	struct bpf_dynptr d;
	char own[8] = "user.x";

	bpf_dynptr_from_mem(buffer, 16, 0, &d);
	bpf_get_file_xattr((void *)ctx[0], bad ? own : xattr, &d);
	return 0;
}

extern int bpf_dynptr_from_file(struct file *file, u32 flags, struct bpf_dynptr *p) __ksym __weak;
extern int bpf_dynptr_file_discard(struct bpf_dynptr *p) __ksym __weak;

SEC("?lsm.s/file_open") int FileDynptr(u64 *ctx)
{
	struct bpf_dynptr d;

	bpf_dynptr_from_file((void *)ctx[0], 0, &d);
	bpf_ringbuf_submit_dynptr(&d, 0);
	return 0;
}

SEC("?lsm.s/file_open") int FileDynptr_ok(u64 *ctx)
{
	struct bpf_dynptr d;

	bpf_dynptr_from_file((void *)ctx[0], 0, &d);
	bpf_dynptr_file_discard(&d);
	return 0;
}

struct user_map {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct user_holder);
} users SEC(".maps");

PAIR("tp_btf/sched_switch", StoreUptrDisallowed, u64)
{
	struct user_holder *h = bpf_task_storage_get(&users, bpf_get_current_task_btf(), NULL, 0);

	if (!h)
		return 0;
	if (bad)
		h->user = NULL;
	asm volatile("" ::"r"(h->user));
	return 0;
}

static long in_callback(struct bpf_map *map, u32 *key, u64 *value, struct task_struct **t)
{
	if (*t)
		bpf_task_release(*t);
	return 0;
}

SEC("?tp_btf/sched_switch") int KfuncInCallback(u64 *ctx)
{
	struct task_struct *t = bpf_task_from_pid(1);

	bpf_for_each_map_elem(&hash, in_callback, &t, 0);
	return 0;
}

SEC("?tp_btf/sched_switch") int KfuncInCallback_ok(u64 *ctx)
{
	struct task_struct *t = bpf_task_from_pid(1);

	if (t)
		bpf_task_release(t);
	return 0;
}

SEC("?tc") int CallbackRefs_ok(struct __sk_buff *ctx)
{
	struct bpf_sock_tuple t = {};
	struct bpf_sock *sk = bpf_sk_lookup_tcp(ctx, &t, sizeof(t.ipv4), BPF_F_CURRENT_NETNS, 0);

	if (sk)
		bpf_sk_release(sk);
	return 0;
}

__noinline int may_throw(u64 x)
{
	if (opaque(x) == 1)
		bpf_throw(0);
	return 0;
}

SEC("?tc") int GlobalsThrow(struct __sk_buff *ctx)
{
	void *a = bpf_ringbuf_reserve(&ring, 16, 0);

	if (!a)
		return 0;
	may_throw(ctx->len);
	bpf_ringbuf_discard(a, 0);
	return 0;
}

__noinline int takes_arena(int __attribute__((btf_type_tag("arena"))) *p)
{
	return (u64)(long)opaque(p) & 1;
}

SEC("?tc") int ArenaPointerArgs(struct __sk_buff *ctx)
{
	return takes_arena((void *)opaque(8ul)) + (opaque(&arena) == NULL);
}

extern int bpf_rbtree_add_impl(struct bpf_rb_root *r, struct bpf_rb_node *n, bool(less)(struct bpf_rb_node *, const struct bpf_rb_node *), void *meta, u64 off) __ksym;
extern int bpf_res_spin_lock(struct bpf_res_spin_lock *lock) __ksym;
extern void bpf_res_spin_unlock(struct bpf_res_spin_lock *lock) __ksym;
private(A) struct bpf_res_spin_lock tree_lock;
private(A) struct bpf_rb_root tree __contains(leaf, node);

/* What a tree's comparison may not do: begin an RCU section. */
static bool less_in_rcu(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	bpf_res_spin_unlock(&tree_lock);
	bpf_rcu_read_lock();
	while (bpf_res_spin_lock(&tree_lock))
		;
	return true;
}

SEC("?tc") int TreeCallbackRCU(struct __sk_buff *ctx)
{
	struct leaf *l = new(struct leaf);

	if (!l)
		return 0;
	if (bpf_res_spin_lock(&tree_lock)) {
		drop(l);
		return 0;
	}
	bpf_rbtree_add_impl(&tree, &l->node, less_in_rcu, NULL, 0);
	bpf_res_spin_unlock(&tree_lock);
	return 0;
}

SEC("?tc") int Trees(struct __sk_buff *ctx)
{
	struct rooted *r = first(roots);

	return *(volatile u32 *)&r->root & 1;
}

SEC("?tc") int Refcounts(struct __sk_buff *ctx)
{
	struct counted *c = first(counteds);

	return *(volatile u32 *)&c->ref & 1;
}

struct cpumask {
	unsigned long bits[1];
};
struct task_struct___mask {
	struct cpumask cpus_mask;
} CORE;
extern u32 bpf_cpumask_first(const struct cpumask *c) __ksym;

SEC("?tp_btf/sched_switch") int TrustedOffsets(u64 *ctx)
{
	struct task_struct___mask *t = (void *)ctx[1];

	return bpf_cpumask_first(&t->cpus_mask) & 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
} perf SEC(".maps");
struct sk_buff___next {
	struct sk_buff___next *next;
} CORE;

SEC("?tp_btf/kfree_skb") int UnionsUntrusted(u64 *ctx)
{
	struct sk_buff___next *skb = (void *)ctx[0];
	u64 x = 0;

	bpf_skb_output(skb->next, &perf, 0, &x, sizeof(x));
	return 0;
}

/* A function that takes a lock and returns with it. */
static __noinline int locks(struct plain_lock *l)
{
	bpf_spin_lock(&l->lock);
	return 0;
}

SEC("?tc") int LocksAtReturn(struct __sk_buff *ctx)
{
	struct plain_lock *l = first(plain_locks);

	locks(l);
	bpf_spin_unlock(&l->lock);
	return 0;
}

/* Both the program and its callback have stacks that are too deep, by different sizes. */
SEC("?tc") int DepthOrder(struct __sk_buff *ctx)
{
	volatile char a[340];
	struct timed *t = first(timers);

	a[ctx->len & 63] = 1;
	bpf_timer_set_callback(&t->timer, on_timer);
	return deep2(ctx->len);
}

extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym;

/* No two rounds are the same before the counter is widened. */
SEC("?tc") int ConvergingIterators(struct __sk_buff *ctx)
{
	struct bpf_iter_num it;
	u64 n = 0;

	bpf_iter_num_new(&it, 0, 1000);
	while (bpf_iter_num_next(&it)) {
		asm volatile("%0 += 1" : "+r"(n));
		if (opaque(ctx->len) == 7)
			n = opaque(n + 2);
	}
	bpf_iter_num_destroy(&it);
	return n & 1;
}

/* A loop whose states differ in a counter that goes round. */
SEC("?tc") int MissLimit64(struct __sk_buff *ctx)
{
	struct bpf_iter_num it;
	u64 n = 0;
	int v = 0;

	bpf_iter_num_new(&it, 0, 1000);
	while (bpf_iter_num_next(&it)) {
		asm volatile("%0 += 1; %0 &= 15" : "+r"(n));
		if (n == 3)
			v = opaque(1);
		if (n == 9)
			v = opaque(0);
		if (opaque(ctx->len) == 7)
			v = opaque(2);
	}
	bpf_iter_num_destroy(&it);
	return v;
}

/* The size of a slice is one of two, which only its being exact keeps apart. */
SEC("?tc") int ConstSizePrecise(struct __sk_buff *ctx)
{
	struct bpf_dynptr d;
	u64 n = 4;
	u8 *p;

	bpf_dynptr_from_mem(first(plains), 16, 0, &d);
	if (opaque(ctx->len) == 3)
		n = opaque(8);
	asm volatile("r1 = 1; r1 = 2; r1 = 3; r1 = 4; r1 = 5; r1 = 6; if r1 == 3 goto +0; if r1 == 4 goto +0; if r1 == 5 goto +0" ::: "r1");
	p = bpf_dynptr_slice(&d, 0, NULL, n);
	return p ? *p : 0;
}

/* What sets a callback; a test puts many open branches before it. */
SEC("?tc") int SetsCallback(struct __sk_buff *ctx)
{
	struct timed *t = first(timers);

	bpf_timer_set_callback(&t->timer, calm);
	return 0;
}

/* For a release before the one that the programs here are for. */
PAIR("tc", ArenaSigned, struct __sk_buff)
{
	u64 at = 8;

	asm volatile("%0 = addr_space_cast(%0, 0, 1)" : "+r"(at));
	if (bad)
		asm volatile("%0 = *(s8 *)(%0 + 0)" : "+r"(at));
	else
		asm volatile("%0 = *(u8 *)(%0 + 0)" : "+r"(at));
	return (at & 1) + (opaque(&arena) == NULL);
}
