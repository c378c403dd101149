// Work that a task does when it returns to user space, on Linux 7.0 and newer: it counts in memory that it shares. Names that end in _right are correct.
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>

struct task_struct {
} __attribute__((preserve_access_index));

struct bpf_task_work {
	__u64 opaque;
} __attribute__((aligned(8)));

struct value {
	struct bpf_task_work work;
	__u64 count;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct value);
} works SEC(".maps");

struct bpf_map {
} __attribute__((preserve_access_index));
typedef int (*bpf_task_work_callback_t)(struct bpf_map *map, void *key, void *value);

extern int bpf_task_work_schedule_resume(struct task_struct *task, struct bpf_task_work *tw, void *map, bpf_task_work_callback_t callback) __ksym;

static __always_inline int schedule(__u32 key, bpf_task_work_callback_t callback)
{
	struct value *v = bpf_map_lookup_elem(&works, &key);

	return v ? bpf_task_work_schedule_resume(bpf_get_current_task_btf(), &v->work, &works, callback) : 0;
}

static int resumed(struct bpf_map *map, void *key, void *value)
{
	struct value *v = value;

	v->count++;
	return 0;
}
SEC("fentry/vfs_unlink") int schedules(void *ctx)
{
	__u32 zero = 0;
	struct value *v = bpf_map_lookup_elem(&works, &zero);

	schedule(0, resumed);
	if (v)
		v->count += 100;
	return 0;
}

static int resumed_right(struct bpf_map *map, void *key, void *value)
{
	struct value *v = value;

	__sync_fetch_and_add(&v->count, 1);
	return 0;
}
SEC("fentry/vfs_unlink") int schedules_right(void *ctx)
{
	__u32 one = 1;
	struct value *v = bpf_map_lookup_elem(&works, &one);

	schedule(1, resumed_right);
	if (v)
		__sync_fetch_and_add(&v->count, 100);
	return 0;
}

char _license[] SEC("license") = "GPL";
