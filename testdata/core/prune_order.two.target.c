// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "target.h"
struct pr___a { int pad; int x; };
struct pr___b { int pad[3]; int y; };
KEEP(a, struct pr___a) KEEP(b, struct pr___b)
