// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Enumerators: existence and value; compared by essential name.
#include "core.h"

enum en { EN_ONE = 1, EN_TWO = 2, EN_NEG = -3, EN_GONE = 4 };
enum en___v2 { EN_ONE___v2 = 11 };
typedef enum { TD_A = 5 } td_en;

PROBE(exists)
{
	out[0] = bpf_core_enum_value_exists(enum en, EN_ONE);
	out[1] = bpf_core_enum_value_exists(enum en, EN_GONE);
	out[2] = bpf_core_enum_value_exists(enum en___v2, EN_ONE___v2);
	out[3] = bpf_core_enum_value_exists(td_en, TD_A);
	return 0;
}

PROBE(value)
{
	out[0] = bpf_core_enum_value(enum en, EN_ONE);
	out[1] = bpf_core_enum_value(enum en, EN_NEG);
	out[2] = bpf_core_enum_value(enum en___v2, EN_ONE___v2);
	out[3] = bpf_core_enum_value(td_en, TD_A);
	return 0;
}

PROBE(gone) { out[0] = bpf_core_enum_value(enum en, EN_GONE); return 0; }
