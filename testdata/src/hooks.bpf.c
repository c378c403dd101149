// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// The section names of libbpf's table that sections.bpf.c does not have, one program each.
#include "types.h"
#include <bpf/bpf_helpers.h>

#define HOOK(name, sec, ret) \
	SEC(sec) int name(void *ctx) { return ret; }

HOOK(uretprobe_s, "uretprobe.s//usr/bin/sh:main", 0)
HOOK(uretprobe_multi, "uretprobe.multi//usr/bin/sh:main", 0)
HOOK(uprobe_multi_s, "uprobe.multi.s//usr/bin/sh:main", 0)
HOOK(uretprobe_multi_s, "uretprobe.multi.s//usr/bin/sh:main", 0)
HOOK(uprobe_session, "uprobe.session//usr/bin/sh:main", 0)
HOOK(uprobe_session_s, "uprobe.session.s//usr/bin/sh:main", 0)
HOOK(usdt_s, "usdt.s//usr/bin/sh:provider:name", 0)
HOOK(tracepoint_s, "tracepoint.s/syscalls/sys_enter_openat", 0)
HOOK(tp_s, "tp.s/syscalls/sys_enter_openat", 0)
HOOK(raw_tracepoint_s, "raw_tracepoint.s/sys_enter", 0)
HOOK(raw_tp_s, "raw_tp.s/sys_enter", 0)
HOOK(raw_tracepoint_w, "raw_tracepoint.w/sched_switch", 0)
HOOK(raw_tp_w, "raw_tp.w/sched_switch", 0)
HOOK(tp_btf_s, "tp_btf.s/sys_enter", 0)
HOOK(fsession, "fsession/vfs_read", 0)
HOOK(fsession_s, "fsession.s/vfs_read", 0)
HOOK(fsession_multi, "fsession.multi/vfs_read", 0)
HOOK(fsession_multi_s, "fsession.multi.s/vfs_read", 0)
HOOK(fentry_multi, "fentry.multi/vfs_read", 0)
HOOK(fexit_multi, "fexit.multi/vfs_read", 0)
HOOK(fentry_multi_s, "fentry.multi.s/vfs_read", 0)
HOOK(fexit_multi_s, "fexit.multi.s/vfs_read", 0)
HOOK(xdp_frags_cpumap, "xdp.frags/cpumap", 2)
HOOK(cgroup_post_bind6, "cgroup/post_bind6", 1)
HOOK(cgroup_connect6, "cgroup/connect6", 1)
HOOK(cgroup_sendmsg4, "cgroup/sendmsg4", 1)
HOOK(cgroup_sendmsg_unix, "cgroup/sendmsg_unix", 1)
HOOK(cgroup_recvmsg4, "cgroup/recvmsg4", 1)
HOOK(cgroup_recvmsg6, "cgroup/recvmsg6", 1)
HOOK(cgroup_recvmsg_unix, "cgroup/recvmsg_unix", 1)
HOOK(cgroup_getpeername4, "cgroup/getpeername4", 1)
HOOK(cgroup_getpeername6, "cgroup/getpeername6", 1)
HOOK(cgroup_getpeername_unix, "cgroup/getpeername_unix", 1)
HOOK(cgroup_getsockname4, "cgroup/getsockname4", 1)
HOOK(cgroup_getsockname6, "cgroup/getsockname6", 1)
HOOK(cgroup_getsockname_unix, "cgroup/getsockname_unix", 1)
HOOK(select_cpu, "struct_ops/select_cpu", 0)
HOOK(enqueue, "struct_ops.s/init_task", 0)

struct sched_ext_ops {
	void *select_cpu;
	void *init_task;
	char name[128];
};

SEC(".struct_ops.link")
struct sched_ext_ops scheduler = {.select_cpu = (void *)select_cpu, .init_task = (void *)enqueue, .name = "test"};

char LICENSE[] SEC("license") = "GPL";
