// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// released: a program that stores to a record after it submitted it.
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
static void *(*bpf_ringbuf_reserve)(void *map, u64 size, u64 flags) = (void *)131;
static void (*bpf_ringbuf_submit)(void *record, u64 flags) = (void *)132;

struct event {
	u32 pid, uid;
	char comm[8];
	u32 list[4];
};

struct {
	int (*type)[27];
	int (*max_entries)[4096];
} events SEC(".maps");

SEC("syscall")
int released(void *ctx)
{
	struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (!e)
		return 0;
	e->pid = 42;
	e->comm[0] = 'x';
	e->list[1] = 5;
	bpf_ringbuf_submit(e, 0);
	*(volatile u32 *)&e->pid = 43;
	return 1;
}

char _license[] SEC("license") = "GPL";
