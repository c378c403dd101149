// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// The bitfields have become plain integers, and the integers bitfields.
#include "target.h"
struct bits { __u8 one; __u16 three; __s32 neg; __u64 wide; __s8 top; __u64 whole : 20; __s32 small : 12; };
KEEP(bits, struct bits)
