// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Two candidates disagree (size): a hard error (S5.6).
#include "core.h"
struct am { int a; int b; } ACCESS;
PROBE(disagree) { out[0] = bpf_core_type_size(struct am); return 0; }
