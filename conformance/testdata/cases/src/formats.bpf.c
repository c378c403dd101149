// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// formats: bpf_snprintf, bpf_trace_printk and bpf_trace_vprintk; memory and string helpers; time and identity.
#include "case.h"

char text[256];
u64 args[12];

/* An address that is not part of a constant. */
static __always_inline u64 addr(const void *p)
{
	asm volatile("" : "+r"(p));
	return (u64)p;
}

#define PRINT(name, fmt, ...)                                                            \
	do {                                                                             \
		static const char f[] = fmt;                                             \
		u64 a[] = {__VA_ARGS__};                                                 \
		CHECK(name, bpf_snprintf(text + at, 32, f, a, sizeof(a)));               \
		at += 32;                                                                \
	} while (0)

static const char word[] = "word";
static const char long_word[] = "a rather long string of words that does not fit";

SEC("syscall") int t_snprintf_numbers(void *ctx)
{
	const int at0 = 0;
	int at = at0;

	PRINT("%d", "%d|%i|%u", -1, 42, 0xffffffff);
	PRINT("%ld", "%ld|%lu", -5, 5);
	PRINT("%lld", "%lld|%llu", 1ull << 63, ~0ull);
	PRINT("%x", "%x|%X|%lx|%llX", 0xbeef, 0xbeef, 0x123456789abc, 0xfedcba9876543210);
	PRINT("%5d", "%5d|%-5d|%05d", 42, 42, 42);
	PRINT("%08llx", "%08llx|%-8x|", 0xabcd, 0xef);
	PRINT("%%", "100%%");
	PRINT("%c", "%c%c", 'o', 'k');
	return 0;
}

SEC("syscall") int t_snprintf_strings(void *ctx)
{
	int at = 0;

	PRINT("%s", "<%s>", addr(word));
	PRINT("%10s", "<%10s>", addr(word));
	PRINT("%-10s", "<%-10s>", addr(word));
	PRINT("%s long", "<%s>", addr(long_word));
	PRINT("%s NULL", "<%s>", 0);
	PRINT("%pks", "<%pks>", addr(word));
	PRINT("%pus", "<%pus>", 0x1000);
	PRINT("mixed", "%s=%d %s", addr(word), 7, addr(word));
	return 0;
}

SEC("syscall") int t_snprintf_addresses(void *ctx)
{
	static const char v4[] = "%pi4|%pI4", v6[] = "%pi6|%pI6", mac[] = "%px|%p";
	u8 ip4[4] = {192, 0, 2, 1}, ip6[16] = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
	u64 a4[] = {(u64)ip4, (u64)ip4}, a6[] = {(u64)ip6, (u64)ip6}, p[] = {0x1234};
	static const char px[] = "%px";

	CHECK("%pi4", bpf_snprintf(text, 64, v4, a4, sizeof(a4)));
	CHECK("%pi6", bpf_snprintf(text + 64, 128, v6, a6, sizeof(a6)));
	CHECK("%px", bpf_snprintf(text + 192, 32, px, p, 8));
	return 0;
}

SEC("syscall") int t_snprintf_sizes(void *ctx)
{
	static const char f[] = "%d-%d";
	u64 a[] = {123, 456};

	CHECK("size 8", bpf_snprintf(text, 8, f, a, 16));
	CHECK("size 7", bpf_snprintf(text + 16, 7, f, a, 16));
	CHECK("size 1", bpf_snprintf(text + 32, 1, f, a, 16));
	CHECK("size 0", bpf_snprintf(NULL, 0, f, a, 16));
	return 0;
}

SEC("syscall") int t_trace(void *ctx)
{
	const char f0[] = "plain", f1[] = "one %d", f3[] = "%d %x %s", bad[] = "%y", pct[] = "%%|%c", wide[] = "%5d|%-5d|%05d",
		   nl[] = "line\n", lu[] = "%lu %lld %llx";

	CHECK("printk plain", bpf_trace_printk(f0, sizeof(f0)));
	CHECK("printk one", bpf_trace_printk(f1, sizeof(f1), -7));
	CHECK("printk three", bpf_trace_printk(f3, sizeof(f3), 1, 0xff, word));
	CHECK("printk bad", bpf_trace_printk(bad, sizeof(bad), 1));
	CHECK("printk percent", bpf_trace_printk(pct, sizeof(pct), 'x'));
	CHECK("printk wide", bpf_trace_printk(wide, sizeof(wide), 1, 2, 3));
	CHECK("printk newline", bpf_trace_printk(nl, sizeof(nl)));
	CHECK("printk long", bpf_trace_printk(lu, sizeof(lu), ~0ul, 1ull << 63, 1ull << 40));
	CHECK("printk no NUL", bpf_trace_printk(f0, 3));
	return 0;
}

SEC("syscall") int t_vtrace(void *ctx)
{
	const char f[] = "%d %d %d %d %d", fs[] = "%s|%pks|%d", none[] = "nothing";
	u64 a[] = {1, 2, 3, 4, 5}, s[] = {addr(word), addr(word), 9};

	CHECK("vprintk 5", bpf_trace_vprintk(f, sizeof(f), a, sizeof(a)));
	CHECK("vprintk 4 of 5", bpf_trace_vprintk(f, sizeof(f), a, 32));
	CHECK("vprintk strings", bpf_trace_vprintk(fs, sizeof(fs), s, sizeof(s)));
	CHECK("vprintk none", bpf_trace_vprintk(none, sizeof(none), NULL, 0));
	CHECK("vprintk odd length", bpf_trace_vprintk(f, sizeof(f), a, 7));
	return 0;
}

