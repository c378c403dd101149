// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Arrays: constant indices, several dimensions, arrays of structs, a flexible array at the end, a pointer used as an array.
#include "core.h"

struct el { int c; int d; };
struct arr {
	int a[5];
	char b[2][3][4];
	struct el c[3];
	struct el f[][2];
} ACCESS;

PROBE(fixed) { out[0] = ((struct arr *)IN)->a[2]; return 0; }
PROBE(dims) { out[0] = ((struct arr *)IN)->b[1][2][3]; return 0; }
PROBE(structs) { out[0] = ((struct arr *)IN)->c[1].d; return 0; }
PROBE(flexible) { out[0] = ((struct arr *)IN)->f[1][1].c; return 0; }
PROBE(pointer) { struct arr *p = IN; out[0] = PROBED(p[2].a[1]); return 0; }
