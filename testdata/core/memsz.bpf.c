// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// The size of a direct load follows the target's size: unsigned integers and pointers only. Probes whose names begin with
// s are of signed, enum and float types: their loads are poisoned when the size differs.
#include "core.h"

enum en { EN };
struct sz {
	__u8 u8; __u16 u16; __u32 u32; __u64 u64;
	bool flag; char ch;
	__s32 s32; enum en en; float fl;
	void *ptr;
	__u16 arr[4];
} ACCESS;

PROBE(u8) { out[0] = ((struct sz *)IN)->u8; return 0; }
PROBE(u16) { out[0] = ((struct sz *)IN)->u16; return 0; }
PROBE(u32) { out[0] = ((struct sz *)IN)->u32; return 0; }
PROBE(u64) { out[0] = ((struct sz *)IN)->u64; return 0; }
PROBE(flag) { out[0] = ((struct sz *)IN)->flag; return 0; }
PROBE(ch) { out[0] = *(unsigned char *)&((struct sz *)IN)->ch; return 0; }
PROBE(ptr) { out[0] = (__u64)((struct sz *)IN)->ptr; return 0; }
PROBE(element) { out[0] = ((struct sz *)IN)->arr[2]; return 0; }
PROBE(store) { ((struct sz *)IN)->u32 = 0x11223344; out[0] = *(__u64 *)in; out[1] = ((__u64 *)in)[1]; out[2] = ((__u64 *)in)[2]; return 0; }
PROBE(s_s32) { out[0] = ((struct sz *)IN)->s32; return 0; }
PROBE(s_enum) { out[0] = ((struct sz *)IN)->en; return 0; }
PROBE(s_float) { out[0] = *(__u32 *)&((struct sz *)IN)->fl; return 0; }
PROBE(by_helper) { struct sz *s = IN; __u64 v = 0; bpf_core_read(&v, bpf_core_field_size(s->u16), &s->u16); out[0] = v; return 0; }