u8 dst[64] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
const volatile char from[] = "some text to read";

SEC("raw_tp") int t_probe(void *ctx)
{
	CHECK("kernel", bpf_probe_read_kernel(dst, 8, (void *)from));
	CHECK("kernel NULL", bpf_probe_read_kernel(dst, 8, NULL));
	CHECK("kernel 0 bytes", bpf_probe_read_kernel(dst, 0, NULL));
	CHECK("kernel user address", bpf_probe_read_kernel(dst + 8, 4, (void *)0x1000));
	CHECK("kernel non-canonical", bpf_probe_read_kernel(dst + 12, 4, (void *)0x8000000000000000));
	CHECK("kernel unmapped", bpf_probe_read_kernel(dst + 12, 4, (void *)0xffffc8ffffffff00));
	CHECK("old", bpf_probe_read(dst + 16, 8, (void *)from));
	CHECK("old NULL", bpf_probe_read(dst + 16, 8, NULL));
	CHECK("user NULL", bpf_probe_read_user(dst + 16, 8, NULL));
	CHECK("user kernel address", bpf_probe_read_user(dst + 16, 8, (void *)from));
	CHECK("str", bpf_probe_read_kernel_str(dst + 24, 20, (void *)from));
	CHECK("str cut", bpf_probe_read_kernel_str(dst + 44, 5, (void *)from));
	CHECK("str 1", bpf_probe_read_kernel_str(dst + 50, 1, (void *)from));
	CHECK("str 0", bpf_probe_read_kernel_str(dst + 50, 0, (void *)from));
	CHECK("str NULL", bpf_probe_read_kernel_str(dst + 52, 4, NULL));
	CHECK("str old", bpf_probe_read_str(dst + 52, 4, (void *)from));
	CHECK("user str NULL", bpf_probe_read_user_str(dst + 56, 4, NULL));
	return 0;
}

SEC("syscall") int t_time(void *ctx)
{
	u64 a = bpf_ktime_get_ns(), b = bpf_ktime_get_ns();

	CHECK("mono grows", b >= a);
	CHECK("boot >= mono", bpf_ktime_get_boot_ns() >= a);
	CHECK("jiffies", bpf_jiffies64() > 0);
	CHECK("cpu", bpf_get_smp_processor_id());
	CHECK("numa node", bpf_get_numa_node_id());
	CHECK("uid_gid", bpf_get_current_uid_gid());
	CHECK("pid != 0", (bpf_get_current_pid_tgid() >> 32) != 0);
	CHECK("comm", bpf_get_current_comm(text, 16));
	CHECK("comm 4", bpf_get_current_comm(text + 32, 4));
	CHECK("comm ends", text[35]);
	return 0;
}
CASE({"name": "t_time", "env_dependent": ["global:text", "check:uid_gid"]});

SEC("syscall") int t_ns(void *ctx)
{
	struct bpf_pidns_info i = {1, 1};

	CHECK("ns bad dev", bpf_get_ns_current_pid_tgid(99, 99, &i, sizeof(i)));
	CHECK("ns zeroed", i.pid | i.tgid);
	CHECK("ns bad size", bpf_get_ns_current_pid_tgid(99, 99, &i, 4));
	return 0;
}

SEC("syscall") int t_strings(void *ctx)
{
	long v = 1;
	unsigned long u = 1;

	CHECK("strtol 0b", bpf_strtol("0b11", 4, 0, &v));
	CHECK("strtol hex", bpf_strtol("-0x10", 5, 0, &v));
	CHECK("strtol hex value", v);
	CHECK("strtol tail", bpf_strtol("12abc", 5, 10, &v));
	CHECK("strtol newline", bpf_strtol("12\n", 3, 10, &v));
	CHECK("strtoul", bpf_strtoul("077", 3, 0, &u));
	CHECK("strtoul value", u);
	CHECK("strtoul base 8 of 9", bpf_strtoul("9", 1, 8, &u));
	CHECK("strtoul flags", bpf_strtoul("9", 1, 10 | 1 << 6, &u));
	CHECK("strncmp", bpf_strncmp(word, 4, "worn"));
	CHECK("strncmp equal", bpf_strncmp(word, 5, "word"));
	CHECK("strncmp longer", bpf_strncmp(word, 5, "wordy"));
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(key_size, 4);
	__uint(value_size, 127 * 8);
	__uint(max_entries, 8);
} stacks SEC(".maps");

SEC("raw_tp") int t_stack(void *ctx)
{
	CHECK("stackid flags", bpf_get_stackid(ctx, &stacks, 1 << 12));
	CHECK("stack flags", bpf_get_stack(ctx, dst, 64, 1 << 12));
	CHECK("stack odd size", bpf_get_stack(ctx, dst, 63, 0));
	return 0;
}

SEC("tc") int t_random(struct __sk_buff *ctx)
{
	u32 a = bpf_get_prandom_u32(), b = bpf_get_prandom_u32();

	CHECK("random differs", a != b);
	CHECK("coarse <= fine", bpf_ktime_get_coarse_ns() <= bpf_ktime_get_ns());
	return 0;
}
