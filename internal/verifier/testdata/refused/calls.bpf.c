// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// calls: functions of a program, their types and tags, callbacks, return values, and the stack.
#include "refused.h"

struct plain {
	u64 a, b;
};

MAP(plains, BPF_MAP_TYPE_HASH, u32, struct plain, 4);
MAP(hash, BPF_MAP_TYPE_HASH, u32, u64, 4);
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
	__uint(max_entries, 2);
} jumps SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(key_size, 8);
	__uint(value_size, 4);
	__uint(max_entries, 2);
	__uint(map_flags, 1);
} trie SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARENA);
	__uint(map_flags, 1024);
	__uint(max_entries, 2);
} arena SEC(".maps");

/* Types of global functions. */

__noinline struct plain *returns_pointer(struct plain *p)
{
	return opaque(p);
}

__noinline int takes_unknown(int x, struct incomplete *p)
{
	return opaque(x) + (p != 0);
}

__noinline int nonnull_trusted(struct task_struct *t __arg("trusted") __arg("nonnull"))
{
	return t->pid;
}

__noinline int trusted_task(struct task_struct *t __arg("trusted"))
{
	return t->pid;
}

__noinline int trusted_unknown(struct no_such_struct_in_kernels *t __arg("trusted"))
{
	return (u64)(long)opaque(t) & 1;
}

__noinline int odd_tag(struct plain *p __arg("odd"))
{
	return (u64)(long)opaque(p) & 1;
}

__noinline int nonnull_plain(struct plain *p __arg("nonnull"))
{
	return p->a;
}

__noinline int nullable_plain(struct plain *p __arg("nullable"))
{
	return (u64)(long)opaque(p) & 1;
}

__noinline int tagged_scalar(u64 x __arg("nonnull"))
{
	return opaque(x);
}

__noinline int untrusted_nonnull(struct task_struct *t __arg("untrusted") __arg("nonnull"))
{
	return (u64)(long)opaque(t) & 1;
}

__noinline int untrusted_task(struct task_struct *t __arg("untrusted"))
{
	return t->pid;
}

__noinline int arena_nonnull(void *p __arg("arena") __arg("nonnull"))
{
	return (u64)(long)opaque(p) & 1;
}

__noinline int arena_pointer(void *p __arg("arena"))
{
	return (u64)(long)opaque(p) & 1;
}

__noinline int scalar(u64 x)
{
	return opaque(x);
}

__noinline int context(struct __sk_buff *ctx)
{
	return ctx->len;
}

__noinline int takes_struct_by_value(struct plain p)
{
	return opaque(1);
}

PAIR("tc", GlobalFunctionNotReturnScalarOnly, struct __sk_buff)
{
	struct plain p = {};

	return bad ? returns_pointer(&p) != 0 : nonnull_plain(&p);
}

PAIR("tc", ArgReferenceTypeSizeCannotDetermined, struct __sk_buff)
{
	return bad ? takes_unknown(1, NULL) : scalar(1);
}

PAIR("tc", ArgInvalidCombinationTags, struct __sk_buff)
{
	struct task_struct *t = bpf_get_current_task_btf();

	return bad ? nonnull_trusted(t) : trusted_task(t);
}

PAIR("tc", ArgExpectedKernelType, struct __sk_buff)
{
	struct task_struct *t = bpf_get_current_task_btf();

	return bad ? trusted_unknown((void *)t) : trusted_task(t);
}

PAIR("tc", ArgUnsupportedSetTags, struct __sk_buff)
{
	struct plain p = {};

	return bad ? odd_tag(&p) : nonnull_plain(&p);
}

PAIR("tc", ArgPointerTagButNotPointer, struct __sk_buff)
{
	return bad ? tagged_scalar(1) : scalar(1);
}

PAIR("tc", ArgUntrustedCannotCombinedAnyOther, struct __sk_buff)
{
	struct task_struct *t = bpf_get_current_task_btf();

	return bad ? untrusted_nonnull(t) : untrusted_task(t);
}

PAIR("tc", ArgArenaCannotCombinedAnyOther, struct __sk_buff)
{
	asm volatile("" ::"r"(&arena));
	return bad ? arena_nonnull(NULL) : arena_pointer(NULL);
}

