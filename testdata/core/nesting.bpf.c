// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Nesting: anonymous structs and unions are looked through, struct and union may be exchanged, a path may gain anonymous levels.
#include "core.h"

struct inner { int x; int y; };
struct nest {
	struct inner a;
	union { int u; struct { int s1; int s2; }; };
	struct { union { int deep; }; } named;
} ACCESS;

PROBE(nest)
{
	struct nest *n = IN;

	out[0] = n->a.y;
	out[1] = n->u;
	out[2] = n->s2;
	out[3] = n->named.deep;
	return 0;
}
