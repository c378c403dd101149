// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "target.h"
enum en { EN };
struct sz { __u16 arr[4]; void *ptr; float fl; enum en en; __s32 s32; char ch; bool flag; __u64 u64; __u32 u32; __u16 u16; __u8 u8; };
KEEP(sz, struct sz)
