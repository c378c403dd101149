// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Packed: fields cross the boundaries of their types, so the load is widened.
#include "target.h"
struct bits { __u32 pad : 27; __u32 one : 6; __u32 three : 30; __s32 neg : 4; __u32 whole; __s16 small; __u64 wide : 33; __s64 top : 7; } __attribute__((packed));
KEEP(bits, struct bits)
