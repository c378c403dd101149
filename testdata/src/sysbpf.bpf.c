// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// sysbpf: a loader as light skeletons have one. It creates a map, sets an element, and loads a program that reads it.
#include "types.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

// The attributes of the commands, as far as the loader needs them.
struct map_create {
	__u32 type, key_size, value_size, max_entries, flags, inner, node;
	char name[16];
	__u32 rest[10];
};
struct map_elem {
	__u32 fd, pad;
	__u64 key, value, flags;
};
struct prog_load {
	__u32 type, insn_cnt;
	__u64 insns, license;
	__u32 log_level, log_size;
	__u64 log_buf;
	__u32 version, flags;
	char name[16];
};

enum { MAP_CREATE = 0, MAP_UPDATE_ELEM = 2, PROG_LOAD = 5, MAP_LOOKUP_ELEM = 1 };

#define INSN(code, regs, off, imm) ((__u64)(__u32)(imm) << 32 | (__u64)(__u16)(off) << 16 | (regs) << 8 | (code))

struct map_create create = { .type = 2, .key_size = 4, .value_size = 8, .max_entries = 1, .name = "limits" };
struct map_elem elem;
struct prog_load load = { .type = 1, .insn_cnt = 10, .name = "reader" };
__u32 key;
__u64 value = 1500;
char gpl[] = "GPL";
__u64 insns[] = {
	INSN(0x7a, 0x0a, -4 - 4, 0),	// *(u64 *)(r10 - 8) = 0
	INSN(0xbf, 0xa2, 0, 0),		// r2 = r10
	INSN(0x07, 0x02, 0, -8),	// r2 += -8
	INSN(0x18, 0x11, 0, 0),		// r1 = map, whose descriptor the loader sets
	0,
	INSN(0x85, 0x00, 0, 1),		// call bpf_map_lookup_elem
	INSN(0x15, 0x00, 1, 0),		// if r0 == 0 goto +1
	INSN(0x61, 0x00, 0, 0),		// r0 = *(u32 *)r0
	INSN(0x57, 0x00, 0, 0xffff),	// r0 &= 0xffff
	INSN(0x95, 0x00, 0, 0),		// exit
};

SEC("syscall")
int load_reader(void *ctx)
{
	long map, prog;

	map = bpf_sys_bpf(MAP_CREATE, &create, sizeof(create));
	if (map < 0)
		return map;
	elem.fd = map;
	elem.key = (__u64)(long)&key;
	elem.value = (__u64)(long)&value;
	if (bpf_sys_bpf(MAP_UPDATE_ELEM, &elem, sizeof(elem)))
		return -1;
	insns[3] |= (__u64)map << 32;
	load.insns = (__u64)(long)insns;
	load.license = (__u64)(long)gpl;
	prog = bpf_sys_bpf(PROG_LOAD, &load, sizeof(load));
	if (prog < 0)
		return prog;
	bpf_sys_close(map);
	return prog;
}

SEC("syscall")
int refused(void *ctx)
{
	return bpf_sys_bpf(MAP_LOOKUP_ELEM, &elem, sizeof(elem));
}
