/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The registers of x86-64, for probes that read arguments: include it before bpf_tracing.h. The order is ABI and not relocated. */
#ifndef BPFRUN_REGS_H
#define BPFRUN_REGS_H

#include "types.h"

#define __TARGET_ARCH_x86
#define __VMLINUX_H__ /* the kernel's names of the registers */

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};

#endif
