// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// schedcid: a sched_ext scheduler that knows CPUs by cid: it keeps the cids that are idle and those that each task may use, looks for an idle one
// that shares the cache of the task's last one, then for any, and puts the task on that CPU's queue.
#include "sched.h"
#include <bpf/bpf_tracing.h>

#define MAX_CIDS 64
#define SCX_DSQ_LOCAL_ON (1ULL << 63 | 1ULL << 62)
#define SHARED 1

struct scx_cid_topo {
	__s32 core_cid, core_idx, llc_cid, llc_idx, node_cid, node_idx;
};

struct scx_cmask {
	__u32 base, nr_cids, alloc_words;
	__u64 bits[];
};

struct sched_ext_ops_cid {
	__s32 (*select_cid)(struct task_struct *p, __s32 prev_cid, __u64 wake_flags);
	void (*enqueue)(struct task_struct *p, __u64 enq_flags);
	void (*dispatch)(__s32 cid, struct task_struct *prev);
	void (*set_cmask)(struct task_struct *p, const struct scx_cmask *cmask);
	void (*update_idle)(__s32 cid, bool idle);
	void (*running)(struct task_struct *p);
	__s32 (*init)(void);
	__u32 timeout_ms;
	char name[128];
};

__s32 scx_bpf_cid_to_cpu(__s32 cid) __ksym;
__s32 scx_bpf_cpu_to_cid(__s32 cpu) __ksym;
__s32 scx_bpf_task_cid(const struct task_struct *p) __ksym;
__s32 scx_bpf_this_cid(void) __ksym;
__u32 scx_bpf_nr_cids(void) __ksym;
void scx_bpf_cid_topo(__s32 cid, struct scx_cid_topo *out, __u64 out__sz) __ksym;
void scx_bpf_kick_cid(__s32 cid, __u64 flags) __ksym;
void scx_bpf_cid_override(const __s32 *cpu_to_cid, __u32 cpu_to_cid__sz) __ksym;

// The kernel hands masks of cids over in the scheduler's arena.
struct {
	__uint(type, BPF_MAP_TYPE_ARENA);
	__uint(map_flags, 1 << 10);
	__uint(max_entries, 16);
} arena SEC(".maps");

// Turns a pointer into the arena into one that can be followed, as clang 19's address_space(1) does: r1 = addr_space_cast(r1, 0, 1).
#define cast_kern(p) asm volatile("r1 = %0; .quad 0x00000001000111bf; %0 = r1" : "+r"(p)::"r1")

__s32 override[MAX_CIDS];		// cids by CPU, if use_override
const volatile bool use_override;
const volatile __u32 override_size;	// bytes

__u64 idle_cids;
__u64 allowed[MAX_CIDS];		// cids by task: pid & (MAX_CIDS - 1)
__s32 cpu_of[MAX_CIDS];			// by cid
struct scx_cid_topo topo[MAX_CIDS];	// by cid
__u64 same_llc[MAX_CIDS];		// cids by cid
__u64 cmask_base, cmask_nr, cmask_words, cmask_addr;
__u64 wrong;				// running on a CPU that is not the cid's
__u64 near, far;			// wakeups that found an idle cid in the cache, and elsewhere

// The number of a word's lowest bit, by what the product with a de Bruijn sequence begins with: without a branch for the verifier to follow.
const volatile __u8 lowest[64] = {
	0, 1, 48, 2, 57, 49, 28, 3, 61, 58, 50, 42, 38, 29, 17, 4,
	62, 55, 59, 36, 53, 51, 43, 22, 45, 39, 33, 30, 24, 18, 12, 5,
	63, 47, 56, 27, 60, 41, 37, 16, 54, 35, 52, 21, 44, 32, 23, 11,
	46, 26, 40, 15, 34, 20, 31, 10, 25, 14, 19, 9, 13, 8, 7, 6,
};

