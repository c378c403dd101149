// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// graph: objects that programs allocate, the lists and trees that hold them, and kptrs in maps.
#include "refused.h"

struct item {
	struct bpf_list_node l;
	struct bpf_list_node other;
	u64 v;
};
struct leaf {
	u64 key;
	struct bpf_rb_node n;
	u64 v;
};
struct shared {
	u64 v;
	struct bpf_rb_node r;
	struct bpf_refcount ref;
};
struct plain {
	u64 a, b;
	u32 c;
};
struct big {
	u64 a[80];
};
struct pointing {
	void *p;
};

private(A) struct bpf_spin_lock lock;
private(A) struct bpf_list_head head __contains(item, l);
private(B) struct bpf_spin_lock tlock;
private(B) struct bpf_rb_root tree __contains(leaf, n);
private(C) struct bpf_spin_lock slock;
private(C) struct bpf_rb_root stree __contains(shared, r);

private(D) struct bpf_res_spin_lock rlock;
private(D) struct bpf_rb_root rtree __contains(leaf, n);

struct owner {
	struct task_struct __kptr *task;
	struct task_struct __kptr_untrusted *raw;
	struct plain __kptr *own;
	struct plain __percpu_kptr *percpu;
	u64 v;
};

MAP(owners, BPF_MAP_TYPE_ARRAY, u32, struct owner, 4);
MAP(plains, BPF_MAP_TYPE_ARRAY, u32, struct plain, 4);
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, sizeof(struct owner));
	__uint(max_entries, 2);
} untyped SEC(".maps");

extern int bpf_list_push_front_impl(struct bpf_list_head *h, struct bpf_list_node *n, void *meta, u64 off) __ksym;
extern struct bpf_list_node *bpf_list_pop_front(struct bpf_list_head *h) __ksym;
extern struct bpf_rb_node *bpf_rbtree_remove(struct bpf_rb_root *r, struct bpf_rb_node *n) __ksym;
extern int bpf_rbtree_add_impl(struct bpf_rb_root *r, struct bpf_rb_node *n, bool(less)(struct bpf_rb_node *, const struct bpf_rb_node *), void *meta, u64 off) __ksym;
extern struct bpf_rb_node *bpf_rbtree_first(struct bpf_rb_root *r) __ksym;

extern int bpf_res_spin_lock(struct bpf_res_spin_lock *lock) __ksym;
extern void bpf_res_spin_unlock(struct bpf_res_spin_lock *lock) __ksym;

#define push(h, n) bpf_list_push_front_impl(h, n, NULL, 0)
#define add(r, n, less) bpf_rbtree_add_impl(r, n, less, NULL, 0)

static bool less(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	return container_of(a, struct leaf, n)->key < container_of(b, struct leaf, n)->key;
}

static bool rcu_less(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	bpf_res_spin_unlock(&rlock);
	bpf_rcu_read_unlock();
	bpf_rcu_read_lock();
	while (bpf_res_spin_lock(&rlock))
		;
	return true;
}

static bool lock_less(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	bpf_spin_unlock(&tlock);
	bpf_spin_lock(&tlock);
	return true;
}

static bool remove_less(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	bpf_rbtree_remove(&tree, a);
	return true;
}

PAIR("tc", BpfSpinLockOffMustHeld, struct __sk_buff)
{
	struct item *it = new(struct item);

	if (!it)
		return 0;
	if (!bad)
		bpf_spin_lock(&lock);
	push(&head, &it->l);
	if (!bad)
		bpf_spin_unlock(&lock);
	return 0;
}

PAIR("tc", HeldLockObjectNotInSame, struct __sk_buff)
{
	struct item *it = new(struct item);

	if (!it)
		return 0;
	bpf_spin_lock(bad ? &tlock : &lock);
	push(&head, &it->l);
	bpf_spin_unlock(bad ? &tlock : &lock);
	return 0;
}

