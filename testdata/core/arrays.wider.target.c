// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "target.h"
struct el { long pad; int d; int c; };
struct arr { int first; char b[3][4][5]; int a[9]; struct el c[2]; struct el f[][2]; };
KEEP(arr, struct arr)
