/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What every source of recorded cases begins with. A program whose name begins with t_ is a case. */
#pragma once
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <stdbool.h>
#include <stddef.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#define CORE __attribute__((preserve_access_index))
#define __contains(type, node) __attribute__((btf_decl_tag("contains:" #type ":" #node)))
#define private(name) SEC(".data." #name) __hidden __attribute__((aligned(8)))

/* The results of a case. What is still 0x5a... was not executed. */
long R[320] SEC(".data") = {};

/* Results of loops. */
long out[64];

/* CHECK(name, value) keeps a value under a name. */
#define CHECK(name, value) CHECK_1(__COUNTER__, name, value)
#define CHECK_1(n, name, value) CHECK_2(n, name, value)
#define CHECK_2(n, name, value)                                                                     \
	do {                                                                                        \
		static const char check_##n[] __attribute__((section("checks"), used)) = #n ":" name; \
		R[n] = (long)(value);                                                               \
	} while (0)

/* CASE(json) says more of a case than its program does: inputs, several runs, time to settle. */
#define CASE(...) CASE_1(__COUNTER__, #__VA_ARGS__)
#define CASE_1(n, text) CASE_2(n, text)
#define CASE_2(n, text) static const char case_##n[] __attribute__((section("cases"), used)) = text

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))

#ifndef ENOENT
#define ENOENT 2
#define E2BIG 7
#define EINVAL 22
#endif

char LICENSE[] SEC("license") = "GPL";
