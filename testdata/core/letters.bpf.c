// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// A small worked example of relocation records: every access is one record with the indices one expects.
#include "core.h"

struct delta { int d0; int d1[6]; };
struct charlie { int c0; struct delta c1[3]; };
struct bravo { char b0; union { long b1; struct charlie b2; }; };
struct alpha { int a0; struct bravo a1; struct bravo *a2; } ACCESS;
struct bravo_pointed { char b0; } ACCESS;

PROBE(letters)
{
	struct alpha *a = IN;

	out[0] = PROBED(a->a0);				/* 0:0 */
	out[1] = PROBED(a[1].a0);			/* 1:0 */
	out[2] = PROBED(a->a1.b0);			/* 0:1:0 */
	out[3] = PROBED(a->a1.b1);			/* 0:1:1:0 */
	out[4] = PROBED(a->a1.b2.c1[2].d1[5]);		/* 0:1:1:1:1:2:1:5 */
	return 0;
}
