// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "target.h"
struct fl { long pad; int b; int a; };
struct fl___one___kept { int pad; int b; int a; };
struct ___lead { long pad[2]; int a; int b; };
struct tail___ { long pad[3]; int a; int b; };
KEEP(fl, struct fl) KEEP(fl1, struct fl___one___kept) KEEP(lead, struct ___lead) KEEP(tail, struct tail___)
