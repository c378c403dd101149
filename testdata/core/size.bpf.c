// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Sizes of fields of every kind and of types.
#include "core.h"

struct sub { int x, y; };
union un { char c; long l; };
enum en { EN };
struct sz {
	int i; struct sub s; union un u; int arr[4]; void *p; enum en e; float f;
} ACCESS;

PROBE(fields)
{
	struct sz *s = IN;

	out[0] = bpf_core_field_size(s->i);
	out[1] = bpf_core_field_size(s->s);
	out[2] = bpf_core_field_size(s->u);
	out[3] = bpf_core_field_size(s->arr);
	out[4] = bpf_core_field_size(s->arr[1]);
	out[5] = bpf_core_field_size(s->p);
	out[6] = bpf_core_field_size(s->e);
	out[7] = bpf_core_field_size(s->f);
	out[8] = bpf_core_field_offset(s->e);
	out[9] = bpf_core_field_offset(s->s.y);
	return 0;
}

PROBE(types)
{
	out[0] = bpf_core_type_size(struct sz);
	out[1] = bpf_core_type_size(union un);
	return 0;
}
