// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// A load whose new offset does not fit in 16 bits: a hard error (S6.3).
#include "core.h"
struct big { int a; int b; } ACCESS;
PROBE(load) { out[0] = ((struct big *)IN)->b; return 0; }
