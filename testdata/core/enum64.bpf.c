// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// 64-bit enumerations (clang 15 and later), and a 32-bit one where the target has 64 bits.
#include "core.h"

enum un64 { UN_BIG = 0x1ffffffffULL, UN_SMALL = 3, UN_GONE = 9 };
enum si64 { SI_NEG = -0x100000000LL, SI_POS = 5 };
enum en32 { EN_A = 1 };

PROBE(exists)
{
	out[0] = bpf_core_enum_value_exists(enum un64, UN_BIG);
	out[1] = bpf_core_enum_value_exists(enum un64, UN_GONE);
	out[2] = bpf_core_enum_value_exists(enum si64, SI_NEG);
	out[3] = bpf_core_enum_value_exists(enum en32, EN_A);
	return 0;
}

PROBE(value)
{
	out[0] = bpf_core_enum_value(enum un64, UN_BIG);
	out[1] = bpf_core_enum_value(enum un64, UN_SMALL);
	out[2] = bpf_core_enum_value(enum si64, SI_NEG);
	out[3] = bpf_core_enum_value(enum si64, SI_POS);
	out[4] = bpf_core_enum_value(enum en32, EN_A);
	return 0;
}
