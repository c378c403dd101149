/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What generated sources begin with: maps, variables, types and functions of the kernel. */
#pragma once
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <stdbool.h>
#include <stddef.h>
#include <bpf/bpf_helpers.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#define CORE __attribute__((preserve_access_index))
#define __contains(type, node) __attribute__((btf_decl_tag("contains:" #type ":" #node)))
#define private(name) SEC(".data." #name) __hidden __attribute__((aligned(8)))
#define __kptr __attribute__((btf_type_tag("kptr")))
#define __arg(tag) __attribute__((btf_decl_tag("arg:" tag)))
#define __arena __attribute__((address_space(1)))
#define NOINLINE __attribute__((noinline))

/* opaque(x) is x, of which the compiler knows nothing. */
#define opaque(x) ({ typeof(x) x_ = (x); asm volatile("" : "+r"(x_)); x_; })
#define keep(x) asm volatile("" ::"r"(x) : "memory")

/* may_break leaves a loop when the program has run for long (may_goto). */
#define may_break                                                                                                     \
	({                                                                                                            \
		__label__ out_, on_;                                                                                  \
		asm volatile goto(".byte 0xe5; .byte 0; .long ((%l[out_] - . - 8) / 8) & 0xffff; .short 0" :: :: out_); \
		goto on_;                                                                                             \
	out_:                                                                                                         \
		break;                                                                                                \
	on_:;                                                                                                         \
	})

struct task_struct {
	int pid;
	int tgid;
	u64 start_time;
	unsigned int flags;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct mm_struct *mm;
	struct css_set *cgroups;
	char comm[16];
} CORE;
struct mm_struct {
	unsigned long start_code;
	struct file *exe_file;
} CORE;
struct file {
	unsigned int f_flags;
	struct inode *f_inode;
} CORE;
struct inode {
	unsigned long i_ino;
	unsigned short i_mode;
} CORE;
struct sk_buff {
	unsigned int len;
	unsigned int data_len;
	struct sock *sk;
	unsigned char *head;
	u16 transport_header;
} CORE;
struct cgroup {
	int level;
} CORE;
struct css_set {
	struct cgroup *dfl_cgrp;
} CORE;
struct bpf_cpumask {
	u64 opaque[1];
} CORE;
struct cpumask {
	u64 bits[1];
} CORE;
struct seq_file {
	u64 count;
} CORE;
struct bpf_iter_meta {
	struct seq_file *seq;
	u64 session_id;
	u64 seq_num;
} CORE;
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} CORE;
struct bpf_map;
struct bpf_iter__bpf_map_elem {
	struct bpf_iter_meta *meta;
	struct bpf_map *map;
	void *key;
	void *value;
} CORE;
struct bpf_list_head {
	u64 opaque[2];
} __attribute__((aligned(8)));
struct bpf_list_node {
	u64 opaque[3];
} __attribute__((aligned(8)));
struct bpf_rb_root {
	u64 opaque[2];
} __attribute__((aligned(8)));
struct bpf_rb_node {
	u64 opaque[4];
} __attribute__((aligned(8)));
struct bpf_refcount {
	u32 opaque[1];
} __attribute__((aligned(4)));
struct bpf_iter_num {
	u64 opaque[1];
} __attribute__((aligned(8)));
struct bpf_iter_task {
	u64 opaque[3];
} __attribute__((aligned(8)));
struct bpf_iter_bits {
	u64 opaque[2];
} __attribute__((aligned(8)));

extern void *bpf_obj_new_impl(u64 type, void *meta) __ksym;
extern void bpf_obj_drop_impl(void *p, void *meta) __ksym;
extern void *bpf_refcount_acquire_impl(void *p, void *meta) __ksym;
extern int bpf_list_push_front_impl(struct bpf_list_head *head, struct bpf_list_node *node, void *meta, u64 off) __ksym;
extern struct bpf_list_node *bpf_list_pop_front(struct bpf_list_head *head) __ksym;
extern int bpf_rbtree_add_impl(struct bpf_rb_root *root, struct bpf_rb_node *node, bool(less)(struct bpf_rb_node *, const struct bpf_rb_node *),
			       void *meta, u64 off) __ksym;
