// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "target.h"
union rk_struct { int a; };
struct rk_union { int a; };
struct rk_typedef { int a; };
KEEP(a, union rk_struct) KEEP(b, struct rk_union) KEEP(c, struct rk_typedef)
