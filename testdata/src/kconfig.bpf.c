// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// kconfig: configuration externs of every form: bool, tristate, char, integers of all sizes, string, weak ones, virtual ones.
#include "types.h"
#include <bpf/bpf_helpers.h>

extern __u32 LINUX_KERNEL_VERSION __kconfig;
extern bool LINUX_HAS_BPF_COOKIE __kconfig __weak;
extern bool LINUX_HAS_SYSCALL_WRAPPER __kconfig __weak;
extern int LINUX_OF_THE_FUTURE __kconfig __weak;
extern bool CONFIG_SMP __kconfig __weak;
extern enum libbpf_tristate CONFIG_BPF_JIT __kconfig __weak;
extern char CONFIG_MODULES __kconfig __weak;
extern __u8 CONFIG_LOG_BUF_SHIFT __kconfig __weak;
extern __u16 CONFIG_NODES_SHIFT __kconfig __weak;
extern int CONFIG_HZ __kconfig __weak;
extern __u64 CONFIG_NR_CPUS __kconfig __weak;
extern __s64 CONFIG_ILLEGAL_POINTER_VALUE __kconfig __weak;
extern const char CONFIG_LOCALVERSION[16] __kconfig __weak;
extern bool CONFIG_NO_SUCH_OPTION __kconfig __weak;

SEC("syscall")
int kconfig(__u64 *ctx)
{
	ctx[0] = LINUX_KERNEL_VERSION;
	ctx[1] = LINUX_HAS_BPF_COOKIE;
	ctx[2] = LINUX_HAS_SYSCALL_WRAPPER;
	ctx[3] = LINUX_OF_THE_FUTURE;
	ctx[4] = CONFIG_SMP;
	ctx[5] = CONFIG_BPF_JIT;
	ctx[6] = CONFIG_MODULES;
	ctx[7] = CONFIG_LOG_BUF_SHIFT;
	ctx[8] = CONFIG_NODES_SHIFT;
	ctx[9] = CONFIG_HZ;
	ctx[10] = CONFIG_NR_CPUS;
	ctx[11] = CONFIG_ILLEGAL_POINTER_VALUE;
	ctx[12] = CONFIG_LOCALVERSION[0];
	ctx[13] = CONFIG_NO_SUCH_OPTION;
	return 0;
}

// Dead on kernels since 5.15, where the verifier sees through the constant.
SEC("syscall")
int by_version(__u64 *ctx)
{
	if (LINUX_KERNEL_VERSION < ((5 << 16) + (15 << 8)))
		ctx[0] = 1;
	else
		ctx[0] = 2;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
