// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "target.h"
struct big { int a; char pad[40000]; int b; };
KEEP(big, struct big)
