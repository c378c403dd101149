/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Tests inside objects (bpfrun test OBJECT.o). A staged test is up to three programs: PKTGEN makes a packet, SETUP runs what is
 * tested on it, CHECK looks at what came out, with SETUP's return value in front of the packet. CHECK writes a report
 * into suite_result_map, a protobuf message of parts with a status and logs.
 *
 *	CHECK("tc", "syn_is_dropped")
 *	int syn_is_dropped_check(struct __sk_buff *ctx)
 *	{
 *		struct report r;
 *
 *		if (!report_open(&r))
 *			return TEST_ERROR;
 *		PART(&r, "verdict");
 *		EXPECT(&r, verdict(ctx) == TC_ACT_SHOT, "verdict %d", verdict(ctx));
 *		return report_close(&r);
 *	}
 *
 * A plain test is one program that returns 0, or the number of the line that failed: PLAIN("xdp", "name") and REQUIRE(condition).
 */
#ifndef BPFRUN_INTEST_H
#define BPFRUN_INTEST_H

#include "types.h"
#include <bpf/bpf_helpers.h>

#define PKTGEN(type, name) SEC(type "/test/" name "/pktgen")
#define SETUP(type, name) SEC(type "/test/" name "/setup")
#define CHECK(type, name) SEC(type "/test/" name "/check")
#define PLAIN(type, name) SEC(type "/test/" name)
#define REQUIRE(condition) do { if (!(condition)) return __LINE__; } while (0)

/* Puts the program into a slot of a program array when the object is loaded. */
#define TAIL(map, slot) __attribute__((btf_decl_tag("tail:" #map "/" #slot)))

/* Variables that a loader sets before the programs are loaded. */
#define CONFIG SEC(".rodata.config")

enum {
	TEST_ERROR = 100,
	TEST_PASS = 101,
	TEST_FAIL = 102,
	TEST_SKIP = 103,
};

enum { REPORT_SIZE = 8192 };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, REPORT_SIZE);
	__uint(max_entries, 1);
} suite_result_map SEC(".maps");

struct report {
	char *buf;
	__u32 at;
	__u32 part;	/* where the open part's length is, 0 without one */
	__u32 status;	/* where its status is */
	int worst;
};

static __always_inline bool report_open(struct report *r)
{
	__u32 zero = 0;

	r->buf = bpf_map_lookup_elem(&suite_result_map, &zero);
	r->at = r->part = r->status = 0;
	r->worst = TEST_PASS;
	return r->buf;
}

static __always_inline void report_byte(struct report *r, __u8 b)
{
	if (r->at < REPORT_SIZE)
		r->buf[r->at++] = b;
}

static __always_inline void report_bytes(struct report *r, __u8 tag, const char *s, __u32 n)
{
	report_byte(r, tag);
	report_byte(r, n);
#pragma unroll
	for (__u32 i = 0; i < n; i++)
		report_byte(r, s[i]);
}

/* Ends the open part: its length, as two bytes whether it needs them or not. */
static __always_inline void part_end(struct report *r)
{
	__u32 n = r->at - r->part - 2;

	if (!r->part || r->part >= REPORT_SIZE - 1)
		return;
	r->buf[r->part] = (n & 0x7f) | 0x80;
	r->buf[r->part + 1] = n >> 7;
	r->part = 0;
}

static __always_inline void report_part(struct report *r, const char *name, __u32 n)
{
	part_end(r);
	report_byte(r, 1 << 3 | 2);
	r->part = r->at;
	report_byte(r, 0);
	report_byte(r, 0);
	report_bytes(r, 1 << 3 | 2, name, n);
	report_byte(r, 2 << 3 | 0);
	r->status = r->at;
	report_byte(r, TEST_PASS);
}

static __always_inline void report_status(struct report *r, int status)
{
	if (r->part && r->status < REPORT_SIZE)
		r->buf[r->status] = status;
	if (status != TEST_SKIP)
		r->worst = status;
}

static __always_inline void report_log(struct report *r, const char *fmt, __u32 n, const __u64 *args, __u32 count)
{
	report_byte(r, (r->part ? 3 : 2) << 3 | 2);
	report_byte(r, 2 + n + 9 * count);
	report_bytes(r, 1 << 3 | 2, fmt, n);
#pragma unroll
	for (__u32 i = 0; i < count; i++) {
		report_byte(r, 2 << 3 | 1);
#pragma unroll
		for (int b = 0; b < 64; b += 8)
			report_byte(r, args[i] >> b);
	}
}

static __always_inline int report_close(struct report *r)
{
	part_end(r);
	return r->worst;
}

#define PART(r, name) report_part(r, name, sizeof(name))
#define LOG(r, fmt, ...) do {									\
	const __u64 __args[] = {0, ##__VA_ARGS__};						\
	report_log(r, fmt, sizeof(fmt), __args + 1, sizeof(__args) / sizeof(__args[0]) - 1);	\
} while (0)
#define EXPECT(r, condition, fmt, ...) do {	\
	if (!(condition)) {			\
		report_status(r, TEST_FAIL);	\
		LOG(r, fmt, ##__VA_ARGS__);	\
	}					\
} while (0)

#endif
