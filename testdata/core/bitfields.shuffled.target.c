// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "target.h"
struct bits { __s16 small : 9; __u64 pad; __u64 wide : 40; __s64 top : 24; __s32 neg : 5; __u32 three : 7; __u32 one : 2; __u32 whole : 18; };
KEEP(bits, struct bits)
