// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// locks: spin locks, RCU sections, sections without preemption or interrupts, and what they forbid.
#include "refused.h"

struct locked {
	struct bpf_spin_lock lock;
	u32 v;
};
struct resilient {
	struct bpf_res_spin_lock lock;
	u32 v;
};
struct unlocked {
	u64 v;
};

MAP(locks, BPF_MAP_TYPE_ARRAY, u32, struct locked, 4);
MAP(others, BPF_MAP_TYPE_ARRAY, u32, struct locked, 4);
MAP(res, BPF_MAP_TYPE_ARRAY, u32, struct resilient, 4);
MAP(hash, BPF_MAP_TYPE_HASH, u32, u64, 4);
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
	__uint(max_entries, 2);
} jumps SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, sizeof(struct locked));
	__uint(max_entries, 2);
} untyped SEC(".maps");

extern void bpf_local_irq_save(unsigned long *flags) __ksym;
extern void bpf_local_irq_restore(unsigned long *flags) __ksym;
extern int bpf_res_spin_lock(struct bpf_res_spin_lock *lock) __ksym;
extern void bpf_res_spin_unlock(struct bpf_res_spin_lock *lock) __ksym;
extern int bpf_res_spin_lock_irqsave(struct bpf_res_spin_lock *lock, unsigned long *flags) __ksym;
extern void bpf_res_spin_unlock_irqrestore(struct bpf_res_spin_lock *lock, unsigned long *flags) __ksym;

static __noinline int local(int x)
{
	return opaque(x) + 1;
}

__noinline int global(int x)
{
	return opaque(x) + 1;
}

__noinline int sleeps(u64 at)
{
	u64 v = 0;

	bpf_copy_from_user(&v, 8, (void *)at);
	return v;
}

PAIR("tc", FunctionCallsNotAllowedWhileHolding, struct __sk_buff)
{
	struct locked *l = first(locks);

	bpf_spin_lock(&l->lock);
	if (bad)
		bpf_ktime_get_ns();
	bpf_spin_unlock(&l->lock);
	return 0;
}

PAIR("tc", GlobalFunctionCallsNotAllowedWhile, struct __sk_buff)
{
	struct locked *l = first(locks);
	int r;

	bpf_spin_lock(&l->lock);
	r = bad ? global(ctx->len) : local(ctx->len);
	bpf_spin_unlock(&l->lock);
	return r;
}

PAIR("tc", UnlockWithoutTakingLock, struct __sk_buff)
{
	struct locked *l = first(locks);

	if (!bad)
		bpf_spin_lock(&l->lock);
	bpf_spin_unlock(&l->lock);
	return 0;
}

PAIR("tc", UnlockDifferentLock, struct __sk_buff)
{
	struct locked *l = first(locks), *m = first(others);

	bpf_spin_lock(&l->lock);
	bpf_spin_unlock(bad ? &m->lock : &l->lock);
	return 0;
}

PAIR("tc", NotConstantOffsetLockConstantOffset, struct __sk_buff)
{
	struct locked *l = first(locks);
	void *at = l;

	if (bad)
		at += opaque(ctx->len) & 4;
	bpf_spin_lock(at);
	bpf_spin_unlock(&l->lock);
	return 0;
}

PAIR("tc", MapBTFInOrderUseLock, struct __sk_buff)
{
	struct locked *l;
	u32 key = 0;

	l = bad ? bpf_map_lookup_elem(&untyped, &key) : bpf_map_lookup_elem(&locks, &key);
	if (!l)
		return 0;
	bpf_spin_lock(&l->lock);
	bpf_spin_unlock(&l->lock);
	return 0;
}

PAIR("tc", CannotUsedInsideBpfSpinLock, struct __sk_buff)
{
	struct locked *l = first(locks);

	bpf_spin_lock(&l->lock);
	if (!bad || ctx->len)
		bpf_spin_unlock(&l->lock);
	return 0;
}

PAIR("tc", CannotUsedInsideBpfRcuRead, struct __sk_buff)
{
	bpf_rcu_read_lock();
	if (!bad)
		bpf_rcu_read_unlock();
	return 0;
}

PAIR("tc", CannotUsedInsideBpfPreemptDisable, struct __sk_buff)
{
	bpf_preempt_disable();
	if (!bad)
		bpf_preempt_enable();
	return 0;
}

PAIR("tc", CannotUsedInsideBpfLocalIrq, struct __sk_buff)
{
	unsigned long flags;

	bpf_local_irq_save(&flags);
	if (!bad)
		bpf_local_irq_restore(&flags);
	return 0;
}

PAIR("tc", ExpectedUninitializedIrqFlagArg, struct __sk_buff)
{
	unsigned long flags, more;

	bpf_local_irq_save(&flags);
	bpf_local_irq_save(bad ? &flags : &more);
	bpf_local_irq_restore(bad ? &flags : &more);
	bpf_local_irq_restore(&flags);
	return 0;
}