PAIR("tc", ArgTypeInNotSupportedYet, struct __sk_buff)
{
	struct plain p = {};

	return bad ? takes_struct_by_value(p) : scalar(1);
}

/* Arguments of calls. */

PAIR("tc", NotScalar, struct __sk_buff)
{
	return scalar(bad ? (u64)(long)ctx : 1);
}

PAIR("tc", ExpectsPointerCtx, struct __sk_buff)
{
	u64 own[32] = {};

	return context(bad ? (void *)own : ctx);
}

PAIR("tc", ExpectedNonNULL, struct __sk_buff)
{
	u32 key = 0;
	struct plain *p = bpf_map_lookup_elem(&plains, &key);

	if (!bad && !p)
		return 0;
	return nonnull_plain(p);
}

PAIR("tc", NotPointerArenaScalar, struct __sk_buff)
{
	asm volatile("" ::"r"(&arena));
	return arena_pointer(bad ? (void *)ctx : NULL);
}

extern void *bpf_rdonly_cast(const void *obj, u32 type) __ksym;

PAIR("tc", TypeExpected, struct __sk_buff)
{
	struct task_struct *t = bpf_get_current_task_btf();

	return trusted_task(bad ? bpf_rdonly_cast(t, bpf_core_type_id_kernel(struct task_struct)) : t);
}

extern struct cgroup *bpf_cgroup_from_id(u64 id) __ksym;
extern void bpf_cgroup_release(struct cgroup *c) __ksym;

PAIR("tc", TypeButExpected, struct __sk_buff)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct cgroup *c = bpf_cgroup_from_id(1);
	int r = 0;

	if (!c)
		return 0;
	if (bad)
		r = trusted_task((void *)c);
	else
		r = trusted_task(t);
	bpf_cgroup_release(c);
	return r;
}

/* Callbacks. */

static long on_elem(struct bpf_map *map, u32 *key, u64 *value, void *ctx)
{
	return 0;
}

static long load_packet(struct bpf_map *map, u32 *key, u64 *value, struct __sk_buff **ctx)
{
	asm volatile("r6 = *(u64 *)(%[ctx] + 0); r0 = *(u8 *)skb[0];" ::[ctx] "r"(ctx) : "r0", "r1", "r2", "r3", "r4", "r5", "r6");
	return 0;
}

static long writes_key(struct bpf_map *map, u32 *key, u64 *value, void *ctx)
{
	*key = 1;
	return 0;
}

static long reads_beyond_key(struct bpf_map *map, u32 *key, u64 *value, void *ctx)
{
	return *(volatile u8 *)((void *)key + 4) & 1;
}

static long reads_beyond_value(struct bpf_map *map, u32 *key, u64 *value, void *ctx)
{
	return *(volatile u8 *)((void *)value + 8) & 1;
}

static long key_to_helper(struct bpf_map *map, u32 *key, u64 *value, void *ctx)
{
	bpf_get_current_comm(key, 4);
	return 0;
}

static long throws(struct bpf_map *map, u32 *key, u64 *value, void *ctx)
{
	bpf_throw(0);
	return 0;
}

__noinline long global_cb(struct bpf_map *map, u32 *key, u64 *value, void *ctx)
{
	return opaque(0);
}

PAIR("tc", CallbackFunctionNotAllowedMap, struct __sk_buff)
{
	bpf_for_each_map_elem(bad ? (void *)&trie : &hash, on_elem, NULL, 0);
	return 0;
}

PAIR("tc", LoadPacketInCallback, struct __sk_buff)
{
	struct __sk_buff *c = ctx;

	bpf_for_each_map_elem(&hash, bad ? (void *)load_packet : on_elem, &c, 0);
	return 0;
}

PAIR("tc", WriteChangeKeyRNotAllowed, struct __sk_buff)
{
	bpf_for_each_map_elem(&hash, bad ? writes_key : on_elem, NULL, 0);
	return 0;
}

PAIR("tc", InvalidAccessMapKeyKeySize, struct __sk_buff)
{
	bpf_for_each_map_elem(&hash, bad ? reads_beyond_key : on_elem, NULL, 0);
	return 0;
}

