// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// arena: memory shared with user space: address space casts, a page allocated by a kfunc, a linked list of arena pointers,
// variables in the arena's own section (clang >= 19).
#include "types.h"
#include <bpf/bpf_helpers.h>

#define __arena __attribute__((address_space(1)))

struct {
	__uint(type, BPF_MAP_TYPE_ARENA);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 16);
	__ulong(map_extra, 0x1ull << 44);
} arena SEC(".maps");

extern void __arena *bpf_arena_alloc_pages(void *map, void __arena *addr, __u32 page_cnt, int node_id, __u64 flags) __ksym __weak;
extern void bpf_arena_free_pages(void *map, void __arena *ptr, __u32 page_cnt) __ksym __weak;

struct node {
	struct node __arena *next;
	__u64 value;
};

struct node __arena *head;
__u64 __arena in_arena = 5;

SEC("syscall")
int push(__u64 *ctx)
{
	struct node __arena *page, *n;

	page = bpf_arena_alloc_pages(&arena, NULL, 1, -1, 0);
	if (!page)
		return 1;
	for (int i = 0; i < 4; i++) {
		n = (struct node __arena *)&page[i];
		((struct node __arena *)n)->value = ctx[0] + i;
		((struct node __arena *)n)->next = head;
		head = (struct node __arena *)n;
	}
	in_arena++;
	ctx[1] = in_arena;
	return 0;
}

SEC("syscall")
int sum(__u64 *ctx)
{
	struct node __arena *n = head;
	__u64 total = 0;

	// A program belongs to the arena it mentions.
	asm volatile("" ::"r"(&arena));

	for (int i = 0; i < 100 && n; i++) {
		total += n->value;
		n = n->next;
	}
	ctx[0] = total;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
