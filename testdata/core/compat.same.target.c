// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Everything differs and all of it is compatible.
#include "target.h"
enum color___other { RED___other = 5, BLUE___other };
union sub { long x; };
typedef const unsigned short other;
struct cmp { unsigned char i; enum color___other e; struct cmp *p; void (*fn)(void); union sub s; double f; long arr[7]; other m; enum named { NAMED } anon; };
KEEP(cmp, struct cmp)
