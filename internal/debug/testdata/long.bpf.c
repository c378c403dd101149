// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// long: a loop of about a million instructions.
#define SEC(name) __attribute__((section(name), used))

unsigned long long total;

SEC("syscall")
int loop(void *ctx)
{
	unsigned long long x = 1;

	for (unsigned i = 0; i < 150000; i++) {
		x = x * 6364136223846793005ull + i;
		x ^= x >> 29;
		total += x & 15;
	}
	return x & 1; // end
}

char LICENSE[] SEC("license") = "GPL";
