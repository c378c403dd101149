// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "target.h"
enum en { EN_NEG = -100, EN_TWO = 7, EN_ONE = 70000 };
typedef enum { TD_Z, TD_A = 500 } td_en;
KEEP(en, enum en) KEEP(td, td_en)
