// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// graph: objects programs allocate: linked lists, red-black trees, reference counts, kptrs in maps.
#include "case.h"

struct bpf_list_node_k;

extern void *bpf_obj_new_impl(u64 type, void *meta) __ksym;
extern void bpf_obj_drop_impl(void *p, void *meta) __ksym;
extern void *bpf_refcount_acquire_impl(void *p, void *meta) __ksym;
extern int bpf_list_push_front_impl(struct bpf_list_head *h, struct bpf_list_node *n, void *meta, u64 off) __ksym;
extern int bpf_list_push_back_impl(struct bpf_list_head *h, struct bpf_list_node *n, void *meta, u64 off) __ksym;
extern struct bpf_list_node *bpf_list_pop_front(struct bpf_list_head *h) __ksym;
extern struct bpf_list_node *bpf_list_pop_back(struct bpf_list_head *h) __ksym;
extern struct bpf_list_node *bpf_list_front(struct bpf_list_head *h) __ksym;
extern struct bpf_list_node *bpf_list_back(struct bpf_list_head *h) __ksym;
extern struct bpf_rb_node *bpf_rbtree_remove(struct bpf_rb_root *r, struct bpf_rb_node *n) __ksym;
extern int bpf_rbtree_add_impl(struct bpf_rb_root *r, struct bpf_rb_node *n, bool(less)(struct bpf_rb_node *, const struct bpf_rb_node *), void *meta, u64 off) __ksym;
extern struct bpf_rb_node *bpf_rbtree_first(struct bpf_rb_root *r) __ksym;
extern struct bpf_rb_node *bpf_rbtree_root(struct bpf_rb_root *r) __ksym;
extern struct bpf_rb_node *bpf_rbtree_left(struct bpf_rb_root *r, struct bpf_rb_node *n) __ksym;
extern struct bpf_rb_node *bpf_rbtree_right(struct bpf_rb_root *r, struct bpf_rb_node *n) __ksym;
extern void *bpf_percpu_obj_new_impl(u64 type, void *meta) __ksym;
extern void bpf_percpu_obj_drop_impl(void *p, void *meta) __ksym;
extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;

#define new(type) ((type *)bpf_obj_new_impl(__builtin_btf_type_id(*(type *)0, 0), NULL))
#define drop(p) bpf_obj_drop_impl(p, NULL)
#define ref(p) bpf_refcount_acquire_impl(p, NULL)
#define push_front(h, n) bpf_list_push_front_impl(h, n, NULL, 0)
#define push_back(h, n) bpf_list_push_back_impl(h, n, NULL, 0)
#define rb_add(r, n, less) bpf_rbtree_add_impl(r, n, less, NULL, 0)

#define __kptr __attribute__((btf_type_tag("kptr")))
#define __percpu_kptr __attribute__((btf_type_tag("percpu_kptr")))

struct plain {
	u64 a, b;
	u32 c;
};

struct item {
	struct bpf_list_node l;
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
	struct bpf_list_node l;
	struct bpf_refcount ref;
};

private(A) struct bpf_spin_lock lock;
private(A) struct bpf_list_head head __contains(item, l);
private(B) struct bpf_spin_lock tlock;
private(B) struct bpf_rb_root tree __contains(leaf, n);
private(C) struct bpf_spin_lock slock;
private(C) struct bpf_list_head shead __contains(shared, l);
private(C) struct bpf_rb_root stree __contains(shared, r);

SEC("tc") int t_obj_new(struct __sk_buff *ctx)
{
	struct plain *p = new(struct plain);

	if (!p)
		return 1;
	CHECK("new object is zero", p->a | p->b | p->c);
	p->a = 5;
	p->c = 7;
	CHECK("object keeps values", p->a + p->c);
	drop(p);
	return 0;
}

SEC("tc") int t_list(struct __sk_buff *ctx)
{
	struct bpf_list_node *n;
	u64 seq = 0;

	for (int i = 1; i < 6; i++) {
		struct item *it = new(struct item);

		if (!it)
			return 1;
		it->v = i;
		bpf_spin_lock(&lock);
		if (i & 1)
			out[i] = push_front(&head, &it->l);
		else
			out[i] = push_back(&head, &it->l);
		bpf_spin_unlock(&lock);
	}
	for (int i = 0; i < 6; i++) {
		bpf_spin_lock(&lock);
		n = i & 1 ? bpf_list_pop_back(&head) : bpf_list_pop_front(&head);
		bpf_spin_unlock(&lock);
		if (!n) {
			CHECK("list empty after", i);
			break;
		}
		seq = seq * 10 + container_of(n, struct item, l)->v;
		drop(container_of(n, struct item, l));
	}
	CHECK("list order", seq);
	return 0;
}

