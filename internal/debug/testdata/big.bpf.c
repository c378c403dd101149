// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// big: a program of more than 60,000 instructions, all executed, in a straight line with a callee now and then.
typedef unsigned int __u32;
typedef unsigned long long __u64;

#define SEC(name) __attribute__((section(name), used))

struct sums {
	__u64 of[8];
	__u32 calls;
} sums;

static __attribute__((noinline)) __u64 mix(__u64 x)
{
	sums.calls++;
	return x ^ x >> 7;
}

#define ONE x = x * 31 + sums.of[x & 7]; sums.of[x & 7] = x; y += x >> 3;
#define TEN ONE ONE ONE ONE ONE ONE ONE ONE ONE ONE
#define SIXTY TEN TEN TEN TEN TEN x += mix(y); TEN
#define MANY SIXTY SIXTY SIXTY SIXTY SIXTY SIXTY SIXTY SIXTY SIXTY SIXTY
#define LOTS MANY MANY MANY MANY MANY MANY MANY MANY MANY MANY

SEC("syscall")
int big(void *ctx)
{
	__u64 x = 1, y = 0;

	LOTS
	LOTS
	LOTS
	LOTS
	LOTS
	LOTS
	LOTS
	return y;
}

char LICENSE[] SEC("license") = "GPL";
