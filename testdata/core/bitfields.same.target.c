// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "target.h"
struct bits { __u32 one : 1; __u32 three : 3; __s32 neg : 4; __u64 wide : 33; __s64 top : 7; __u32 whole; __s16 small; };
KEEP(bits, struct bits)
