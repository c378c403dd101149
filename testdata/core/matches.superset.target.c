// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// More members, other values, flavored names: everything matches.
#include "target.h"
struct st___v2 { long b; int more; int a; };
struct nested { int n; struct st___v2 s; char more[3]; };
struct behind { int n; struct st *p; };
enum en { EN_Z, EN_B, EN_A };
typedef int td_int;
typedef int td_arr[7];
typedef int (*td_fn)(int, struct st *);
typedef struct { char pad; int q; } td_anon;
union un { int a; char c; long more; };
KEEP(st, struct st___v2) KEEP(ne, struct nested) KEEP(be, struct behind) KEEP(en, enum en) KEEP(i, td_int) KEEP(r, td_arr) KEEP(f, td_fn) KEEP(a, td_anon) KEEP(u, union un)
