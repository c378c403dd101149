// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Compatibility of field types (S4.5): each probe asks whether a field of that kind exists and reads the ones that do.
#include "core.h"

enum color { RED, GREEN };
struct sub { int x; };
typedef int myint;
struct cmp {
	int i;
	enum color e;
	void *p;
	int (*fn)(int);
	struct sub s;
	float f;
	int arr[2];
	const volatile myint m;
	enum { ANON_A } anon;
} ACCESS;

PROBE(cmp)
{
	out[0] = bpf_core_field_exists(struct cmp, i);
	out[1] = bpf_core_field_exists(struct cmp, e);
	out[2] = bpf_core_field_exists(struct cmp, p);
	out[3] = bpf_core_field_exists(struct cmp, fn);
	out[4] = bpf_core_field_exists(struct cmp, s);
	out[5] = bpf_core_field_exists(struct cmp, f);
	out[6] = bpf_core_field_exists(struct cmp, arr);
	out[7] = bpf_core_field_exists(struct cmp, m);
	out[8] = bpf_core_field_exists(struct cmp, anon);
	return 0;
}