PAIR("tc", InvalidAccessMapValueValueSize, struct __sk_buff)
{
	bpf_for_each_map_elem(&hash, bad ? reads_beyond_value : on_elem, NULL, 0);
	return 0;
}

PAIR("tc", CannotWriteInto, struct __sk_buff)
{
	bpf_for_each_map_elem(&hash, bad ? key_to_helper : on_elem, NULL, 0);
	return 0;
}

PAIR("tc", BpfThrowKfuncInsnCannotCalled, struct __sk_buff)
{
	bpf_for_each_map_elem(&hash, bad ? throws : on_elem, NULL, 0);
	return 0;
}

PAIR("tc", CallbackFunctionNotStatic, struct __sk_buff)
{
	bpf_for_each_map_elem(&hash, bad ? global_cb : on_elem, NULL, 0);
	return 0;
}

__noinline u64 returns_ctx(struct __sk_buff *ctx)
{
	return (u64)(long)opaque(ctx);
}

PAIR("tc", SubprogramExitRegisterRNotScalar, struct __sk_buff)
{
	return bad ? returns_ctx(ctx) != 0 : context(ctx);
}

static __noinline int tail_void_(struct __sk_buff *ctx)
{
	bpf_tail_call(ctx, &jumps, 0);
	return 0;
}

static __noinline void tail_void(struct __sk_buff *ctx)
{
	bpf_tail_call(ctx, &jumps, 0);
}

PAIR("tc", TailCallOnlyAllowedInFunctions, struct __sk_buff)
{
	if (bad)
		tail_void(ctx);
	else
		tail_void_(ctx);
	return 0;
}

static __noinline void load_void(struct __sk_buff *ctx)
{
	asm volatile("r6 = %[ctx]; r0 = *(u8 *)skb[0];" ::[ctx] "r"(ctx) : "r0", "r1", "r2", "r3", "r4", "r5", "r6");
}

static __noinline int load_int(struct __sk_buff *ctx)
{
	asm volatile("r6 = %[ctx]; r0 = *(u8 *)skb[0];" ::[ctx] "r"(ctx) : "r0", "r1", "r2", "r3", "r4", "r5", "r6");
	return 0;
}

PAIR("tc", LDABSOnlyAllowedInFunctions, struct __sk_buff)
{
	if (bad)
		load_void(ctx);
	else
		load_int(ctx);
	return 0;
}

/* The stack. */

static __noinline int deep2(int x)
{
	volatile char a[300];

	a[x & 63] = 1;
	return a[1];
}

static __noinline int deep1(int x)
{
	volatile char a[300];

	a[x & 63] = 1;
	return deep2(x) + a[1];
}

static __noinline int shallow(int x)
{
	volatile char a[100];

	a[x & 63] = 1;
	return deep2(x) + a[1];
}

PAIR("tc", CombinedStackSizeCallsTooLarge, struct __sk_buff)
{
	return bad ? deep1(ctx->len) : shallow(ctx->len);
}

static __noinline int tails(struct __sk_buff *ctx)
{
	bpf_tail_call(ctx, &jumps, 0);
	return 0;
}

PAIR("tc", TailCallsNotAllowedWhenCall, struct __sk_buff)
{
	volatile char a[260];

	if (bad)
		a[opaque(ctx->len) & 127] = 1;
	return tails(ctx);
}

static __noinline int f8(int x) { return opaque(x); }
static __noinline int f7(int x) { return f8(opaque(x)) + 1; }
static __noinline int f6(int x) { return f7(opaque(x)) + 1; }
static __noinline int f5(int x) { return f6(opaque(x)) + 1; }
static __noinline int f4(int x) { return f5(opaque(x)) + 1; }
static __noinline int f3(int x) { return f4(opaque(x)) + 1; }
static __noinline int f2(int x) { return f3(opaque(x)) + 1; }
static __noinline int f1(int x) { return f2(opaque(x)) + 1; }

PAIR("tc", CallStackFramesTooDeep, struct __sk_buff)
{
	return bad ? f1(1) : f2(1);
}

static __noinline int even(int x);

static __noinline int odd(int x)
{
	if (x == 0)
		return 0;
	asm volatile("" : "+r"(x));
	return even(x - 1) + 1;
}

