// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// showtypes: bpf_snprintf_btf of types that hardly change between kernels, over bytes of our own.
#include "case.h"
#include <bpf/bpf_core_read.h>

/* Only names and kinds count: the kernel's types are shown. */
#define S(n) struct n { int x; };
#define U(n) union n { int x; };
#define T(n) typedef struct { int x; } n;
S(iphdr) S(ipv6hdr) S(ethhdr) S(in6_addr) S(timespec64) S(list_head) S(new_utsname) S(desc_struct) S(gdt_page)
S(icmp6hdr) S(sembuf) S(seccomp_data) S(user_desc) S(ipv6_rt_hdr) S(robust_list_head) S(siginfo) S(rb_node) S(fdtable) S(kernel_siginfo)
S(fregs_state) S(fxregs_state) S(rusage) S(callback_head) S(pollfd) S(ethtool_rxnfc) S(dst_metrics)
S(sockaddr_in6) S(qstr) S(posix_acl_entry) S(elf64_sym) S(sched_avg) S(maple_node)
U(sigval) U(nf_inet_addr)
T(atomic_t) T(kernel_cap_t) T(sigset_t)
typedef int pid_t;
typedef s64 ktime_t;
typedef unsigned char cc_t;
typedef unsigned long elf_gregset_t[27];
enum pid_type { PIDTYPE_LOCAL };
enum rw_hint { RW_LOCAL } __attribute__((packed));
enum perf_callchain_context { CALLCHAIN_LOCAL = ~0ull };
enum hrtimer_restart { RESTART_LOCAL };

/* What is shown, and what came out: one after another, each as long as it says. */
u64 obj[512] SEC(".data") = {};
char text[34816];
long lengths[32];

static int fill_byte(u32 i, int *how)
{
	u8 b = 0;

	switch (*how) {
	case 1: b = i * 7 + 1; break;               /* everything, characters of all kinds among it */
	case 2: b = i % 12 == 8 ? 'a' + i % 26 : 0; break; /* a little, and strings that end */
	case 3: b = i % 5 == 4 ? 0 : 0xf0 | i; break;
	}
	((u8 *)obj)[i & 4095] = b;
	return 0;
}

static __always_inline void fill(int how)
{
	bpf_loop(4096, fill_byte, &how, 0);
}

static __noinline int show_all(u32 type)
{
	struct btf_ptr p = {.type_id = type};
	u32 at = 0, n = 0, how, flags;
	long len;

	for (how = 0; how < 4; how++) {
		fill(how);
		for (flags = 0; flags < 8; flags++) {
			p.ptr = obj;
			barrier_var(at);
			if (at > 32767)
				return n;
			/* Addresses as they are: a hash is the kernel's secret. */
			len = bpf_snprintf_btf(text + at, 2048, &p, sizeof(p), (flags & 3) | BTF_F_PTR_RAW | (flags & 4 ? BTF_F_ZERO : 0));
			lengths[n & 31] = len;
			n++;
			if (len < 0)
				return n;
			at += len < 2048 ? len + 1 : 2048;
		}
	}
	return n;
}

#define SHOW(name, type) \
	SEC("syscall") int t_##name(void *ctx) { return show_all(bpf_core_type_id_kernel(type)); }
#define STRUCT(n) SHOW(n, struct n)
STRUCT(iphdr) STRUCT(ipv6hdr) STRUCT(ethhdr) STRUCT(in6_addr) STRUCT(timespec64) STRUCT(list_head) STRUCT(new_utsname)
STRUCT(desc_struct) STRUCT(gdt_page) STRUCT(icmp6hdr) STRUCT(sembuf) STRUCT(seccomp_data) STRUCT(user_desc) STRUCT(ipv6_rt_hdr)
STRUCT(robust_list_head) STRUCT(siginfo) STRUCT(rb_node) STRUCT(fdtable) STRUCT(kernel_siginfo) STRUCT(fregs_state) STRUCT(fxregs_state)
STRUCT(rusage) STRUCT(callback_head) STRUCT(pollfd) STRUCT(ethtool_rxnfc) STRUCT(dst_metrics) STRUCT(sockaddr_in6) STRUCT(qstr)
STRUCT(posix_acl_entry) STRUCT(tc_stats) STRUCT(elf64_sym) STRUCT(sched_avg) STRUCT(bpf_insn) STRUCT(bpf_flow_keys) STRUCT(bpf_fib_lookup) STRUCT(maple_node)
SHOW(sigval, union sigval)
SHOW(nf_inet_addr, union nf_inet_addr)
SHOW(bpf_iter_link_info, union bpf_iter_link_info)
SHOW(atomic, atomic_t)
SHOW(kernel_cap, kernel_cap_t)
SHOW(sigset, sigset_t)
SHOW(pid, pid_t)
SHOW(ktime, ktime_t)
SHOW(cc, cc_t)
SHOW(elf_gregset, elf_gregset_t)
SHOW(pid_type, enum pid_type)
SHOW(rw_hint, enum rw_hint)
SHOW(perf_callchain, enum perf_callchain_context)
SHOW(hrtimer_restart, enum hrtimer_restart)
SHOW(int, int)
SHOW(uchar, unsigned char)
SHOW(int128, __int128)
SHOW(bool, bool)

