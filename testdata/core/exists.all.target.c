// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "target.h"
struct ex { void *gone; struct { struct { int inside; }; }; int arr[4]; struct { long pad; int x; } s; int a; };
KEEP(ex, struct ex)
