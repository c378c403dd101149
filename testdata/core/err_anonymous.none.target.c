// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "target.h"
struct other { int a; int b; };
KEEP(o, struct other)