extern struct bpf_rb_node *bpf_rbtree_first(struct bpf_rb_root *root) __ksym;
extern struct bpf_rb_node *bpf_rbtree_remove(struct bpf_rb_root *root, struct bpf_rb_node *node) __ksym;
extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;
extern void bpf_preempt_disable(void) __ksym;
extern void bpf_preempt_enable(void) __ksym;
extern void bpf_throw(u64 cookie) __ksym;
extern struct task_struct *bpf_task_acquire(struct task_struct *p) __ksym;
extern void bpf_task_release(struct task_struct *p) __ksym;
extern struct task_struct *bpf_task_from_pid(s32 pid) __ksym;
extern struct bpf_cpumask *bpf_cpumask_create(void) __ksym;
extern void bpf_cpumask_release(struct bpf_cpumask *m) __ksym;
extern void bpf_cpumask_set_cpu(u32 cpu, struct bpf_cpumask *m) __ksym;
extern u32 bpf_cpumask_first(const struct cpumask *m) __ksym;
extern int bpf_iter_num_new(struct bpf_iter_num *it, int from, int to) __ksym;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym;
extern int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task, unsigned int flags) __ksym;
extern struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it) __ksym;
extern void bpf_iter_task_destroy(struct bpf_iter_task *it) __ksym;
extern int bpf_iter_bits_new(struct bpf_iter_bits *it, const u64 *bits, u32 words) __ksym;
extern int *bpf_iter_bits_next(struct bpf_iter_bits *it) __ksym;
extern void bpf_iter_bits_destroy(struct bpf_iter_bits *it) __ksym;
extern int bpf_dynptr_from_skb(struct __sk_buff *skb, u64 flags, struct bpf_dynptr *d) __ksym;
extern int bpf_dynptr_from_xdp(struct xdp_md *xdp, u64 flags, struct bpf_dynptr *d) __ksym;
extern void *bpf_dynptr_slice(const struct bpf_dynptr *d, u32 off, void *buf, u32 size) __ksym;
extern void *bpf_dynptr_slice_rdwr(const struct bpf_dynptr *d, u32 off, void *buf, u32 size) __ksym;
extern int bpf_dynptr_adjust(const struct bpf_dynptr *d, u32 from, u32 to) __ksym;
extern u32 bpf_dynptr_size(const struct bpf_dynptr *d) __ksym;
extern int bpf_dynptr_clone(const struct bpf_dynptr *d, struct bpf_dynptr *to) __ksym;
extern bool bpf_dynptr_is_null(const struct bpf_dynptr *d) __ksym;
extern void __arena *bpf_arena_alloc_pages(void *map, void __arena *addr, u32 pages, int node, u64 flags) __ksym;
extern void bpf_arena_free_pages(void *map, void __arena *addr, u32 pages) __ksym;
extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym;
extern void *bpf_rdonly_cast(const void *p, u32 type) __ksym;

#define new(type) ((type *)bpf_obj_new_impl(__builtin_btf_type_id(*(type *)0, 0), NULL))
#define drop(p) bpf_obj_drop_impl(p, NULL)

struct elem {
	u32 n;
	u32 len;
	u64 v[4];
	char buf[32];
};
struct locked {
	struct bpf_spin_lock lock;
	u32 n;
	u64 total;
};
struct timed {
	u64 n;
	struct bpf_timer timer;
};
struct held {
	u64 n;
	struct task_struct __kptr *task;
	struct bpf_cpumask __kptr *mask;
};
struct node {
	u64 n;
	struct bpf_list_node list;
	struct bpf_rb_node tree;
	struct bpf_refcount refs;
};
struct owned {
	u64 n;
	u32 m[4];
};
struct acell {
	u64 n;
	struct acell __arena *next;
	u32 v[6];
};

#define MAP(name, kind, keytype, valuetype, entries, ...)    \
	struct {                                              \
		__uint(type, kind);                           \
		__type(key, keytype);                         \
		__type(value, valuetype);                     \
		__uint(max_entries, entries);                 \
		__VA_ARGS__                                   \
	} name SEC(".maps")

MAP(arr, BPF_MAP_TYPE_ARRAY, u32, struct elem, 8);
MAP(hash, BPF_MAP_TYPE_HASH, u64, struct elem, 64);
MAP(percpu, BPF_MAP_TYPE_PERCPU_ARRAY, u32, struct elem, 4);
MAP(lru, BPF_MAP_TYPE_LRU_HASH, u32, u64, 32);
MAP(locks, BPF_MAP_TYPE_ARRAY, u32, struct locked, 2);
MAP(timers, BPF_MAP_TYPE_ARRAY, u32, struct timed, 2);
MAP(kept, BPF_MAP_TYPE_ARRAY, u32, struct held, 2);
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 4);
	__uint(key_size, 4);
	__uint(value_size, 4);
} progs SEC(".maps");
struct {
	__uint(type, 33); /* arena */
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 16);
} arena SEC(".maps");

const volatile u32 ro_small = 5;
const volatile u64 ro_mask = 0x1f;
u64 sum;
u32 idx;
s32 signd;
char text[64];
u32 table[16];
private(A) struct bpf_spin_lock glock;
private(A) struct bpf_list_head ghead __contains(node, list);
private(B) struct bpf_spin_lock tlock;
private(B) struct bpf_rb_root groot __contains(node, tree);

char LICENSE[] SEC("license") = "GPL";
