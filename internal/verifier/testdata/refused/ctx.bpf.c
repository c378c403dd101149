// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// ctx: contexts, packets, maps and memory that programs may not access, or not so.
#include "refused.h"
#include <bpf/bpf_tracing.h>

struct plain {
	u64 a, b;
};

MAP(plains, BPF_MAP_TYPE_ARRAY, u32, struct plain, 4);
MAP(hash, BPF_MAP_TYPE_HASH, u32, u64, 4);
MAP(writeonly, BPF_MAP_TYPE_ARRAY, u32, u64, 4, __uint(map_flags, BPF_F_WRONLY_PROG););
MAP(readonly, BPF_MAP_TYPE_ARRAY, u32, u64, 4, __uint(map_flags, BPF_F_RDONLY_PROG););
MAP(lazy, BPF_MAP_TYPE_HASH, u32, u64, 4, __uint(map_flags, BPF_F_NO_PREALLOC););
MAP(sock, BPF_MAP_TYPE_SOCKMAP, u32, u64, 4);
MAP(stacks, BPF_MAP_TYPE_STACK_TRACE, u32, u64, 4);
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
	__uint(max_entries, 2);
} jumps SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_STORAGE);
	__uint(key_size, 16);
	__uint(value_size, 8);
} storage SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_STORAGE);
	__uint(key_size, 16);
	__uint(value_size, 8);
} storage2 SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARENA);
	__uint(map_flags, 1024);
	__uint(max_entries, 2);
} arena SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARENA);
	__uint(map_flags, 1024);
	__uint(max_entries, 2);
} arena2 SEC(".maps");

extern void *bpf_rdonly_cast(const void *obj, u32 type) __ksym;

/* Packets. */

PAIR("cgroup_skb/egress", CannotWriteIntoPacket, struct __sk_buff)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (data + 8 > end)
		return 0;
	if (bad)
		*(u8 *)data = 1;
	return *(u8 *)data & 1;
}

PAIR("tc", InvalidAccessPacketOffSizeR, struct __sk_buff)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (data + 8 > end)
		return 0;
	return *(volatile u8 *)(data + (bad ? 8 : 7)) & 1;
}

PAIR("flow_dissector", InvalidAccessFlowKeysOffSize, struct __sk_buff)
{
	struct bpf_flow_keys *keys = (void *)(long)ctx->flow_keys;

	keys->nhoff = 1;
	return *(volatile u8 *)((void *)keys + (bad ? 200 : 0)) & 1;
}

PAIR("tc", CannotWriteInto, struct __sk_buff)
{
	struct bpf_sock *sk = ctx->sk;

	if (!sk)
		return 0;
	if (bad)
		sk->mark = 1;
	return sk->family & 1;
}

PAIR("tc", ReadMapForbiddenValueSizeOff, struct __sk_buff)
{
	u64 *v = first(writeonly);

	if (bad)
		return *(volatile u64 *)v & 1;
	*v = 1;
	return 0;
}

PAIR("tc", WriteIntoMapForbidden, struct __sk_buff)
{
	u32 key = 0;
	u64 v = 0;

	return bpf_map_update_elem(bad ? (void *)&readonly : &plains, &key, &v, 0) != 0;
}

PAIR("syscall", SleepableProgramsOnlyUseArrayHash, void)
{
	u32 key = 0;

	if (bad)
		asm volatile("" ::"r"(&stacks));
	return bpf_map_lookup_elem(&hash, &key) != NULL;
}

PAIR("cgroup_skb/egress", OnlyOneCgroupStorageEachType, struct __sk_buff)
{
	u64 *v = bpf_get_local_storage(&storage, 0), *w = bpf_get_local_storage(bad ? (void *)&storage2 : &storage, 0);

	return (*v + *w) & 1;
}

PAIR("cgroup_skb/egress", GetLocalStorageNotSupportNon, struct __sk_buff)
{
	u64 *v = bpf_get_local_storage(&storage, bad ? 1 : 0);

	return *v & 1;
}

PAIR("syscall", OnlyOneArenaPerProgram, void)
{
	asm volatile("" ::"r"(&arena));
	if (bad)
		asm volatile("" ::"r"(&arena2));
	return 0;
}

PAIR("tc", CannotPassMapTypeIntoFunc, struct __sk_buff)
{
	u32 key = 0;

	return bpf_map_lookup_elem(bad ? (void *)&jumps : &hash, &key) != NULL;
}

PAIR("kprobe/do_exit", CannotUpdateSockmapInContext, void)
{
	u32 key = 0;

	return bpf_map_delete_elem(bad ? (void *)&sock : &hash, &key) != 0;
}

