// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// updates: programs that stable updates changed the answer to, each named after its rule (verifier/testdata/boundaries.txt).
#include "refused.h"

struct plain {
	u64 a, b;
};
struct open_ended {
	u64 n;
	u32 more[];
};
struct shared_item {
	struct bpf_refcount ref;
	u64 v;
};
struct leaf {
	struct bpf_rb_node node;
	u64 v;
};
struct keeper {
	struct bpf_rb_node node;
	struct plain __kptr *own;
};
struct percpu_holder {
	struct plain __percpu_kptr *own;
};
struct item_holder {
	struct shared_item __kptr *own;
};
struct timed {
	struct bpf_timer timer;
	u64 v;
};

MAP(percpus, BPF_MAP_TYPE_ARRAY, u32, struct percpu_holder, 1);
MAP(counteds, BPF_MAP_TYPE_ARRAY, u32, struct item_holder, 1);
MAP(progs, BPF_MAP_TYPE_PROG_ARRAY, u32, u32, 1);

struct inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, struct timed);
	__uint(max_entries, 1);
} timers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__type(key, u32);
	__type(value, u32);
	__uint(max_entries, 1);
	__array(values, struct inner);
} outer SEC(".maps") = {.values = {&timers}};

extern int bpf_res_spin_lock(struct bpf_res_spin_lock *lock) __ksym;
extern void bpf_res_spin_unlock(struct bpf_res_spin_lock *lock) __ksym;
extern int bpf_rbtree_add_impl(struct bpf_rb_root *root, struct bpf_rb_node *node,
			       bool(less)(struct bpf_rb_node *a, const struct bpf_rb_node *b), void *meta, u64 off) __ksym;
extern struct bpf_rb_node *bpf_rbtree_first(struct bpf_rb_root *root) __ksym;
extern struct bpf_rb_node *bpf_rbtree_remove(struct bpf_rb_root *root, struct bpf_rb_node *node) __ksym;
extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym;

private(T) struct bpf_res_spin_lock tree_lock;
private(T) struct bpf_rb_root tree __contains(leaf, node);

private(U) struct bpf_spin_lock keep_lock;
private(U) struct bpf_rb_root keepers __contains(keeper, node);

/* The object is in a tree, and the program does not own it. */
SEC("?tc") int XchgNonOwning(struct __sk_buff *ctx)
{
	struct plain *p = NULL;
	struct bpf_rb_node *n;

	bpf_spin_lock(&keep_lock);
	n = bpf_rbtree_first(&keepers);
	if (n)
		p = bpf_kptr_xchg(&((struct keeper *)n)->own, NULL);
	bpf_spin_unlock(&keep_lock);
	if (p)
		drop(p);
	return bpf_core_type_id_local(struct keeper) & 1; /* whose members would not be in the types else */
}

/* What is not per-CPU memory is stored as such. */
SEC("?tc") int PercpuStores(struct __sk_buff *ctx)
{
	struct percpu_holder *h = first(percpus);
	struct plain *p = new(struct plain);
	void *old;

	if (!p)
		return 0;
	old = bpf_kptr_xchg(&h->own, p);
	if (old)
		bpf_percpu_obj_drop_impl(old, NULL);
	return 0;
}

/* The RCU section that kept the object has ended. */
SEC("?tc") int UntrustedAllocated(struct __sk_buff *ctx)
{
	struct item_holder *h = first(counteds);
	struct shared_item *p, *q;

	bpf_rcu_read_lock();
	p = h->own;
	if (!p) {
		bpf_rcu_read_unlock();
		return 0;
	}
	bpf_rcu_read_unlock();
	q = bpf_refcount_acquire_impl(p, NULL);
	if (q)
		drop(q);
	return 0;
}

/* The last reference to the object may be dropped meanwhile, so that there is none to acquire. */
SEC("?tc") int BorrowedRefcounts(struct __sk_buff *ctx)
{
	struct item_holder *h = first(counteds);
	struct shared_item *p = h->own, *q;

	if (!p)
		return bpf_core_type_id_local(struct shared_item) & 1; /* whose members would not be in the types else */
	q = bpf_refcount_acquire_impl(p, NULL);
	q->v = 1;
	drop(q);
	return 0;
}

/* Behind the object is another one. */
SEC("?tc") int AllocatedSize(struct __sk_buff *ctx)
{
	struct open_ended *p = new(struct open_ended);
	u32 v;

	if (!p)
		return 0;
	v = *(volatile u32 *)&p->more[3];
	drop(p);
	return v & 1;
}