PAIR("tc", NotFoundOffset, struct __sk_buff)
{
	struct item *it = new(struct item);

	if (!it)
		return 0;
	bpf_spin_lock(&lock);
	push(bad ? (void *)&head + 8 : &head, &it->l);
	bpf_spin_unlock(&lock);
	return 0;
}

PAIR("tc", Arg1OffsetButExpectedOffset, struct __sk_buff)
{
	struct item *it = new(struct item);

	if (!it)
		return 0;
	bpf_spin_lock(&lock);
	push(&head, bad ? &it->other : &it->l);
	bpf_spin_unlock(&lock);
	return 0;
}

struct foreign {
	struct bpf_list_node l;
	u64 v;
};

PAIR("tc", OperationExpectsArg1OffsetIn, struct __sk_buff)
{
	void *it;

	if (bad)
		it = new(struct foreign);
	else
		it = new(struct item);
	if (!it)
		return 0;
	bpf_spin_lock(&lock);
	push(&head, it);
	bpf_spin_unlock(&lock);
	return 0;
}

PAIR("tc", ExpectedPointerMapValueAllocatedObject, struct __sk_buff)
{
	struct item *it = new(struct item);
	struct bpf_list_head own = {};

	if (!it)
		return 0;
	bpf_spin_lock(&lock);
	push(bad ? &own : &head, &it->l);
	bpf_spin_unlock(&lock);
	return 0;
}

PAIR("tc", ArgExpectedPointerAllocatedObject, struct __sk_buff)
{
	struct item *it = new(struct item);
	struct bpf_list_node own = {};

	if (!it)
		return 0;
	bpf_spin_lock(&lock);
	push(&head, bad ? &own : &it->l);
	bpf_spin_unlock(&lock);
	return 0;
}

PAIR("tc", OnlyTakeNonOwningRefcountedBpf, struct __sk_buff)
{
	struct bpf_rb_node *n;
	struct leaf *own = first(plains);

	bpf_spin_lock(&tlock);
	n = bpf_rbtree_first(&tree);
	if (!n) {
		bpf_spin_unlock(&tlock);
		return 0;
	}
	n = bpf_rbtree_remove(&tree, bad ? &own->n : n);
	bpf_spin_unlock(&tlock);
	if (n)
		drop(container_of(n, struct leaf, n));
	return 0;
}

PAIR("tc", NotAllowedInRbtreeCb, struct __sk_buff)
{
	struct leaf *l = new(struct leaf);

	if (!l)
		return 0;
	bpf_spin_lock(&tlock);
	add(&tree, &l->n, bad ? remove_less : less);
	bpf_spin_unlock(&tlock);
	return 0;
}

PAIR("tc", CannotSpinLockUnlockInRbtree, struct __sk_buff)
{
	struct leaf *l = new(struct leaf);

	if (!l)
		return 0;
	bpf_spin_lock(&tlock);
	add(&tree, &l->n, bad ? lock_less : less);
	bpf_spin_unlock(&tlock);
	return 0;
}

PAIR("tc", NeitherOwningNonOwningRef, struct __sk_buff)
{
	struct shared *s = new(struct shared), *again;
	struct shared *value = first(plains);

	if (!s)
		return 0;
	again = bpf_refcount_acquire_impl(bad ? value : s, NULL);
	drop(s);
	if (again)
		drop(again);
	return 0;
}

PAIR("tc", NotPointTypeBpfRefcountField, struct __sk_buff)
{
	struct shared *s = new(struct shared), *again;
	struct leaf *l;

	if (!s)
		return 0;
	if (bad) {
		l = new(struct leaf);
		if (l) {
			again = bpf_refcount_acquire_impl(l, NULL);
			drop(l);
			if (again)
				drop(again);
		}
	} else {
		again = bpf_refcount_acquire_impl(s, NULL);
		if (again)
			drop(again);
	}
	drop(s);
	return 0;
}

PAIR("tc", ExpectedBpfObjDropImpl, struct __sk_buff)
{
	struct plain *p = new(struct plain);

	if (!p)
		return 0;
	if (bad)
		bpf_percpu_obj_drop_impl(p, NULL);
	else
		drop(p);
	return 0;
}

