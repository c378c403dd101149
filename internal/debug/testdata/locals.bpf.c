// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// locals: variables on the stack, in registers, in nested blocks, of an inlined function; bitfields, arrays, pointers. What they
// hold at the line with the mark is also stored into `seen`, so that a debugger can be checked against the program.
typedef unsigned char __u8;
typedef unsigned int __u32;
typedef unsigned long long __u64;

#define SEC(name) __attribute__((section(name), used))
static long (*bpf_probe_read_kernel)(void *dst, __u32 size, const void *src) = (void *)113;
static __u64 (*bpf_ktime_get_ns)(void) = (void *)5;

struct shape {
	__u32 kind : 3;
	__u32 sides : 5;
	int dx;
	char name[8];
	struct {
		__u64 area;
	};
};

struct seen {
	__u64 sum, product;
	int delta;
	__u32 kind, sides;
	__u64 area, first, last, chosen;
} seen;

const volatile int input = 6;

static __attribute__((always_inline)) __u64 square(__u64 side)
{
	__u64 area = side * side;

	seen.product = area; // inlined
	return area + 1;
}

static __attribute__((noinline)) int fill(__u64 *list, int n)
{
	int delta = n - 9;

	for (int i = 0; i < 4; i++)
		list[i] = bpf_ktime_get_ns() * 0 + n * 10 + i;
	seen.delta = delta; // callee
	return delta;
}

SEC("syscall")
int locals(void *ctx)
{
	struct shape shape = {.kind = 5, .sides = 17, .dx = -3, .name = "poly", .area = 99};
	__u64 list[4] = {};
	int n = input;
	__u64 sum = 0;
	const __u64 *last = &list[3];

	fill(list, n);
	shape.dx -= n;
	bpf_probe_read_kernel(shape.name, 2, &seen);
	for (int i = 0; i < 4; i++)
		sum += list[i];
	{
		__u64 chosen = list[n & 3];

		sum += square(chosen);
		seen.chosen = chosen; // nested
	}
	seen.sum = sum; // end
	seen.kind = shape.kind;
	seen.sides = shape.sides;
	seen.area = shape.area;
	seen.first = list[0];
	seen.last = *last;
	bpf_probe_read_kernel(list, sizeof(shape), &shape);
	return sum & 0xff;
}

char LICENSE[] SEC("license") = "GPL";
