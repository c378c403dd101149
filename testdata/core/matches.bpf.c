// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// TYPE_MATCHES (S4.2; clang 15 and later): the strict relation between types.
#include "core.h"

struct st { int a; long b; };
struct nested { struct st s; int n; };
struct behind { struct st *p; int n; };
enum en { EN_A, EN_B };
typedef int td_int;
typedef int td_arr[7];
typedef int (*td_fn)(int, struct st *);
typedef struct { int q; } td_anon;
union un { int a; char c; };

PROBE(matches)
{
	out[0] = bpf_core_type_matches(struct st);
	out[1] = bpf_core_type_matches(struct nested);
	out[2] = bpf_core_type_matches(struct behind);
	out[3] = bpf_core_type_matches(enum en);
	out[4] = bpf_core_type_matches(td_int);
	out[5] = bpf_core_type_matches(td_arr);
	out[6] = bpf_core_type_matches(td_fn);
	out[7] = bpf_core_type_matches(td_anon);
	out[8] = bpf_core_type_matches(union un);
	return 0;
}
