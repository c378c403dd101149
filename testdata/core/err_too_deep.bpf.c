// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// The target hides a field under more anonymous levels than a path may have (64): a hard error.
#include "core.h"
struct dp { int a; } ACCESS;
PROBE(deep) { out[0] = ((struct dp *)IN)->a; return 0; }
