// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// The names are there, of other kinds.
#include "target.h"
union st { int a; };
struct un { int a; };
typedef int en;
typedef long *td_int;
typedef int td_st;
typedef union { int q; } td_anon;
typedef int td_ptr;
typedef int (*td_fn)(int);
typedef struct un td_arr[9];
KEEP(st, union st) KEEP(un, struct un) KEEP(en, en) KEEP(i, td_int) KEEP(s, td_st) KEEP(a, td_anon) KEEP(p, td_ptr) KEEP(f, td_fn) KEEP(r, td_arr)