PAIR("tc", ExpectedInitializedIrqFlagArg, struct __sk_buff)
{
	unsigned long flags = 0;

	if (!bad)
		bpf_local_irq_save(&flags);
	bpf_local_irq_restore(&flags);
	return 0;
}

PAIR("tc", NotPointIrqFlagStack, struct __sk_buff)
{
	unsigned long flags = 0, *other = first(hash);

	bpf_local_irq_save(bad ? other : &flags);
	bpf_local_irq_restore(&flags);
	return 0;
}

PAIR("tc", CannotRestoreIrqStateOutOrder, struct __sk_buff)
{
	unsigned long flags, more;

	bpf_local_irq_save(&flags);
	bpf_local_irq_save(&more);
	bpf_local_irq_restore(bad ? &flags : &more);
	bpf_local_irq_restore(bad ? &more : &flags);
	return 0;
}

PAIR("tc", AcquiringSameLockAgainAADeadlock, struct __sk_buff)
{
	struct resilient *l = first(res), *m = first(res);

	if (bpf_res_spin_lock(&l->lock))
		return 0;
	if (!bpf_res_spin_lock(bad ? &l->lock : &m->lock))
		bpf_res_spin_unlock(bad ? &l->lock : &m->lock);
	bpf_res_spin_unlock(&l->lock);
	return 0;
}

PAIR("tc", UnlockCannotOutOrder, struct __sk_buff)
{
	struct resilient *l = first(res), *m = first(res);

	if (bpf_res_spin_lock(&l->lock))
		return 0;
	if (bpf_res_spin_lock(&m->lock)) {
		bpf_res_spin_unlock(&l->lock);
		return 0;
	}
	bpf_res_spin_unlock(bad ? &l->lock : &m->lock);
	bpf_res_spin_unlock(bad ? &m->lock : &l->lock);
	return 0;
}

PAIR("tc", NotPointMapValueAllocatedObject, struct __sk_buff)
{
	struct resilient *l = first(res);
	struct bpf_res_spin_lock own = {};

	if (bpf_res_spin_lock(bad ? &own : &l->lock))
		return 0;
	bpf_res_spin_unlock(&l->lock);
	return 0;
}

PAIR("syscall", UnmatchedRcuReadUnlockKernelFunction, void)
{
	if (!bad)
		bpf_rcu_read_lock();
	bpf_rcu_read_unlock();
	return 0;
}

PAIR("tc", UnmatchedAttemptEnablePreemptionKernelFunction, struct __sk_buff)
{
	if (!bad)
		bpf_preempt_disable();
	bpf_preempt_enable();
	return 0;
}

PAIR("syscall", SleepableHelperInRcuReadLock, void)
{
	u64 v;

	bpf_rcu_read_lock();
	if (!bad)
		bpf_rcu_read_unlock();
	bpf_copy_from_user(&v, 8, (void *)4096);
	if (bad)
		bpf_rcu_read_unlock();
	return 0;
}

PAIR("syscall", SleepableHelperInNonPreemptibleRegion, void)
{
	u64 v;

	bpf_preempt_disable();
	if (!bad)
		bpf_preempt_enable();
	bpf_copy_from_user(&v, 8, (void *)4096);
	if (bad)
		bpf_preempt_enable();
	return 0;
}

PAIR("syscall", SleepableHelperInIRQDisabledRegion, void)
{
	unsigned long flags;
	u64 v;

	bpf_local_irq_save(&flags);
	if (!bad)
		bpf_local_irq_restore(&flags);
	bpf_copy_from_user(&v, 8, (void *)4096);
	if (bad)
		bpf_local_irq_restore(&flags);
	return 0;
}

PAIR("syscall", GlobalFunctionsMaySleepNotAllowed, void)
{
	bpf_rcu_read_lock();
	if (!bad)
		bpf_rcu_read_unlock();
	sleeps(4096);
	if (bad)
		bpf_rcu_read_unlock();
	return 0;
}

PAIR("tc", TailCallUnderPreempt, struct __sk_buff)
{
	bpf_preempt_disable();
	if (!bad)
		bpf_preempt_enable();
	bpf_tail_call(ctx, &jumps, 0);
	if (bad)
		bpf_preempt_enable();
	return 0;
}

PAIR("tc", TailCallUnderRCU, struct __sk_buff)
{
	bpf_rcu_read_lock();
	if (!bad)
		bpf_rcu_read_unlock();
	bpf_tail_call(ctx, &jumps, 0);
	if (bad)
		bpf_rcu_read_unlock();
	return 0;
}

PAIR("tc", TailCallUnderLock, struct __sk_buff)
{
	struct locked *l = first(locks);

	bpf_spin_lock(&l->lock);
	if (!bad)
		bpf_spin_unlock(&l->lock);
	bpf_tail_call(ctx, &jumps, 0);
	if (bad)
		bpf_spin_unlock(&l->lock);
	return 0;
}

