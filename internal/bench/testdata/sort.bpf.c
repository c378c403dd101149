/* Heap sort of 1024 numbers. */
#include "bench.h"

#define N 1024

NOINLINE void sift(u32 *v, u32 root, u32 n)
{
	for (;;) {
		u32 child = root * 2 + 1;

		if (child >= n)
			return;
		if (child + 1 < n && v[child] < v[child + 1])
			child++;
		if (v[root] >= v[child])
			return;
		u32 t = v[root];
		v[root] = v[child];
		v[child] = t;
		root = child;
	}
}

PROGRAM(sort)
{
	const u32 *in = (const u32 *)mem;
	u32 *v = (u32 *)(mem + HALF);
	u64 sum = 0;

	for (u32 i = 0; i < N; i++)
		v[i] = in[i];
	for (u32 i = N / 2; i-- > 0;)
		sift(v, i, N);
	for (u32 n = N - 1; n > 0; n--) {
		u32 t = v[0];

		v[0] = v[n];
		v[n] = t;
		sift(v, 0, n);
	}
	for (u32 i = 0; i < N; i++)
		sum = sum * 31 + v[i];
	return sum;
}