SEC("tc") int t_list_peek(struct __sk_buff *ctx)
{
	struct bpf_list_node *n;
	struct item *it;
	u64 v = 0;

	bpf_spin_lock(&lock);
	n = bpf_list_front(&head);
	bpf_spin_unlock(&lock);
	CHECK("front of empty list", n == NULL);
	bpf_spin_lock(&lock);
	n = bpf_list_pop_back(&head);
	bpf_spin_unlock(&lock);
	CHECK("pop of empty list", n == NULL);
	if (n)
		drop(container_of(n, struct item, l));
	for (int i = 1; i < 4; i++) {
		it = new(struct item);
		if (!it)
			return 1;
		it->v = i * 11;
		bpf_spin_lock(&lock);
		push_back(&head, &it->l);
		bpf_spin_unlock(&lock);
	}
	bpf_spin_lock(&lock);
	n = bpf_list_front(&head);
	if (n)
		v = container_of(n, struct item, l)->v;
	bpf_spin_unlock(&lock);
	CHECK("front", v);
	bpf_spin_lock(&lock);
	n = bpf_list_back(&head);
	if (n)
		v = container_of(n, struct item, l)->v;
	bpf_spin_unlock(&lock);
	CHECK("back", v);
	return 0;
}

static bool less(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	return container_of(a, struct leaf, n)->key < container_of(b, struct leaf, n)->key;
}

static bool shared_less(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	return container_of(a, struct shared, r)->v < container_of(b, struct shared, r)->v;
}

static __noinline int add(u64 key, u64 v)
{
	struct leaf *l = new(struct leaf);
	int ret;

	if (!l)
		return -1;
	l->key = key;
	l->v = v;
	bpf_spin_lock(&tlock);
	ret = rb_add(&tree, &l->n, less);
	bpf_spin_unlock(&tlock);
	return ret;
}

SEC("tc") int t_rbtree(struct __sk_buff *ctx)
{
	struct bpf_rb_node *n;
	u64 seq = 0;

	CHECK("add 5", add(5, 50));
	CHECK("add 3", add(3, 30));
	CHECK("add 8", add(8, 80));
	CHECK("add 3 again", add(3, 31));
	CHECK("add 1", add(1, 10));
	for (int i = 0; i < 6; i++) {
		struct leaf *l;

		bpf_spin_lock(&tlock);
		n = bpf_rbtree_first(&tree);
		if (!n) {
			bpf_spin_unlock(&tlock);
			CHECK("tree empty after", i);
			break;
		}
		n = bpf_rbtree_remove(&tree, n);
		bpf_spin_unlock(&tlock);
		if (!n)
			return 2;
		l = container_of(n, struct leaf, n);
		seq = seq * 100 + l->v;
		drop(l);
	}
	CHECK("tree order", seq);
	return 0;
}

SEC("tc") int t_rbtree_walk(struct __sk_buff *ctx)
{
	struct bpf_rb_node *n;
	u64 root = 0, left = 0, right = 0, ll = 0, miss = 9;

	for (int i = 0; i < 7; i++)
		add((i * 5) % 7, i);
	bpf_spin_lock(&tlock);
	n = bpf_rbtree_root(&tree);
	if (n) {
		root = container_of(n, struct leaf, n)->key;
		n = bpf_rbtree_left(&tree, n);
		if (n) {
			left = container_of(n, struct leaf, n)->key;
			n = bpf_rbtree_left(&tree, n);
			if (n) {
				ll = container_of(n, struct leaf, n)->key;
				n = bpf_rbtree_left(&tree, n);
				miss = n == NULL;
			}
		}
	}
	n = bpf_rbtree_root(&tree);
	if (n) {
		n = bpf_rbtree_right(&tree, n);
		if (n)
			right = container_of(n, struct leaf, n)->key;
	}
	bpf_spin_unlock(&tlock);
	CHECK("tree root", root);
	CHECK("tree left", left);
	CHECK("tree left left", ll);
	CHECK("tree left end", miss);
	CHECK("tree right", right);
	return 0;
}

SEC("tc") int t_rbtree_empty(struct __sk_buff *ctx)
{
	struct bpf_rb_node *n;

	bpf_spin_lock(&tlock);
	n = bpf_rbtree_first(&tree);
	bpf_spin_unlock(&tlock);
	CHECK("first of empty tree", n == NULL);
	bpf_spin_lock(&tlock);
	n = bpf_rbtree_root(&tree);
	bpf_spin_unlock(&tlock);
	CHECK("root of empty tree", n == NULL);
	return 0;
}

