// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Two target flavors that agree on a, and on the existence and size of the type, so that everything here is decided.
#include "core.h"
struct am { int a; int b; } ACCESS;
PROBE(agree) { out[0] = ((struct am *)IN)->a; return 0; }
PROBE(type) { out[0] = bpf_core_type_exists(struct am); out[1] = bpf_core_type_size(struct am); return 0; }
