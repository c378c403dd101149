// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// An unsigned enumerator of 32 bits above 2^31: libbpf sign-extends it and refuses the load, which is a bug of libbpf.
#include "core.h"
enum big { BIG = 0xffffff00U };
PROBE(value) { out[0] = bpf_core_enum_value(enum big, BIG); return 0; }