PAIR("tc", OnlyReadSupported2, struct __sk_buff)
{
	u32 *m = (u32 *)&hash;

	if (bad)
		*(volatile u32 *)(m + 8) = 1;
	return 0;
}

PAIR("tc", InvalidNegativeAccessOff, struct __sk_buff)
{
	void *m = &hash;
	u32 v = 0;

	if (bad)
		asm volatile("%[v] = *(u32 *)(%[m] - 8)" : [v] "=r"(v) : [m] "r"(m));
	else
		asm volatile("%[v] = *(u64 *)(%[m] + 0)" : [v] "=r"(v) : [m] "r"(m));
	return 0;
}

PAIR("tc", SameInsnCannotUsedDifferentPointers, struct __sk_buff)
{
	void *p = ctx;
	u64 own = 0;

	if (opaque(ctx->len) > 10 && bad)
		p = &own;
	asm volatile("" : "+r"(p));
	return *(volatile u32 *)p & 1;
}

/* Tracing arguments. */

PAIR("tp_btf/sched_switch", FuncOffsetNotMultiple8, u64)
{
	u64 v = 0;

	if (bad)
		asm volatile("%[v] = *(u32 *)(%[ctx] + 4)" : [v] "=r"(v) : [ctx] "r"(ctx));
	else
		asm volatile("%[v] = *(u64 *)(%[ctx] + 8)" : [v] "=r"(v) : [ctx] "r"(ctx));
	return 0;
}

PAIR("tp_btf/sched_switch", FuncNotThArgument, u64)
{
	asm volatile("" ::"r"(ctx[bad ? 9 : 0]));
	return 0;
}

PAIR("tp_btf/sched_switch", FuncSizeMust8, u64)
{
	u64 v = 0;

	if (bad)
		asm volatile("%[v] = *(u32 *)(%[ctx] + 8)" : [v] "=r"(v) : [ctx] "r"(ctx));
	else
		asm volatile("%[v] = *(u64 *)(%[ctx] + 8)" : [v] "=r"(v) : [ctx] "r"(ctx));
	return 0;
}

PAIR("tp_btf/sched_switch", AccessBeyond, u64)
{
	struct task_struct *t = (void *)ctx[1];

	return bad ? *(volatile int *)((void *)t + 100000) * 0 : 0;
}

/* Percpu and user memory. */

struct perf_cpu {
	int cpu;
};
struct rq {
	int cpu;
} CORE;
extern const struct rq runqueues __ksym;
extern const int bpf_prog_active __ksym;

PAIR("tc", PtrAccessPercpuMemoryOff, struct __sk_buff)
{
	const struct rq *r = &runqueues;

	if (!bad)
		r = bpf_this_cpu_ptr(&runqueues);
	return r->cpu & 1;
}

PAIR("tc", CannotWriteIntoRdonly, struct __sk_buff)
{
	int *p = (int *)bpf_this_cpu_ptr(&bpf_prog_active);

	if (bad)
		*p = 1;
	return *p & 1;
}

PAIR("tc", DoesNotPointReadonlyMap, struct __sk_buff)
{
	char *p = first(plains);
	static const char fmt[] = "x";
	char out[8];

	return bpf_snprintf(out, sizeof(out), bad ? p : fmt, NULL, 0) & 1;
}

const char big_ro[64] = "some text that is constant";

PAIR("tc", NotConstantAddress, struct __sk_buff)
{
	u64 at = 0;
	char out[8];

	if (bad)
		at = opaque(ctx->len) & 3;
	return bpf_strncmp(out, 1, big_ro + at) & 1;
}

const char unterminated[4] __attribute__((section(".rodata.unterminated"))) = {'a', 'b', 'c', 'd'};
const char terminated[4] __attribute__((section(".rodata.terminated"))) = "abc";

PAIR("tc", StringNotZeroTerminated, struct __sk_buff)
{
	char own[4] = "abc";

	return bpf_strncmp(own, 4, bad ? unterminated : terminated) & 1;
}

PAIR("tp_btf/sched_switch", FuncSupportedOnlyFentryFexitFmod, u64)
{
	if (bad)
		bpf_get_func_ip(ctx);
	return 0;
}

PAIR("perf_event", LazyHash, void)
{
	u32 key = 0;

	return (bad ? bpf_map_lookup_elem(&lazy, &key) : bpf_map_lookup_elem(&hash, &key)) != NULL;
}

PAIR("syscall", LazyHashAsleep, void)
{
	u32 key = 0;

	return (bad ? bpf_map_lookup_elem(&lazy, &key) : bpf_map_lookup_elem(&hash, &key)) != NULL;
}