SEC("tc") int t_refcount(struct __sk_buff *ctx)
{
	struct shared *s = new(struct shared), *t;
	struct bpf_list_node *ln;
	struct bpf_rb_node *rn;

	if (!s)
		return 1;
	s->v = 42;
	t = ref(s);
	bpf_spin_lock(&slock);
	CHECK("shared into list", push_back(&shead, &s->l));
	bpf_spin_unlock(&slock);
	bpf_spin_lock(&slock);
	CHECK("shared into tree", rb_add(&stree, &t->r, shared_less));
	bpf_spin_unlock(&slock);
	bpf_spin_lock(&slock);
	ln = bpf_list_pop_front(&shead);
	bpf_spin_unlock(&slock);
	if (ln) {
		s = container_of(ln, struct shared, l);
		s->v += 8;
		drop(s);
	}
	bpf_spin_lock(&slock);
	rn = bpf_rbtree_first(&stree);
	if (!rn) {
		bpf_spin_unlock(&slock);
		return 2;
	}
	rn = bpf_rbtree_remove(&stree, rn);
	bpf_spin_unlock(&slock);
	if (!rn)
		return 3;
	t = container_of(rn, struct shared, r);
	CHECK("shared value by tree", t->v);
	drop(t);
	return 0;
}

/* A node that is in a list cannot go into one again. */
SEC("tc") int t_double_insert(struct __sk_buff *ctx)
{
	struct shared *s = new(struct shared), *t;

	if (!s)
		return 1;
	s->v = 1;
	t = ref(s);
	bpf_spin_lock(&slock);
	CHECK("first insert", push_back(&shead, &s->l));
	bpf_spin_unlock(&slock);
	bpf_spin_lock(&slock);
	CHECK("second insert", push_front(&shead, &t->l));
	bpf_spin_unlock(&slock);
	return 0;
}

SEC("tc") int t_remove_absent(struct __sk_buff *ctx)
{
	struct shared *s = new(struct shared), *t;
	struct bpf_rb_node *rn;

	if (!s)
		return 1;
	s->v = 1;
	t = ref(s);
	bpf_spin_lock(&slock);
	rb_add(&stree, &s->r, shared_less);
	rn = bpf_rbtree_remove(&stree, &t->r);
	bpf_spin_unlock(&slock);
	CHECK("removed by the other reference", rn != NULL);
	if (rn)
		drop(container_of(rn, struct shared, r));
	bpf_spin_lock(&slock);
	rn = bpf_rbtree_remove(&stree, &t->r);
	bpf_spin_unlock(&slock);
	CHECK("removed again", rn != NULL);
	if (rn)
		drop(container_of(rn, struct shared, r));
	drop(t);
	return 0;
}

/* kptrs to objects of the program. */
struct slot {
	struct plain __kptr *p;
	u64 v;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, struct slot);
	__uint(max_entries, 2);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, u32);
	__type(value, struct slot);
	__uint(max_entries, 2);
} hslots SEC(".maps");

SEC("tc") int t_kptr(struct __sk_buff *ctx)
{
	struct plain *p, *old;
	struct slot *s;
	u32 k = 0;

	s = bpf_map_lookup_elem(&slots, &k);
	p = new(struct plain);
	if (!p)
		return 1;
	if (!s) {
		drop(p);
		return 1;
	}
	p->a = 9;
	old = bpf_kptr_xchg(&s->p, p);
	CHECK("first xchg gives NULL", old == NULL);
	if (old)
		drop(old);
	s->v = 4;
	old = bpf_kptr_xchg(&s->p, NULL);
	if (old) {
		CHECK("xchg gives it back", old->a);
		drop(old);
	}
	old = bpf_kptr_xchg(&s->p, NULL);
	CHECK("empty again", old == NULL);
	if (old)
		drop(old);
	return 0;
}

SEC("tc") int kptr_put(struct __sk_buff *ctx)
{
	struct slot init = {.v = 1}, *s;
	struct plain *p, *old;
	u32 k = 1;

	bpf_map_update_elem(&hslots, &k, &init, 0);
	s = bpf_map_lookup_elem(&hslots, &k);
	p = new(struct plain);
	if (!p)
		return 1;
	p->b = ctx->len;
	if (s)
		p = bpf_kptr_xchg(&s->p, p);
	if (p)
		drop(p);
	return 0;
}

