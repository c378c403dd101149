// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// The flexible array has a size, another array has become flexible at the end of an anonymous struct.
#include "target.h"
struct el { int d; int c; };
struct arr { char b[2][3][4]; struct el c[3]; struct el f[2][2]; struct { int n; int a[]; }; };
KEEP(arr, struct arr)
