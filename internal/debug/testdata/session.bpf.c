// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// session: the program of the session in docs/debugger.md. It reports the parent of whoever calls execve, and counts by parent. Its
// task_struct has the offsets of Linux 5.10 (amd64, cloud flavour), so that on every other kernel CO-RE has work to do.
typedef unsigned char __u8;
typedef unsigned int __u32;
typedef unsigned long long __u64;

#define SEC(name) __attribute__((section(name), used))
#define CORE __attribute__((preserve_access_index))

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, __u64 flags) = (void *)2;
static __u64 (*bpf_get_current_task)(void) = (void *)35;
static long (*bpf_probe_read_kernel)(void *dst, __u32 size, const void *src) = (void *)113;
static long (*bpf_probe_read_kernel_str)(void *dst, __u32 size, const void *src) = (void *)115;
static void *(*bpf_ringbuf_reserve)(void *ringbuf, __u64 size, __u64 flags) = (void *)131;
static void (*bpf_ringbuf_submit)(void *data, __u64 flags) = (void *)132;

struct task_struct {
	__u8 to_pid[2232];
	int pid, tgid;
	__u8 to_parent[8];
	struct task_struct *real_parent;
	__u8 to_comm[480];
	char comm[16];
} CORE;

struct event {
	__u32 pid, ppid;
	char parent[16];
};

struct {
	int (*type)[27]; // BPF_MAP_TYPE_RINGBUF
	int (*max_entries)[4096];
} events SEC(".maps");

struct {
	int (*type)[1]; // BPF_MAP_TYPE_HASH
	int (*max_entries)[64];
	__u32 *key;
	__u64 *value;
} children SEC(".maps");

const struct event *unused_event __attribute__((unused));

static __attribute__((always_inline)) void count(__u32 ppid)
{
	__u64 one = 1, *n = bpf_map_lookup_elem(&children, &ppid);

	if (n)
		*n += 1;
	else
		bpf_map_update_elem(&children, &ppid, &one, 0);
}

SEC("tracepoint/sched/sched_process_exec")
int on_exec(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct task_struct *parent = 0;
	struct event *e;
	__u32 ppid = 0;

	bpf_probe_read_kernel(&parent, sizeof(parent), &task->real_parent);
	bpf_probe_read_kernel(&ppid, sizeof(ppid), &parent->tgid);
	count(ppid);
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e)
		return 0;
	bpf_probe_read_kernel(&e->pid, sizeof(e->pid), &task->tgid);
	e->ppid = ppid;
	bpf_probe_read_kernel_str(e->parent, sizeof(e->parent), parent->comm);
	bpf_ringbuf_submit(e, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
