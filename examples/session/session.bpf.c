// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// session: probes of several functions: one program for entry and return, with eight bytes between the two.
#include "kernel.h"
#include "regs.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

// Linux 7 gave both a parameter. The weak one that does not fit the kernel is 0.
extern bool bpf_session_is_return(void *ctx) __ksym __weak;
extern bool bpf_session_is_return___before7(void) __ksym __weak;
extern __u64 *bpf_session_cookie(void *ctx) __ksym __weak;
extern __u64 *bpf_session_cookie___before7(void) __ksym __weak;

__u64 asked, got, entries, returns, ip;

SEC("kprobe.session/vfs_rea*")
int on_read(struct pt_regs *ctx)
{
	__u64 *count;
	bool back;

	if (bpf_session_cookie && bpf_session_is_return) {
		count = bpf_session_cookie(ctx);
		back = bpf_session_is_return(ctx);
	} else {
		count = bpf_session_cookie___before7();
		back = bpf_session_is_return___before7();
	}
	if (back) {
		returns++;
		asked += *count;
		got += PT_REGS_RC(ctx);
		return 0;
	}
	entries++;
	*count = PT_REGS_PARM3(ctx);
	return *count == 0; // nothing asked for: the return does not matter
}

SEC("kprobe.multi/vfs_read")
int on_any(struct pt_regs *ctx)
{
	ip = bpf_get_func_ip(ctx);
	entries += bpf_get_attach_cookie(ctx);
	return 0;
}

SEC("kretprobe.multi/vfs_read")
int on_any_return(struct pt_regs *ctx)
{
	got = PT_REGS_RC(ctx);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