PAIR("tc", ExpectedBpfPercpuObjDropImpl, struct __sk_buff)
{
	void *p = bpf_percpu_obj_new_impl(bpf_core_type_id_local(struct plain), NULL);

	if (!p)
		return 0;
	if (bad)
		drop(p);
	else
		bpf_percpu_obj_drop_impl(p, NULL);
	return 0;
}

PAIR("tc", BpfPercpuObjNewTypeSize, struct __sk_buff)
{
	void *p = bpf_percpu_obj_new_impl(bad ? bpf_core_type_id_local(struct big) : bpf_core_type_id_local(struct plain), NULL);

	if (p)
		bpf_percpu_obj_drop_impl(p, NULL);
	return 0;
}

PAIR("tc", BpfPercpuObjNewTypeID, struct __sk_buff)
{
	void *p = bpf_percpu_obj_new_impl(bad ? bpf_core_type_id_local(struct pointing) : bpf_core_type_id_local(struct plain), NULL);

	if (p)
		bpf_percpu_obj_drop_impl(p, NULL);
	return 0;
}

PAIR("tc", BpfPercpuObjNewTypeID2, struct __sk_buff)
{
	void *p = bpf_percpu_obj_new_impl(bad ? bpf_core_type_id_local(struct leaf) : bpf_core_type_id_local(struct plain), NULL);

	if (p)
		bpf_percpu_obj_drop_impl(p, NULL);
	return 0;
}

PAIR("tc", BpfObjNewBpfPercpuObj2, struct __sk_buff)
{
	void *p = bpf_obj_new_impl(bad ? bpf_core_type_id_local(u64) : bpf_core_type_id_local(struct plain), NULL);

	if (p)
		drop(p);
	return 0;
}

PAIR("tc", LocalTypeIDArgumentMustIn, struct __sk_buff)
{
	void *p;

	if (bad)
		p = bpf_obj_new_impl(1ull << 32, NULL);
	else
		p = new(struct plain);
	if (p)
		drop(p);
	return 0;
}

PAIR("tc", MustKnownConstant, struct __sk_buff)
{
	void *p;

	if (bad)
		p = bpf_obj_new_impl(opaque(ctx->len), NULL);
	else
		p = new(struct plain);
	if (p)
		drop(p);
	return 0;
}

PAIR("tc", DirectAccessDisallowed, struct __sk_buff)
{
	struct leaf *l = new(struct leaf);

	if (!l)
		return 0;
	if (bad)
		*(u64 *)&l->n = 1;
	else
		l->v = 1;
	drop(l);
	return 0;
}

PAIR("kprobe/do_exit", TracingProgsCannotUseBpfList, void)
{
	struct plain *value = first(plains);

	if (bad)
		asm volatile("" ::"r"(&head));
	return 0;
}

/* Kptrs in maps. */

PAIR("tc", KptrInMapOnlyAccessedUsing, struct __sk_buff)
{
	struct owner *o = first(owners);

	if (bad)
		asm volatile("r1 = 0; lock *(u64 *)(%[o] + 8) += r1" ::[o] "r"(o) : "r1", "memory");
	else
		asm volatile("r1 = *(u64 *)(%[o] + 8)" ::[o] "r"(o) : "r1", "memory");
	return 0;
}

PAIR("tc", StoreReferencedKptrDisallowed, struct __sk_buff)
{
	struct owner *o = first(owners);

	if (bad)
		o->task = NULL;
	else
		o->raw = NULL;
	return 0;
}

PAIR("tc", BPFSTImmMust0When, struct __sk_buff)
{
	struct owner *o = first(owners);

	if (bad)
		asm volatile("*(u64 *)(%[o] + 8) = 1" ::[o] "r"(o) : "memory");
	else
		asm volatile("*(u64 *)(%[o] + 8) = 0" ::[o] "r"(o) : "memory");
	return 0;
}

