// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// intest_bad: tests inside an object that do not pass, one for each way.
#include "intest.h"

CHECK("tc", "assertion")
int assertion_check(struct __sk_buff *ctx)
{
	struct report r;

	if (!report_open(&r))
		return TEST_ERROR;
	PART(&r, "holds");
	EXPECT(&r, ctx->len == 3520, "never said");
	PART(&r, "length");
	LOG(&r, "looking at %d bytes", ctx->len);
	EXPECT(&r, ctx->len == 1, "%u bytes, want %d (%5x|%-5d|%05d|%c|%%|%lld|%p)", ctx->len, 1, 0xabc, 7, -42, 'x', -1LL, 0x1000);
	return report_close(&r);
}

/* The part fails although the check passes. */
CHECK("tc", "part_only")
int part_only_check(struct __sk_buff *ctx)
{
	struct report r;

	if (!report_open(&r))
		return TEST_ERROR;
	PART(&r, "a");
	report_status(&r, TEST_ERROR);
	LOG(&r, "%d and %d", 1);
	LOG(&r, "no more", 2, 3);
	report_close(&r);
	return TEST_PASS;
}

CHECK("tc", "code_fail")
int code_fail_check(struct __sk_buff *ctx)
{
	struct report r;

	if (!report_open(&r))
		return TEST_ERROR;
	LOG(&r, "len is %u", ctx->len);
	return TEST_FAIL;
}

CHECK("tc", "code_error")
int code_error_check(struct __sk_buff *ctx)
{
	return 0;
}

CHECK("tc", "code_none")
int code_none_check(struct __sk_buff *ctx)
{
	return 77;
}

PKTGEN("tc", "pktgen_error")
int pktgen_error_pktgen(struct __sk_buff *ctx)
{
	return TEST_ERROR;
}

CHECK("tc", "pktgen_error")
int pktgen_error_check(struct __sk_buff *ctx)
{
	return TEST_PASS;
}

SETUP("tc", "setup_fail")
int setup_fail_setup(struct __sk_buff *ctx)
{
	struct report r;

	if (report_open(&r))
		LOG(&r, "setup said so");
	return TEST_FAIL;
}

CHECK("tc", "setup_fail")
int setup_fail_check(struct __sk_buff *ctx)
{
	return TEST_PASS;
}

PKTGEN("tc", "too_short")
int too_short_pktgen(struct __sk_buff *ctx)
{
	return bpf_skb_change_tail(ctx, 0, 0) ? TEST_ERROR : TEST_PASS;
}

CHECK("tc", "too_short")
int too_short_check(struct __sk_buff *ctx)
{
	return TEST_PASS;
}

/* The verifier refuses it; here it runs and faults. */
SETUP("xdp", "setup_fault")
int setup_fault_setup(struct xdp_md *ctx)
{
	__u8 *p = (void *)(long)ctx->data_end;

	return *(volatile __u8 *)p;
}

CHECK("xdp", "setup_fault")
int setup_fault_check(struct xdp_md *ctx)
{
	return TEST_PASS;
}

static long (*no_such_helper)(void *ctx) = (void *)9999;

CHECK("tc", "unknown_helper")
int unknown_helper_check(struct __sk_buff *ctx)
{
	return no_such_helper(ctx) ? TEST_PASS : TEST_FAIL;
}

/* The first packet, and four bytes more. */
SETUP("tc", "too_long")
int too_long_setup(struct __sk_buff *ctx)
{
	return 0;
}

CHECK("tc", "too_long")
int too_long_check(struct __sk_buff *ctx)
{
	return TEST_PASS;
}

/* The kernel has it for its own tests. */
struct prog_test_member { int unused; };
extern void bpf_kfunc_call_memb_release(struct prog_test_member *p) __ksym __weak;

PLAIN("tc", "not_simulated")
int not_simulated(struct __sk_buff *ctx)
{
	return bpf_kfunc_call_memb_release(0), 0;
}

/* A field that is longer than what holds it. */
CHECK("tc", "torn_report")
int torn_report_check(struct __sk_buff *ctx)
{
	struct report r;

	if (!report_open(&r))
		return TEST_ERROR;
	report_byte(&r, 1 << 3 | 2);
	report_byte(&r, 3);
	report_byte(&r, 1 << 3 | 2);
	report_byte(&r, 100);
	report_byte(&r, 'x');
	return TEST_PASS;
}

/* A message that runs into the end of the map. */
CHECK("tc", "cut_report")
int cut_report_check(struct __sk_buff *ctx)
{
	struct report r;

	if (!report_open(&r))
		return TEST_ERROR;
	PART(&r, "whole");
	part_end(&r);
	report_byte(&r, 1 << 3 | 2);
	report_byte(&r, 0xff);
	report_byte(&r, 0xff);
	report_byte(&r, 0x7f);
	return TEST_FAIL;
}

PLAIN("tc", "plain_line")
int plain_line(struct __sk_buff *ctx)
{
	REQUIRE(ctx->len == 64);
	REQUIRE(ctx->len == 65);
	return 0;
}

PLAIN("tc", "plain_errno")
int plain_errno(struct __sk_buff *ctx)
{
	return -EINVAL;
}

PLAIN("fentry", "absent")
int plain_absent(__u64 *ctx)
{
	return 0;
}

SEC("?tc/test/off")
int plain_off(struct __sk_buff *ctx)
{
	return 1;
}

char LICENSE[] SEC("license") = "GPL";