SEC("syscall") int t_arguments(void *ctx)
{
	struct btf_ptr p = {.ptr = obj, .type_id = bpf_core_type_id_kernel(struct iphdr)};

	fill(1);
	CHECK("size 2048", bpf_snprintf_btf(text, 2048, &p, sizeof(p), 0));
	CHECK("size 1", bpf_snprintf_btf(text + 2048, 1, &p, sizeof(p), 0));
	CHECK("size 10", bpf_snprintf_btf(text + 2064, 10, &p, sizeof(p), 0));
	CHECK("size 100", bpf_snprintf_btf(text + 2080, 100, &p, sizeof(p), BTF_F_COMPACT));
	CHECK("all flags", bpf_snprintf_btf(text + 2200, 1000, &p, sizeof(p), 15));
	CHECK("unknown flag", bpf_snprintf_btf(text + 3200, 100, &p, sizeof(p), 16));
	CHECK("high flag", bpf_snprintf_btf(text + 3200, 100, &p, sizeof(p), 1ull << 40));
	CHECK("half a btf_ptr", bpf_snprintf_btf(text + 3200, 100, &p, 8, 0));
	p.flags = 77;
	CHECK("btf_ptr with flags", bpf_snprintf_btf(text + 3200, 100, &p, sizeof(p), BTF_F_COMPACT | BTF_F_NONAME));
	p.flags = 0;
	p.ptr = NULL;
	CHECK("NULL", bpf_snprintf_btf(text + 3300, 100, &p, sizeof(p), 0));
	p.ptr = (void *)0x10000;
	CHECK("user address", bpf_snprintf_btf(text + 3300, 100, &p, sizeof(p), 0));
	p.ptr = (void *)0x1000000000000000;
	CHECK("no address", bpf_snprintf_btf(text + 3300, 100, &p, sizeof(p), 0));
	p.ptr = (void *)0xffffc00000000000;
	CHECK("unmapped", bpf_snprintf_btf(text + 3300, 100, &p, sizeof(p), 0));
	p.ptr = obj;
	p.type_id = 0;
	CHECK("void", bpf_snprintf_btf(text + 3300, 100, &p, sizeof(p), 0));
	p.type_id = 0x7fffffff;
	CHECK("no type", bpf_snprintf_btf(text + 3300, 100, &p, sizeof(p), 0));
	p.type_id = 0xfffffff0;
	CHECK("negative type", bpf_snprintf_btf(text + 3300, 100, &p, sizeof(p), 0));
	return 0;
}

/* Hashed addresses differ; their length and those that are not hashed do not. */
SEC("syscall") int t_hashed(void *ctx)
{
	struct btf_ptr p = {.ptr = obj, .type_id = bpf_core_type_id_kernel(struct list_head)};

	obj[0] = 0;
	obj[1] = 0;
	CHECK("NULL pointers", bpf_snprintf_btf(text, 100, &p, sizeof(p), BTF_F_ZERO));
	obj[0] = -22;
	obj[1] = -4095;
	CHECK("errors", bpf_snprintf_btf(text + 100, 100, &p, sizeof(p), 0));
	obj[0] = (u64)obj;
	obj[1] = 0x1234;
	CHECK("hashed", bpf_snprintf_btf(text + 200, 100, &p, sizeof(p), BTF_F_COMPACT));
	__builtin_memset(text + 200, 0, 100);
	obj[0] = 0;
	return 0;
}
