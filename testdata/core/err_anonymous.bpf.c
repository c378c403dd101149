// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// The root of a record is an anonymous struct: there is nothing to look for, a hard error (S3.3).
#include "core.h"
PROBE(anonymous)
{
	struct { int a; int b; } ACCESS *p = IN;

	out[0] = bpf_core_field_exists(p->b);
	return 0;
}
