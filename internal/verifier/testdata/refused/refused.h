/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the sources here begin with: the kernel's types and functions that the headers of old distributions lack. */
#pragma once
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <stdbool.h>
#include <stddef.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#define CORE __attribute__((preserve_access_index))
#define __contains(type, node) __attribute__((btf_decl_tag("contains:" #type ":" #node)))
#define private(name) SEC(".data." #name) __hidden __attribute__((aligned(8)))
#define __kptr __attribute__((btf_type_tag("kptr")))
#define __kptr_untrusted __attribute__((btf_type_tag("kptr_untrusted")))
#define __percpu_kptr __attribute__((btf_type_tag("percpu_kptr")))
#define __uptr __attribute__((btf_type_tag("uptr")))
#define __arg(tag) __attribute__((btf_decl_tag("arg:" tag)))

/*
 * PAIR(section, refusal, context) { ... } is the body of two programs, which differ in what depends on bad: one that is
 * refused, called like the refusal, and its neighbour, which is accepted.
 */
#define PAIR(sec, name, ctxtype)                                                   \
	static __always_inline int name##_body(ctxtype *ctx, const int bad);       \
	SEC("?" sec) int name(ctxtype *ctx) { return name##_body(ctx, 1); }        \
	SEC("?" sec) int name##_ok(ctxtype *ctx) { return name##_body(ctx, 0); }   \
	static __always_inline int name##_body(ctxtype *ctx, const int bad)

#define MAP(name, kind, keytype, valuetype, entries, ...)        \
	struct {                                                  \
		__uint(type, kind);                               \
		__type(key, keytype);                             \
		__type(value, valuetype);                         \
		__uint(max_entries, entries);                     \
		__VA_ARGS__                                       \
	} name SEC(".maps")

/* opaque(x) is x, of which the compiler knows nothing. */
#define opaque(x)                               \
	({                                      \
		typeof(x) x_ = (x);             \
		asm volatile("" : "+r"(x_));    \
		x_;                             \
	})

/* first(map, type) returns the element 0 of a map from the program if there is none. */
#define first(map)                                          \
	({                                                  \
		u32 key_ = 0;                               \
		void *v_ = bpf_map_lookup_elem(&map, &key_); \
		if (!v_)                                    \
			return 0;                           \
		v_;                                         \
	})

struct task_struct {
	int pid;
	int tgid;
	struct task_struct *parent;
	struct task_struct *last_wakee;
	void *stack;
} CORE;
struct cgroup {
	int level;
} CORE;
struct bpf_res_spin_lock {
	u32 val;
};
struct bpf_wq {
	u64 opaque[2];
} __attribute__((aligned(8)));
struct bpf_task_work {
	u64 opaque;
} __attribute__((aligned(8)));
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
struct bpf_iter_css_task {
	u64 opaque[1];
} __attribute__((aligned(8)));

#ifndef BPF_MAP_TYPE_ARENA
#define BPF_MAP_TYPE_ARENA 33
#endif

extern void *bpf_obj_new_impl(u64 type, void *meta) __ksym;
extern void bpf_obj_drop_impl(void *p, void *meta) __ksym;
extern void *bpf_refcount_acquire_impl(void *p, void *meta) __ksym;
extern void *bpf_percpu_obj_new_impl(u64 type, void *meta) __ksym;
extern void bpf_percpu_obj_drop_impl(void *p, void *meta) __ksym;
extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;
extern void bpf_preempt_disable(void) __ksym;
extern void bpf_preempt_enable(void) __ksym;
extern void bpf_throw(u64 cookie) __ksym;
extern struct task_struct *bpf_task_acquire(struct task_struct *p) __ksym;
extern void bpf_task_release(struct task_struct *p) __ksym;
extern struct task_struct *bpf_task_from_pid(s32 pid) __ksym;

#define new(type) ((type *)bpf_obj_new_impl(__builtin_btf_type_id(*(type *)0, 0), NULL))
#define drop(p) bpf_obj_drop_impl(p, NULL)

#ifndef LICENSE_TEXT
#define LICENSE_TEXT "GPL"
#endif
char LICENSE[] SEC("license") = LICENSE_TEXT;
