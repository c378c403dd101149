// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// const, volatile, restrict, typedefs and type tags are skipped, on both sides.
#include "core.h"

typedef int int_t;
typedef const int_t cint_t;
typedef struct { int x; int y; } s_t;
typedef int arr_t[4];
struct mods {
	int a;
	volatile cint_t b;
	char *const p;
	s_t s;
	const arr_t arr;
} ACCESS;

PROBE(mods)
{
	struct mods *m = IN;

	out[0] = m->a;
	out[1] = m->b;
	out[2] = (__u64)m->p;
	out[3] = m->s.y;
	out[4] = m->arr[2];
	return 0;
}
