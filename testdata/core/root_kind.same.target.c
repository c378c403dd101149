// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "target.h"
struct rk_struct { int a; };
union rk_union { int a; };
typedef struct { int a; } rk_typedef;
KEEP(a, struct rk_struct) KEEP(b, union rk_union) KEEP(c, rk_typedef)
