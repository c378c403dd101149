// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Questions about whole types: existence, size, ids, for every kind of type; what is missing gives 0, never poison.
#include "core.h"

struct st { int a; };
union un { int a; };
enum en { EN };
typedef int td_int;
typedef struct st td_st;
typedef struct { int q; } td_anon;
typedef void *td_ptr;
typedef int (*td_fn)(int, struct st *);
typedef int td_arr[7];
struct gone { int a; };
typedef struct gone td_gone;

PROBE(exists)
{
	out[0] = bpf_core_type_exists(struct st);
	out[1] = bpf_core_type_exists(union un);
	out[2] = bpf_core_type_exists(enum en);
	out[3] = bpf_core_type_exists(td_int);
	out[4] = bpf_core_type_exists(td_st);
	out[5] = bpf_core_type_exists(td_anon);
	out[6] = bpf_core_type_exists(td_ptr);
	out[7] = bpf_core_type_exists(td_fn);
	out[8] = bpf_core_type_exists(td_arr);
	out[9] = bpf_core_type_exists(struct gone);
	out[10] = bpf_core_type_exists(td_gone);
	return 0;
}

PROBE(size)
{
	out[0] = bpf_core_type_size(struct st);
	out[1] = bpf_core_type_size(union un);
	out[2] = bpf_core_type_size(enum en);
	out[3] = bpf_core_type_size(td_int);
	out[4] = bpf_core_type_size(td_anon);
	out[5] = bpf_core_type_size(td_arr);
	out[6] = bpf_core_type_size(struct gone);
	return 0;
}

PROBE(ids)
{
	out[0] = bpf_core_type_id_kernel(struct st);
	out[1] = bpf_core_type_id_kernel(td_st);
	out[2] = bpf_core_type_id_kernel(struct gone);
	out[3] = bpf_core_type_id_local(struct st);
	out[4] = bpf_core_type_id_local(td_fn);
	return 0;
}
