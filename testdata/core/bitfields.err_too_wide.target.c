// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// A 64-bit bitfield that starts in the middle of a byte fits in no load.
#include "target.h"
struct bits { __u32 pad : 3; __u64 wide : 64; __u32 one : 1; __u32 three : 3; __s32 neg : 4; __s64 top : 7; __u32 whole; __s16 small; } __attribute__((packed));
KEEP(bits, struct bits)