static __noinline int even(int x)
{
	if (x == 0)
		return 1;
	asm volatile("" : "+r"(x));
	return odd(x - 1) + 1;
}

PAIR("tc", CallStackFramesTooDeep2, struct __sk_buff)
{
	return bad ? even(2) : f8(2);
}

/* Exceptions. */

__noinline int two_args(u64 cookie, u64 more)
{
	return opaque(0);
}

__noinline int one_arg(u64 cookie)
{
	return opaque(0);
}

static __noinline int static_cb(u64 cookie)
{
	return opaque(0);
}

__noinline int tail_calls(u64 cookie)
{
	return opaque(0);
}

#define __exception(name) __attribute__((btf_decl_tag("exception_callback:" #name)))

SEC("?tc") __exception(two_args) int ExceptionCbOnlySupportsSingleInteger(struct __sk_buff *ctx)
{
	bpf_throw(0);
	return two_args(0, 0);
}

SEC("?tc") __exception(one_arg) int ExceptionCbOnlySupportsSingleInteger_ok(struct __sk_buff *ctx)
{
	bpf_throw(0);
	return 0;
}

SEC("?tc") __exception(one_arg) __exception(tail_calls) int MultipleExceptionCallbackTagsMainSubprog(struct __sk_buff *ctx)
{
	bpf_throw(0);
	return 0;
}

SEC("?tc") __exception(one_arg) int MultipleExceptionCallbackTagsMainSubprog_ok(struct __sk_buff *ctx)
{
	bpf_throw(0);
	return 0;
}

SEC("?tc") __exception(no_such_function) int ExceptionCallbackCouldNotFoundIn(struct __sk_buff *ctx)
{
	bpf_throw(0);
	return 0;
}

SEC("?tc") __exception(one_arg) int ExceptionCallbackCouldNotFoundIn_ok(struct __sk_buff *ctx)
{
	bpf_throw(0);
	return 0;
}

SEC("?tc") __exception(static_cb) int ExceptionCallbackMustGlobalLinkage(struct __sk_buff *ctx)
{
	bpf_throw(0);
	return static_cb(0);
}

SEC("?tc") __exception(one_arg) int ExceptionCallbackMustGlobalLinkage_ok(struct __sk_buff *ctx)
{
	bpf_throw(0);
	return static_cb(0);
}

SEC("?tc") __exception(one_arg) int InsnCannotCallExceptionCbDirectly(struct __sk_buff *ctx)
{
	bpf_throw(0);
	return one_arg(0);
}

SEC("?tc") __exception(one_arg) int InsnCannotCallExceptionCbDirectly_ok(struct __sk_buff *ctx)
{
	bpf_throw(0);
	return tail_calls(0);
}

__noinline int changes_packet(u8 *p, struct __sk_buff *ctx)
{
	if (!p)
		return 0;
	bpf_skb_pull_data(ctx, 0);
	return opaque(1);
}

PAIR("tc", PacketArgs, struct __sk_buff)
{
	u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	u8 own = 0;

	if (data + 8 > end)
		return 0;
	return changes_packet(bad ? data : &own, ctx);
}

static __noinline int tails_dead(u64 x)
{
	asm volatile("r6 = 0; if r6 == 0 goto +1; call 12" ::: "r0", "r1", "r2", "r3", "r4", "r5", "r6");
	return 0;
}

__noinline int tailing_cb(u64 cookie)
{
	return tails_dead(cookie);
}

SEC("?tc") __exception(tailing_cb) int CannotTailCallWithinExceptionCb(struct __sk_buff *ctx)
{
	bpf_throw(0);
	return 0;
}

SEC("?tc") __exception(one_arg) int CannotTailCallWithinExceptionCb_ok(struct __sk_buff *ctx)
{
	bpf_throw(0);
	return 0;
}

SEC("?tc") __exception(InvalidExceptionCallbackInsnOffIn) int InvalidExceptionCallbackInsnOffIn(struct __sk_buff *ctx)
{
	bpf_throw(0);
	return 0;
}

SEC("?tc") __exception(one_arg) int InvalidExceptionCallbackInsnOffIn_ok(struct __sk_buff *ctx)
{
	bpf_throw(0);
	return 0;
}
