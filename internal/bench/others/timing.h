/* What the comparison programs share: reading a file, and timing in batches. */
#ifndef TIMING_H
#define TIMING_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static unsigned char *read_file(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	unsigned char *p;

	if (!f) {
		perror(path);
		exit(2);
	}
	fseek(f, 0, SEEK_END);
	*len = ftell(f);
	rewind(f);
	p = malloc(*len + 1);
	if (!p || fread(p, 1, *len, f) != *len) {
		perror(path);
		exit(2);
	}
	fclose(f);
	return p;
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Processor time of this thread: that of other work on the machine is not in it. */
static inline double thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static inline int measure(unsigned long long (*once)(void))
{
	unsigned long long ret = once();
	volatile unsigned long long sink = 0;
	double best = 1e18;
	long n = 1;

	for (;;) {
		double t = thread_ns();

		for (long i = 0; i < n; i++)
			sink += once();
		if (thread_ns() - t >= 3e6)
			break;
		n *= 2;
	}
	for (int batch = 0; batch < 40; batch++) {
		double t = thread_ns();

		for (long i = 0; i < n; i++)
			sink += once();
		t = (thread_ns() - t) / n;
		if (t < best)
			best = t;
	}
	printf("0x%llx %.1f\n", ret, best);
	return 0;
}

#endif
