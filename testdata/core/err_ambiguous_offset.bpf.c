// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Two candidates disagree (offset): a hard error (S5.6).
#include "core.h"
struct am { int a; int b; } ACCESS;
PROBE(disagree) { out[0] = ((struct am *)IN)->b; return 0; }
