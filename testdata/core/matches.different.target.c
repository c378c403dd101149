// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Nothing matches but behind: what a pointer points to is compared by kind and name only.
#include "target.h"
struct st { long a; long b; };
struct nested { struct st s; int n; };
struct behind { struct st *p; int n; };
enum en { EN_A, EN_C };
typedef unsigned td_int;
typedef int td_arr[8];
typedef int (*td_fn)(int, int);
typedef struct { long q; } td_anon;
union un { int a; };
KEEP(st, struct st) KEEP(ne, struct nested) KEEP(be, struct behind) KEEP(en, enum en) KEEP(i, td_int) KEEP(r, td_arr) KEEP(f, td_fn) KEEP(a, td_anon) KEEP(u, union un)
