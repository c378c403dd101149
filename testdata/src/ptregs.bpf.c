// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// ptregs: kprobes that read their arguments and results from pt_regs: compiled for one architecture (ptregs_x86.o, ptregs_arm64.o).
#include "kernel.h"
#define __VMLINUX_H__ /* the kernel's names of the registers */
#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
} __attribute__((preserve_access_index));
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
	__u64 regs[31], sp, pc, pstate;
} __attribute__((preserve_access_index));
struct pt_regs {
	union {
		struct user_pt_regs user_regs;
		struct {
			__u64 regs[31], sp, pc, pstate;
		};
	};
	__u64 orig_x0;
} __attribute__((preserve_access_index));
#endif
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

struct call {
	__u64 count;
	__u64 pos;
	__s64 ret;
	__u64 ino;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 128);
	__type(key, __u64);
	__type(value, struct call);
} calls SEC(".maps");

SEC("kprobe/vfs_write")
int BPF_KPROBE(on_write, struct file *file, const char *buf, unsigned long count, long long *pos)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct call c = {.count = count};

	c.ino = BPF_CORE_READ(file, f_inode, i_ino);
	bpf_probe_read_kernel(&c.pos, sizeof(c.pos), pos);
	bpf_map_update_elem(&calls, &id, &c, BPF_ANY);
	return 0;
}

SEC("kretprobe/vfs_write")
int BPF_KRETPROBE(on_written, long ret)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct call *c = bpf_map_lookup_elem(&calls, &id);

	if (c)
		c->ret = ret;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
