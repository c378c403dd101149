// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "target.h"
struct st { long pad; int a; };
union un { int a; char b[32]; };
enum en { EN = 3, EM };
typedef int td_int;
typedef struct st td_st;
typedef struct { long q; } td_anon;
typedef void *td_ptr;
typedef int (*td_fn)(int, struct st *);
typedef int td_arr[9];
KEEP(st, struct st) KEEP(un, union un) KEEP(en, enum en) KEEP(i, td_int) KEEP(s, td_st) KEEP(a, td_anon) KEEP(p, td_ptr) KEEP(f, td_fn) KEEP(r, td_arr)
