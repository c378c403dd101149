// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "target.h"
struct sub { long a, b; int y, x; };
union un { char c[20]; long l; };
enum en { EN = 0x100000000ULL };
struct sz { struct sub s; long i; union un u; short arr[40]; void *p; enum en e; double f; };
KEEP(sz, struct sz) KEEP(un, union un)