static bool less_unlocked(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	bpf_res_spin_unlock(&tree_lock);
	while (bpf_res_spin_lock(&tree_lock))
		;
	return true;
}

static bool less_plain(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	return a < b;
}

static __noinline int moves(struct bpf_rb_node *a)
{
	struct bpf_rb_node *n = bpf_rbtree_remove(&tree, a);

	if (n)
		bpf_rbtree_add_impl(&tree, n, less_plain, NULL, 0);
	return 0;
}

static bool less_calls(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	moves(a);
	return true;
}

#define TREE(name, less)                                                \
	SEC("?tc") int name(struct __sk_buff *ctx)                      \
	{                                                               \
		struct leaf *l = new(struct leaf);                      \
                                                                        \
		if (!l)                                                 \
			return 0;                                       \
		if (bpf_res_spin_lock(&tree_lock)) {                    \
			drop(l);                                        \
			return 0;                                       \
		}                                                       \
		bpf_rbtree_add_impl(&tree, &l->node, less, NULL, 0);    \
		bpf_res_spin_unlock(&tree_lock);                        \
		return 0;                                               \
	}

/* The comparison of a tree's elements gives up the tree's lock, or calls what changes the tree. */
TREE(TreeCallbackResLocks, less_unlocked)
TREE(TreeCallbackCallees, less_calls)
TREE(Tree_ok, less_plain)

struct carried {
	struct __sk_buff *skb;
};

static long calls_on(u32 i, struct carried *c)
{
	bpf_tail_call(c->skb, &progs, 0);
	return 0;
}

static long calls_none(u32 i, struct carried *c)
{
	return c->skb == NULL;
}

/* Behind a tail call the callback would have returned what another program does. */
PAIR("tc", CannotTailCallWithinCallback, struct __sk_buff)
{
	struct carried c = {ctx};

	bpf_loop(opaque(4), bad ? calls_on : calls_none, &c, 0);
	return 0;
}

static long does_nothing(u32 i, void *c)
{
	return 0;
}

/* A pointer says how often to loop. */
SEC("?tc") int LoopCounts(struct __sk_buff *ctx)
{
	long (*loop)(u64 nr, void *cb, void *c, u64 flags) = (void *)BPF_FUNC_loop;

	loop((u64)ctx, does_nothing, NULL, 0);
	return 0;
}

static __noinline int throws(u32 x)
{
	if (x)
		bpf_throw(0);
	return 0;
}

/* A function throws in a section of its caller. */
SEC("?tc") int ThrowWithLocks(struct __sk_buff *ctx)
{
	bpf_rcu_read_lock();
	throws(ctx->len);
	bpf_rcu_read_unlock();
	return 0;
}

static long starts_timer(struct bpf_map *map, u32 *key, struct timed *value, void *c)
{
	bpf_timer_init(&value->timer, map, 1);
	return 0;
}

/* A timer of an element is initialised with the map that the callback is called for. */
SEC("?tc") int CallbackMaps(struct __sk_buff *ctx)
{
	bpf_for_each_map_elem(first(outer), starts_timer, NULL, 0);
	return 0;
}

/* Helpers that sleep, in an RCU section. */
SEC("?syscall") int SyscallsSleep(void *ctx)
{
	bpf_rcu_read_lock();
	bpf_sys_close(100);
	bpf_rcu_read_unlock();
	return 0;
}

SEC("?syscall") int BTFSearchSleeps(void *ctx)
{
	char name[] = "int";

	bpf_rcu_read_lock();
	bpf_btf_find_by_name_kind(name, sizeof(name), 1, 0);
	bpf_rcu_read_unlock();
	return 0;
}

SEC("?uprobe.s") int StacksSleep(void *ctx)
{
	u64 ips[4];

	bpf_rcu_read_lock();
	bpf_get_stack(ctx, ips, sizeof(ips), BPF_F_USER_STACK);
	bpf_rcu_read_unlock();
	return 0;
}

/* The iterator in the frame's last slot is meant by an address above the frame. */
SEC("?tc") int StackObjectsBelow(struct __sk_buff *ctx)
{
	void *fp;

	asm volatile("%0 = r10" : "=r"(fp));
	bpf_iter_num_new(fp - 8, 0, 3);
	while (bpf_iter_num_next(fp))
		;
	bpf_iter_num_destroy(fp - 8);
	return 0;
}
