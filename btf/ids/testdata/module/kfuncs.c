// SPDX-License-Identifier: GPL-2.0
/* A module with kfuncs and lists of ids, to compare `bpfrun btf resolve-ids` and `btf gen` with the kernel's own tools: scripts/btf-module.sh. */
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/percpu.h>

struct bpfrun_counter {
	u64 value;
	struct list_head entry;
};

static DEFINE_PER_CPU(struct bpfrun_counter, bpfrun_counters);

__bpf_kfunc_start_defs();

__bpf_kfunc struct bpfrun_counter *bpfrun_counter_get(u32 cpu)
{
	return cpu < nr_cpu_ids ? per_cpu_ptr(&bpfrun_counters, cpu) : NULL;
}

__bpf_kfunc void bpfrun_counter_put(struct bpfrun_counter *c)
{
}

__bpf_kfunc u64 bpfrun_counter_add(struct bpfrun_counter *c, u64 n)
{
	return c->value += n;
}

__bpf_kfunc int bpfrun_counter_wait(struct bpfrun_counter *c, struct task_struct *task)
{
	return task ? 0 : -EINVAL;
}

__bpf_kfunc_end_defs();

BTF_KFUNCS_START(bpfrun_kfuncs)
BTF_ID_FLAGS(func, bpfrun_counter_wait, KF_SLEEPABLE | KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpfrun_counter_get, KF_ACQUIRE | KF_RET_NULL)
BTF_ID_FLAGS(func, bpfrun_counter_put, KF_RELEASE)
BTF_ID_FLAGS(func, bpfrun_counter_add)
BTF_KFUNCS_END(bpfrun_kfuncs)

BTF_SET_START(bpfrun_allowed)
BTF_ID(func, bpfrun_counter_wait)
BTF_ID(func, bpfrun_counter_add)
BTF_SET_END(bpfrun_allowed)

BTF_ID_LIST(bpfrun_types)
BTF_ID(struct, task_struct)
BTF_ID_UNUSED
BTF_ID(struct, bpfrun_counter)

static const struct btf_kfunc_id_set bpfrun_kfunc_set = {
	.owner = THIS_MODULE,
	.set = &bpfrun_kfuncs,
};

static int __init bpfrun_init(void)
{
	if (!btf_id_set_contains(&bpfrun_allowed, bpfrun_types[0]))
		pr_debug("%u\n", bpfrun_types[2]);
	return register_btf_kfunc_id_set(BPF_PROG_TYPE_SYSCALL, &bpfrun_kfunc_set);
}

static void __exit bpfrun_exit(void)
{
}

module_init(bpfrun_init);
module_exit(bpfrun_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("kfuncs and lists of BTF ids");
