/* Product of two 24x24 matrices of 64-bit integers. */
#include "bench.h"

#define N 24

PROGRAM(matmul)
{
	const u64 *a = (const u64 *)mem, *b = a + N * N;
	u64 *c = (u64 *)(mem + HALF), trace = 0;

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < N; i++)
#pragma clang loop unroll(disable)
		for (u32 j = 0; j < N; j++) {
			u64 sum = 0;

#pragma clang loop unroll(disable)
			for (u32 k = 0; k < N; k++)
				sum += a[i * N + k] * b[k * N + j];
			c[i * N + j] = sum;
		}
	for (u32 i = 0; i < N; i++)
		trace += c[i * N + i];
	return trace;
}