SEC("tc") int kptr_get(struct __sk_buff *ctx)
{
	struct slot init = {.v = 2}, *s;
	struct plain *p;
	u32 k = 1;

	s = bpf_map_lookup_elem(&hslots, &k);
	if (!s)
		return 1;
	p = bpf_kptr_xchg(&s->p, NULL);
	CHECK("kptr of the run before", p ? p->b : -1);
	if (p) {
		p = bpf_kptr_xchg(&s->p, p);
		if (p)
			drop(p);
	}
	CHECK("update replaces the element", bpf_map_update_elem(&hslots, &k, &init, 0));
	s = bpf_map_lookup_elem(&hslots, &k);
	if (!s)
		return 1;
	p = bpf_kptr_xchg(&s->p, NULL);
	CHECK("kptr after update", p ? p->b : -1);
	if (p)
		drop(p);
	return 0;
}
CASE({"name": "kptr_two_runs", "runs": [{"prog": "kptr_put"}, {"prog": "kptr_get"}]});

SEC("tc") int t_kptr_rcu(struct __sk_buff *ctx)
{
	struct plain *p, *old;
	struct slot *s;
	u32 k = 1;

	s = bpf_map_lookup_elem(&slots, &k);
	p = new(struct plain);
	if (!p)
		return 1;
	p->a = 77;
	if (!s) {
		drop(p);
		return 1;
	}
	old = bpf_kptr_xchg(&s->p, p);
	if (old)
		drop(old);
	bpf_rcu_read_lock();
	p = s->p;
	CHECK("kptr read in place", p ? p->a : -1);
	bpf_rcu_read_unlock();
	return 0;
}

/* per-CPU objects */
struct counter {
	u64 n, m;
};

struct pslot {
	struct counter __percpu_kptr *c;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, struct pslot);
	__uint(max_entries, 1);
} pslots SEC(".maps");

SEC("tc") int t_percpu_obj(struct __sk_buff *ctx)
{
	struct counter __percpu_kptr *c;
	struct counter *mine;
	struct pslot *s;
	u32 k = 0;

	s = bpf_map_lookup_elem(&pslots, &k);
	if (!s)
		return 1;
	c = bpf_percpu_obj_new_impl(__builtin_btf_type_id(*(struct counter *)0, 0), NULL);
	if (!c)
		return 2;
	c = bpf_kptr_xchg(&s->c, c);
	if (c)
		bpf_percpu_obj_drop_impl(c, NULL);
	bpf_rcu_read_lock();
	c = s->c;
	if (!c) {
		bpf_rcu_read_unlock();
		return 3;
	}
	mine = bpf_this_cpu_ptr(c);
	CHECK("percpu obj is zero", mine->n + mine->m);
	mine->n += 3;
	mine = bpf_per_cpu_ptr(c, 0);
	CHECK("percpu obj cpu 0", mine ? mine->n : -1);
	mine = bpf_per_cpu_ptr(c, 1);
	CHECK("percpu obj cpu 1", mine ? mine->n : -1);
	mine = bpf_per_cpu_ptr(c, 500);
	CHECK("percpu obj cpu 500", mine == NULL);
	bpf_rcu_read_unlock();
	c = bpf_kptr_xchg(&s->c, NULL);
	CHECK("percpu obj back", c != NULL);
	if (c)
		bpf_percpu_obj_drop_impl(c, NULL);
	return 0;
}

/* lists in map values */
struct holder {
	struct bpf_spin_lock lock;
	u32 n;
	struct bpf_list_head items __contains(item, l);
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, u32);
	__type(value, struct holder);
	__uint(max_entries, 2);
} holders SEC(".maps");

SEC("tc") int t_list_in_map(struct __sk_buff *ctx)
{
	struct holder init = {}, *h;
	struct bpf_list_node *n;
	struct item *it;
	u32 k = 3;

	CHECK("holder", bpf_map_update_elem(&holders, &k, &init, 0));
	h = bpf_map_lookup_elem(&holders, &k);
	if (!h)
		return 1;
	it = new(struct item);
	if (!it)
		return 2;
	it->v = 123;
	bpf_spin_lock(&h->lock);
	h->n++;
	push_back(&h->items, &it->l);
	bpf_spin_unlock(&h->lock);
	bpf_spin_lock(&h->lock);
	n = bpf_list_pop_back(&h->items);
	bpf_spin_unlock(&h->lock);
	if (!n)
		return 3;
	it = container_of(n, struct item, l);
	CHECK("item of a map's list", it->v);
	bpf_spin_lock(&h->lock);
	push_front(&h->items, &it->l);
	bpf_spin_unlock(&h->lock);
	CHECK("delete frees the list", bpf_map_delete_elem(&holders, &k));
	return 0;
}
