// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// globals: every data section: .data .bss .rodata, sections with names of their own, string literals, statics (relocated by
// section symbol plus offset), references to the middle of an array, hidden and aligned variables, mutable strings.
#include "types.h"
#include <bpf/bpf_helpers.h>

const volatile __u64 ro_u64 = 0x1122334455667788;
const volatile __s32 ro_table[8] = {10, 11, 12, -13, 14, 15, 16, 17};
const volatile char ro_text[] = "read only";
static const volatile __u16 ro_static = 0xbeef;

__u64 rw_u64 = 42;
__s32 rw_table[4] = {-1, -2, -3, -4};
char rw_text[8] = "mutable";
static volatile __u32 rw_static = 7;
static volatile __u32 rw_static2 = 8;

__u64 zero_u64;
struct {
	__u8 byte;
	__u32 word __attribute__((aligned(64)));
} zero_struct;
static volatile __u32 zero_static[16];

__u32 custom_data SEC(".data.custom") = 99;
const volatile __u32 custom_rodata SEC(".rodata.custom") = 77;
__u32 custom_bss SEC(".bss.custom");
__u64 hidden_percpu[4] SEC(".data.custom") __attribute__((visibility("hidden")));

struct point {
	__s32 x, y;
	bool on : 1;
	__u32 tag : 7;
	enum { RED, GREEN, BLUE } color;
	union {
		__u64 raw;
		char text[8];
	};
};
struct point point = {.x = -3, .y = 4, .on = true, .tag = 0x2a, .color = BLUE, .text = "origin"};

static __attribute__((noinline)) int index(const char *s, char c)
{
	for (int i = 0; i < 32; i++) {
		if (s[i] == c)
			return i;
		if (!s[i])
			break;
	}
	return -1;
}

SEC("syscall")
int globals(__u64 *ctx)
{
	const char *words = "literal string in .rodata.str";

	ctx[0] = ro_u64 + ro_static;
	ctx[1] = ro_table[3] + ro_table[ctx[1] & 7];
	ctx[2] = rw_table[2] + rw_static + rw_static2;
	ctx[3] = index(words, 's');
	ctx[4] = zero_u64 + zero_static[5] + zero_struct.word;
	ctx[5] = custom_data + custom_rodata + custom_bss;
	ctx[6] = point.x * point.y + point.tag + point.color;
	ctx[7] = ro_text[5];
	rw_u64++;
	rw_text[0]++;
	rw_static = ctx[0];
	zero_u64 = 5;
	zero_static[5] = 6;
	zero_struct.word = 7;
	custom_bss = 1;
	hidden_percpu[1]++;
	point.x++;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
