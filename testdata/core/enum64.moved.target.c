// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "target.h"
enum un64 { UN_SMALL = 0x8000000000000001ULL, UN_BIG = 4 };
enum si64 { SI_POS = 6, SI_NEG = -0x7000000000LL };
enum en32 { EN_A = 0x123456789aULL };
KEEP(un, enum un64) KEEP(si, enum si64) KEEP(en, enum en32)
