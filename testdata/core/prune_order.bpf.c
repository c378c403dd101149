// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Two target flavors: x is only in one, y only in the other. The first relocation that matches prunes the candidates of the type for
// the whole object: y is then missing everywhere (S3.5).
#include "core.h"
struct pr { int x; int y; } ACCESS;
PROBE(first) { out[0] = ((struct pr *)IN)->x; return 0; }
PROBE(second) { out[0] = bpf_core_field_exists(struct pr, y); return 0; }
PROBE(third) { out[0] = ((struct pr *)IN)->y; return 0; }
