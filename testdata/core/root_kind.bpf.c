// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// A candidate has the same kind as the local root (S3.2): a union is no candidate for a struct, a typedef none for a struct.
#include "core.h"
struct rk_struct { int a; } ACCESS;
union rk_union { int a; long b; } ACCESS;
typedef struct { int a; } ACCESS rk_typedef;
PROBE(rk)
{
	out[0] = bpf_core_field_exists(struct rk_struct, a);
	out[1] = bpf_core_field_exists(union rk_union, a);
	out[2] = bpf_core_field_exists(rk_typedef, a);
	return 0;
}
