// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "target.h"
struct delta { long pad; int d1[8]; int d0; };
struct charlie { struct delta c1[4]; int c0; };
struct bravo { union { struct charlie b2; long b1; }; char b0; };
struct alpha { struct bravo *a2; struct bravo a1; int a0; };
KEEP(a, struct alpha)
