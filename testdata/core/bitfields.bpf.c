// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Bitfields, read the two ways of bpf_core_read.h: by loads (direct) and through the helper (probed): five kinds of relocation each.
#include "core.h"

struct bits {
	__u32 one : 1;
	__u32 three : 3;
	__s32 neg : 4;
	__u64 wide : 33;
	__s64 top : 7;
	__u32 whole;
	__s16 small;
} ACCESS;

PROBE(direct)
{
	struct bits *b = IN;

	out[0] = BPF_CORE_READ_BITFIELD(b, one);
	out[1] = BPF_CORE_READ_BITFIELD(b, three);
	out[2] = BPF_CORE_READ_BITFIELD(b, neg);
	out[3] = BPF_CORE_READ_BITFIELD(b, wide);
	out[4] = BPF_CORE_READ_BITFIELD(b, top);
	out[5] = BPF_CORE_READ_BITFIELD(b, whole);
	out[6] = BPF_CORE_READ_BITFIELD(b, small);
	return 0;
}

PROBE(probed)
{
	struct bits *b = IN;

	out[0] = BPF_CORE_READ_BITFIELD_PROBED(b, one);
	out[1] = BPF_CORE_READ_BITFIELD_PROBED(b, three);
	out[2] = BPF_CORE_READ_BITFIELD_PROBED(b, neg);
	out[3] = BPF_CORE_READ_BITFIELD_PROBED(b, wide);
	out[4] = BPF_CORE_READ_BITFIELD_PROBED(b, top);
	out[5] = BPF_CORE_READ_BITFIELD_PROBED(b, whole);
	out[6] = BPF_CORE_READ_BITFIELD_PROBED(b, small);
	return 0;
}

// A plain load of a field that is a bitfield elsewhere.
PROBE(plain) { out[0] = ((struct bits *)IN)->whole; return 0; }
