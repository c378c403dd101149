/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What the CO-RE probes share. A probe reads the local type `struct X` from `in`, which holds an image of the target's
 * type (byte i of it is i * 7 + 1), and leaves what it found in `out`.
 */
#ifndef CORE_H
#define CORE_H

#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define ACCESS __attribute__((preserve_access_index))
#define IN ((void *)in)

__u8 in[512];
__u64 out[32];

#define PROBE(name) SEC("raw_tp/sys_enter") int name(void *ctx)

/* Reads a field through the helper: the relocation patches an addition. */
#define PROBED(field)                                                                                                 \
	({                                                                                                            \
		typeof(field) v_;                                                                                     \
		bpf_core_read(&v_, sizeof(v_), &(field));                                                             \
		(__u64) v_;                                                                                           \
	})

char LICENSE[] SEC("license") = "GPL";

#endif
