// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Too small, too shallow, no array, another element type, a zero-sized array that is not the last member.
#include "target.h"
struct el { int *c; int *d; };
struct arr { int a[2]; char b[2][3]; struct el c; struct el f[0][2]; int last; };
KEEP(arr, struct arr)