PAIR("tc", InvalidKptrAccessRTypeExpected, struct __sk_buff)
{
	struct owner *o = first(owners);
	u64 zero = 0;

	o->raw = bad ? (void *)opaque((u64)ctx->len) : (void *)opaque(zero);
	return 0;
}

PAIR("tc", AccessCannotVariableOffset, struct __sk_buff)
{
	struct owner *o = first(owners);
	u64 at = opaque(ctx->len) & 8;

	if (!bad)
		at = 8;
	return *(u64 *)((void *)o + at) != 0;
}

PAIR("tc", AccessSizeMustBPFDW, struct __sk_buff)
{
	struct owner *o = first(owners);

	return bad ? *(volatile u32 *)&o->task : *(volatile u32 *)&o->v;
}

PAIR("tc", CannotAccessedIndirectlyHelper, struct __sk_buff)
{
	struct owner *o = first(owners);

	if (bad)
		bpf_get_current_comm(o, sizeof(*o));
	else
		bpf_get_current_comm(&o->v, sizeof(o->v));
	return 0;
}

PAIR("tc", NoValidKptr, struct __sk_buff)
{
	struct owner *o = first(owners);
	struct plain *p = first(plains);
	struct task_struct *t = bpf_kptr_xchg(bad ? (void *)p : &o->task, NULL);

	if (t)
		bpf_task_release(t);
	return 0;
}

PAIR("tc", OffNotPointKptr, struct __sk_buff)
{
	struct owner *o = first(owners);
	struct task_struct *t = bpf_kptr_xchg(bad ? (void *)&o->v : &o->task, NULL);

	if (t)
		bpf_task_release(t);
	return 0;
}

PAIR("tc", OffKptrNotReferencedKptr, struct __sk_buff)
{
	struct owner *o = first(owners);
	struct task_struct *t = bpf_kptr_xchg(bad ? (void *)&o->raw : &o->task, NULL);

	if (t)
		bpf_task_release(t);
	return 0;
}

PAIR("tc", NotConstantOffsetKptrConstantOffset, struct __sk_buff)
{
	struct owner *o = first(owners);
	void *at = o;
	struct task_struct *t;

	if (bad)
		at += opaque(ctx->len) & 8;
	t = bpf_kptr_xchg(at, NULL);
	if (t)
		bpf_task_release(t);
	return 0;
}

PAIR("tc", MapBTFInOrderUseBpf2, struct __sk_buff)
{
	u32 key = 0;
	struct owner *o = bad ? bpf_map_lookup_elem(&untyped, &key) : bpf_map_lookup_elem(&owners, &key);
	struct task_struct *t;

	if (!o)
		return 0;
	t = bpf_kptr_xchg(&o->task, NULL);
	if (t)
		bpf_task_release(t);
	return 0;
}

PAIR("tc", ExpectedPointerAllocatedObject, struct __sk_buff)
{
	struct task_struct *t = bpf_task_from_pid(1);

	if (!t)
		return 0;
	if (bad)
		drop(t);
	else
		bpf_task_release(t);
	return 0;
}

PAIR("tc", MustReferencedWhenPassedReleaseFunction, struct __sk_buff)
{
	struct owner *o = first(owners);
	struct task_struct *t = bpf_task_from_pid(1), *old;

	if (!t)
		return 0;
	old = bpf_kptr_xchg(&o->task, bad ? bpf_get_current_task_btf() : t);
	if (old)
		bpf_task_release(old);
	if (bad)
		bpf_task_release(t);
	return 0;
}

PAIR("tc", CallingBpfRcuReadLockUnlock, struct __sk_buff)
{
	struct leaf *l = new(struct leaf);

	if (!l)
		return 0;
	bpf_rcu_read_lock();
	if (bpf_res_spin_lock(&rlock)) {
		bpf_rcu_read_unlock();
		drop(l);
		return 0;
	}
	add(&rtree, &l->n, bad ? rcu_less : less);
	bpf_res_spin_unlock(&rlock);
	bpf_rcu_read_unlock();
	return 0;
}
