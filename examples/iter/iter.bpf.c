// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// iter: programs that user space reads as files: the processes with their parents, the elements of a map, the cgroups of a hierarchy.
#include "hooks.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 128);
	__type(key, __u32);
	__type(value, __u64);
} bytes_by_pid SEC(".maps");

__u64 total;
__u32 tasks;

SEC("iter/task")
int dump_task(struct bpf_iter__task *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct task_struct *task = ctx->task;

	if (!task) {
		BPF_SEQ_PRINTF(seq, "%u tasks\n", tasks);
		return 0;
	}
	if (ctx->meta->seq_num == 0)
		BPF_SEQ_PRINTF(seq, "  PID  PPID COMM\n");
	if (task->pid != task->tgid)
		return 0;
	tasks++;
	BPF_SEQ_PRINTF(seq, "%5d %5d %s\n", task->tgid, task->real_parent->tgid, task->comm);
	return 0;
}

SEC("iter/bpf_map_elem")
int sum_bytes(struct bpf_iter__bpf_map_elem *ctx)
{
	__u32 *key = ctx->key;
	__u64 *value = ctx->value;

	if (!key || !value)
		return 0;
	total += *value;
	BPF_SEQ_PRINTF(ctx->meta->seq, "%u: %llu\n", *key, *value);
	*value = 0;
	return 0;
}

SEC("iter/cgroup")
int dump_cgroup(struct bpf_iter__cgroup *ctx)
{
	struct cgroup *cgroup = ctx->cgroup;

	if (cgroup)
		BPF_SEQ_PRINTF(ctx->meta->seq, "%d %s\n", cgroup->level, cgroup->kn->name);
	return 0;
}

SEC("iter/task_file")
int dump_file(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;

	if (!task || !file)
		return 0;
	BPF_SEQ_PRINTF(ctx->meta->seq, "%d %u %lu\n", task->tgid, ctx->fd, file->f_inode->i_ino);
	return 0;
}

SEC("iter/task_vma")
int dump_vma(struct bpf_iter__task_vma *ctx)
{
	struct vm_area_struct *vma = ctx->vma;

	if (vma)
		BPF_SEQ_PRINTF(ctx->meta->seq, "%08lx-%08lx\n", vma->vm_start, vma->vm_end);
	return 0;
}

SEC("iter/bpf_map")
int dump_map(struct bpf_iter__bpf_map *ctx)
{
	struct bpf_map *map = ctx->map;

	if (map)
		BPF_SEQ_PRINTF(ctx->meta->seq, "%s %u\n", map->name, map->max_entries);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
