// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Offsets beyond 16 bits: fine for an addition, an error for a load (see err_range).
#include "core.h"
struct big { int a; int b; } ACCESS;
PROBE(addition) { struct big *p = IN; out[0] = bpf_core_field_offset(p->b); return 0; }
