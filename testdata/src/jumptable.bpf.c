// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// jumptable: a switch that becomes `gotox` through a .jumptables section (clang >= 22, CPU v4, asked for explicitly).
#include "types.h"
#include <bpf/bpf_helpers.h>

struct io {
	__u64 in;
	__u64 out;
};

__u64 calls[8];

SEC("syscall")
int dispatch(struct io *io)
{
	__u64 r = io->in * 3;

	switch (io->in) {
	case 0:
		r += bpf_get_prandom_u32();
		calls[0]++;
		break;
	case 1:
		r ^= 0x55;
		calls[1] += r;
		break;
	case 2:
		r *= r;
		calls[2] = io->in;
		break;
	case 3:
		r = bpf_ktime_get_ns();
		calls[3] ^= r;
		break;
	case 4:
		r -= 1000;
		calls[4] |= r;
		break;
	case 5:
		r <<= 5;
		calls[5]--;
		break;
	case 7:
		r = ~r;
		calls[7] += 2;
		break;
	default:
		r = 0;
	}
	io->out = r;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
