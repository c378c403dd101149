// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Built for a machine with 4-byte pointers.
#include "target.h"
enum en { EN };
struct sz { unsigned long u64; void *ptr; __u8 u8; __u16 u16; unsigned long u32; bool flag; char ch; __s32 s32; enum en en; float fl; __u16 arr[4]; };
KEEP(sz, struct sz)
