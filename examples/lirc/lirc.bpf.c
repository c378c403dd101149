// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// lirc: decodes a toy protocol of a remote control: a long pulse is a key, a space ends it.
#include "kernel.h"
#include <bpf/bpf_helpers.h>

#define KIND(x) ((x)&0xff000000)
#define MICROSECONDS(x) ((x)&0x00ffffff)
#define SPACE 0x00000000
#define PULSE 0x01000000

__u32 pulses;

SEC("lirc_mode2")
int decode(unsigned int *sample)
{
	if (KIND(*sample) == SPACE) {
		if (pulses)
			bpf_rc_keydown(sample, 64, pulses, 0);
		pulses = 0;
	} else if (KIND(*sample) == PULSE && MICROSECONDS(*sample) > 500) {
		pulses++;
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
