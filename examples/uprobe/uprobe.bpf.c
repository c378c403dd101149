// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// uprobe: what a shell reads, as bashreadline shows it: a function of a program in user space, its arguments and its result.
#include "kernel.h"
#include "regs.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

struct line {
	__u32 pid;
	char comm[16];
	char text[80];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} lines SEC(".maps");

const struct line *unused_line __attribute__((unused));

char prompt[16];
__u64 size;

SEC("uprobe//bin/bash:readline")
int on_readline(struct pt_regs *ctx)
{
	bpf_probe_read_user_str(prompt, sizeof(prompt), (const void *)PT_REGS_PARM1(ctx));
	return 0;
}

SEC("uretprobe//bin/bash:readline")
int on_line(struct pt_regs *ctx)
{
	struct line l = {};

	if (!PT_REGS_RC(ctx))
		return 0;
	l.pid = bpf_get_current_pid_tgid() >> 32;
	bpf_get_current_comm(l.comm, sizeof(l.comm));
	if (bpf_probe_read_user_str(l.text, sizeof(l.text), (const void *)PT_REGS_RC(ctx)) < 0)
		return 0;
	bpf_ringbuf_output(&lines, &l, sizeof(l), 0);
	return 0;
}

SEC("uprobe.multi.s//lib/libc.so.6:malloc")
int on_malloc(struct pt_regs *ctx)
{
	size = PT_REGS_PARM1(ctx);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
