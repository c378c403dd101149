// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "target.h"
struct inner { long pad; int y; int x; };
struct nest { struct { int p0; union { struct { int s2; int s1; }; int u; }; }; struct { struct { int deep; } named; }; struct inner a; };
KEEP(nest, struct nest)
