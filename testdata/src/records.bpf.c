// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Records whose structs nothing but a local variable uses: they are in DWARF, not in BTF.
#include "types.h"
#include <bpf/bpf_helpers.h>

struct place {
	__u32 cpu;
	__u32 pad;
};

struct opened {
	__u64 ids;
	struct place place;
	char comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} out SEC(".maps");

SEC("tracepoint/syscalls/sys_enter_openat")
int on_openat(void *ctx)
{
	struct opened *o = bpf_ringbuf_reserve(&out, sizeof(*o), 0);

	if (!o)
		return 0;
	o->ids = bpf_get_current_pid_tgid();
	o->place.cpu = bpf_get_smp_processor_id();
	o->place.pad = 0;
	bpf_get_current_comm(o->comm, sizeof(o->comm));
	bpf_ringbuf_submit(o, 0);
	return 0;
}

char _license[] SEC("license") = "GPL";