PAIR("tc", TailCallWithReference, struct __sk_buff)
{
	struct bpf_sock_tuple t = {};
	struct bpf_sock *sk = bpf_sk_lookup_tcp(ctx, &t, sizeof(t.ipv4), BPF_F_CURRENT_NETNS, 0);

	if (!bad && sk) {
		bpf_sk_release(sk);
		sk = NULL;
	}
	bpf_tail_call(ctx, &jumps, 0);
	if (sk)
		bpf_sk_release(sk);
	return 0;
}

PAIR("tc", LoadPacketWithReference, struct __sk_buff)
{
	struct bpf_sock_tuple t = {};
	struct bpf_sock *sk = bpf_sk_lookup_tcp(ctx, &t, sizeof(t.ipv4), BPF_F_CURRENT_NETNS, 0);

	if (!bad && sk) {
		bpf_sk_release(sk);
		sk = NULL;
	}
	asm volatile("r6 = %[ctx]; r0 = *(u8 *)skb[0];" ::[ctx] "r"(ctx) : "r0", "r1", "r2", "r3", "r4", "r5", "r6");
	if (sk)
		bpf_sk_release(sk);
	return 0;
}

PAIR("tc", LoadPacketUnderLock, struct __sk_buff)
{
	struct locked *l = first(locks);

	bpf_spin_lock(&l->lock);
	if (!bad)
		bpf_spin_unlock(&l->lock);
	asm volatile("r6 = %[ctx]; r0 = *(u8 *)skb[0];" ::[ctx] "r"(ctx) : "r0", "r1", "r2", "r3", "r4", "r5", "r6");
	if (bad)
		bpf_spin_unlock(&l->lock);
	return 0;
}

PAIR("tc", LoadPacketUnderRCU, struct __sk_buff)
{
	bpf_rcu_read_lock();
	if (!bad)
		bpf_rcu_read_unlock();
	asm volatile("r6 = %[ctx]; r0 = *(u8 *)skb[0];" ::[ctx] "r"(ctx) : "r0", "r1", "r2", "r3", "r4", "r5", "r6");
	if (bad)
		bpf_rcu_read_unlock();
	return 0;
}

PAIR("tc", LoadPacketUnderPreempt, struct __sk_buff)
{
	bpf_preempt_disable();
	if (!bad)
		bpf_preempt_enable();
	asm volatile("r6 = %[ctx]; r0 = *(u8 *)skb[0];" ::[ctx] "r"(ctx) : "r0", "r1", "r2", "r3", "r4", "r5", "r6");
	if (bad)
		bpf_preempt_enable();
	return 0;
}

PAIR("tc", ThrowUnderLock, struct __sk_buff)
{
	struct locked *l = first(locks);

	bpf_spin_lock(&l->lock);
	if (bad)
		bpf_throw(0);
	bpf_spin_unlock(&l->lock);
	return 0;
}

PAIR("tc", ThrowUnderRCU, struct __sk_buff)
{
	bpf_rcu_read_lock();
	if (!bad)
		bpf_rcu_read_unlock();
	bpf_throw(0);
	return 0;
}

PAIR("tc", GlobalUnderPreempt, struct __sk_buff)
{
	int r;

	bpf_preempt_disable();
	r = bad ? global(ctx->len) : local(ctx->len);
	bpf_preempt_enable();
	return r;
}

PAIR("tc", NestedRCU, struct __sk_buff)
{
	bpf_rcu_read_lock();
	if (!bad)
		bpf_rcu_read_unlock();
	bpf_rcu_read_lock();
	if (bad)
		bpf_rcu_read_unlock();
	bpf_rcu_read_unlock();
	return 0;
}

PAIR("socket", SocketFilterProgsCannotUseBpf, struct __sk_buff)
{
	u32 key = 0;

	if (bad)
		return bpf_map_lookup_elem(&locks, &key) != NULL;
	return bpf_map_lookup_elem(&hash, &key) != NULL;
}

PAIR("kprobe/do_exit", TracingProgsCannotUseBpfSpin, void)
{
	u32 key = 0;

	if (bad)
		return bpf_map_lookup_elem(&locks, &key) != NULL;
	return bpf_map_lookup_elem(&hash, &key) != NULL;
}

PAIR("tc", IrqFlagAcquiredKfuncsCannotRestored, struct __sk_buff)
{
	struct resilient *l = first(res);
	unsigned long flags, more;

	bpf_local_irq_save(&flags);
	if (!bpf_res_spin_lock_irqsave(&l->lock, &more))
		bpf_res_spin_unlock_irqrestore(&l->lock, bad ? &flags : &more);
	bpf_local_irq_restore(&flags);
	return 0;
}

PAIR("syscall", SpinLockAsleep, void)
{
	u32 key = 0;

	if (bad)
		return bpf_map_lookup_elem(&locks, &key) != NULL;
	return bpf_map_lookup_elem(&hash, &key) != NULL;
}
