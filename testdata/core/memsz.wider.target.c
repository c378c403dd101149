// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "target.h"
enum en { EN = 0x100000000ULL };
struct sz { int pad; __u16 u8; __u32 u16; __u64 u32; __u8 u64; __u32 flag; __u16 ch; __s64 s32; enum en en; double fl; void *ptr; __u32 arr[4]; };
KEEP(sz, struct sz)
