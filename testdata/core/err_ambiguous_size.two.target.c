// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "target.h"
struct am___v1 { int pad; int a; int b; };
struct am___v2 { int pad; int a; int c; int b; };
KEEP(a, struct am___v1) KEEP(b, struct am___v2)