static __s32 pick(__u64 of)
{
	__s32 cid;

	of &= idle_cids;
	if (!of)
		return -1;
	cid = lowest[(of & -of) * 0x03f79d71b4cb0a89ULL >> 58] & (MAX_CIDS - 1);
	idle_cids &= ~(1ULL << cid);
	return cid;
}

SEC("struct_ops/cid_select")
__s32 BPF_PROG(cid_select, struct task_struct *p, __s32 prev, __u64 wake_flags)
{
	__u64 of = allowed[p->pid & (MAX_CIDS - 1)];
	__s32 cid = pick(of & same_llc[prev & (MAX_CIDS - 1)]);

	if (cid >= 0)
		near++;
	else if ((cid = pick(of)) >= 0)
		far++;
	if (cid < 0)
		return prev;
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL_ON | cid, SCX_SLICE_DFL, 0);
	scx_bpf_kick_cid(cid, 1);
	return cid;
}

SEC("struct_ops/cid_enqueue")
void BPF_PROG(cid_enqueue, struct task_struct *p, __u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SHARED, SCX_SLICE_DFL, enq_flags);
}

SEC("struct_ops/cid_dispatch")
void BPF_PROG(cid_dispatch, __s32 cid, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED);
}

SEC("struct_ops/cid_set_cmask")
void BPF_PROG(cid_set_cmask, struct task_struct *p, const struct scx_cmask *cmask)
{
	const struct scx_cmask *m = cmask;

	cmask_addr = (__u64)(long)cmask;
	asm volatile("" ::"r"(&arena)); // the program belongs to the arena
	cast_kern(m);
	cmask_base = m->base;
	cmask_nr = m->nr_cids;
	cmask_words = m->alloc_words;
	allowed[p->pid & (MAX_CIDS - 1)] = m->bits[0];
}

SEC("struct_ops/cid_update_idle")
void BPF_PROG(cid_update_idle, __s32 cid, bool idle)
{
	cid &= MAX_CIDS - 1;
	if (idle)
		idle_cids |= 1ULL << cid;
	else
		idle_cids &= ~(1ULL << cid);
}

SEC("struct_ops/cid_running")
void BPF_PROG(cid_running, struct task_struct *p)
{
	__s32 cid = scx_bpf_task_cid(p) & (MAX_CIDS - 1);

	if (cid != scx_bpf_this_cid() || cpu_of[cid] != bpf_get_smp_processor_id() || scx_bpf_cid_to_cpu(cid) != cpu_of[cid])
		wrong++;
}

SEC("struct_ops.s/cid_init")
__s32 BPF_PROG(cid_init)
{
	__u32 nr = scx_bpf_nr_cids();

	if (use_override)
		scx_bpf_cid_override(override, override_size & (sizeof(override) - 1));
	for (__u32 cid = 0; cid < MAX_CIDS && cid < nr; cid++) {
		cpu_of[cid] = scx_bpf_cid_to_cpu(cid);
		scx_bpf_cid_topo(cid, &topo[cid], sizeof(topo[cid]));
		same_llc[topo[cid].llc_cid & (MAX_CIDS - 1)] |= 1ULL << cid;
		idle_cids |= 1ULL << cid;
	}
	for (__u32 cid = 0; cid < MAX_CIDS && cid < nr; cid++)
		same_llc[cid] = same_llc[topo[cid].llc_cid & (MAX_CIDS - 1)];
	return scx_bpf_create_dsq(SHARED, -1);
}

SEC(".struct_ops.link")
struct sched_ext_ops_cid cid_ops = {
	.select_cid = (void *)cid_select,
	.enqueue = (void *)cid_enqueue,
	.dispatch = (void *)cid_dispatch,
	.set_cmask = (void *)cid_set_cmask,
	.update_idle = (void *)cid_update_idle,
	.running = (void *)cid_running,
	.init = (void *)cid_init,
	.timeout_ms = 5000,
	.name = "cid",
};

char LICENSE[] SEC("license") = "GPL";
