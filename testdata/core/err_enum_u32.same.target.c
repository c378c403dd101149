// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "target.h"
enum big { BIG = 0xffffff01U };
KEEP(big, enum big)
