// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Structs have become unions and the other way round.
#include "target.h"
union inner { int x; int y; };
struct nest { int pad; union inner a; struct { int u; union { int s1; int s2; }; }; union { int deep; } named; };
KEEP(nest, struct nest)
