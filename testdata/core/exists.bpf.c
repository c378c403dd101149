// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Existence of fields, and the guarded reads that depend on it.
#include "core.h"

struct sub { int x; };
struct ex {
	int a;
	struct sub s;
	int arr[3];
	struct { int inside; };
	void *gone;
} ACCESS;
struct no_such_struct { int a; } ACCESS;

PROBE(ex)
{
	struct ex *e = IN;

	out[0] = bpf_core_field_exists(e->a) ? 0x100 + e->a : 1;
	out[1] = bpf_core_field_exists(e->s.x) ? 0x100 + e->s.x : 1;
	out[2] = bpf_core_field_exists(e->arr[2]) ? 0x100 + e->arr[2] : 1;
	out[3] = bpf_core_field_exists(e->inside) ? 0x100 + e->inside : 1;
	out[4] = bpf_core_field_exists(e->gone) ? 0x100 + (__u64)e->gone : 1;
	out[5] = bpf_core_field_exists(struct no_such_struct, a);
	return 0;
}
