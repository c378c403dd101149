// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "target.h"
typedef volatile int vint_t;
typedef const vint_t cvint_t;
typedef char *ptr_t;
typedef struct { int y; int x; } ys_t;
typedef ys_t zs_t;
typedef vint_t varr_t[8];
struct mods { const varr_t arr; const volatile zs_t s; volatile ptr_t p; int b; cvint_t a; char __attribute__((btf_type_tag("user"))) *q; };
KEEP(mods, struct mods)
