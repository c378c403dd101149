// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Fields gone, or no longer where a path goes: y is missing, u is behind a name, named is a pointer, s2 an array.
#include "target.h"
struct inner { int x; };
struct nest { struct inner a; union { int u; } behind; int s2[2]; struct { int deep; } *named; };
KEEP(nest, struct nest)
