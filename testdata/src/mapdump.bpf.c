// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// mapdump: maps whose values have every form that a typed dump shows: integers of all sizes, bitfields, characters and strings,
// booleans, enumerators, pointers, nested and anonymous structs, arrays. It is loaded for its maps: its program is optional.
#include "types.h"
#include <bpf/bpf_helpers.h>

enum colour { RED, GREEN = 5, BLUE = -3 };
enum wide : unsigned long long { NARROW = 1, WIDE = 1ULL << 40 };

struct inner {
	__u8 r, g, b;
	__s8 alpha;
};

struct sample {
	__u8 u8;
	__s8 s8;
	__u16 u16;
	__s16 s16;
	__u32 u32;
	__s32 s32;
	__u64 u64;
	__s64 s64;
	unsigned __int128 big;
	_Bool yes;
	char c;
	char name[12];
	__u8 bytes[3];
	enum colour colour;
	enum wide wide;
	void *ptr;
	int (*fn)(int);
	struct inner pixel;
	struct inner row[2];
	union {
		__u32 word;
		__u16 half[2];
	};
	struct {
		__u32 one : 1;
		__u32 three : 3;
		__s32 neg : 4;
		__u64 far : 40;
	} bits;
	int grid[2][3];
	const volatile __u16 port;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, struct sample);
} samples SEC(".maps");

struct key {
	__u16 port;
	char dev[6];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4);
	__type(key, struct key);
	__type(value, enum colour);
} ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct inner);
} percpu SEC(".maps");

struct sample first = {
	.u8 = 200, .s8 = -100, .u16 = 60000, .s16 = -30000, .u32 = 4000000000U, .s32 = -2000000000, .u64 = 1ULL << 63, .s64 = -5,
	.big = ((unsigned __int128)7 << 64) | 9, .yes = 1, .c = 'x', .name = "say \"hi\"", .bytes = {1, 2, 3}, .colour = GREEN, .wide = WIDE,
	.ptr = (void *)0xffff888000001000, .pixel = {1, 2, 3, -4}, .row = {{5, 6, 7, 8}, {9, 10, 11, -12}}, .word = 0x00020001,
	.bits = {1, 5, -2, 0xabcdef0123}, .grid = {{1, 2, 3}, {-4, -5, -6}}, .port = 443,
};
int counter = 17;

struct key web = {80, "eth0"};

SEC("?syscall")
int optional(void *ctx)
{
	return counter;
}

char LICENSE[] SEC("license") = "GPL";
