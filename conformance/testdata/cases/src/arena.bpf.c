// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// arena: pages allocated and freed, pointers of both address spaces, data in the arena, faults.
#include "case.h"

#define __arena __attribute__((address_space(1)))

struct {
	__uint(type, BPF_MAP_TYPE_ARENA);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 10);
} arena SEC(".maps");

extern void __arena *bpf_arena_alloc_pages(void *map, void __arena *addr, u32 n, int node, u64 flags) __ksym;
extern void bpf_arena_free_pages(void *map, void __arena *addr, u32 n) __ksym;
extern int bpf_arena_reserve_pages(void *map, void __arena *addr, u32 n) __ksym __weak;

#define PAGE 4096
#define NUMA_NO_NODE (-1)

SEC("syscall") int t_alloc(void *ctx)
{
	volatile u64 __arena *a, *b;
	volatile char __arena *base;

	a = bpf_arena_alloc_pages(&arena, NULL, 1, NUMA_NO_NODE, 0);
	CHECK("alloc", a != NULL);
	if (!a)
		return 1;
	CHECK("page is zero", a[0] | a[511]);
	a[0] = 42;
	a[511] = 43;
	CHECK("page keeps values", a[0] + a[511]);
	b = bpf_arena_alloc_pages(&arena, NULL, 2, NUMA_NO_NODE, 0);
	CHECK("alloc 2", b != NULL);
	if (!b)
		return 2;
	CHECK("distance", (u64)b - (u64)a);
	b[512] = 7;
	CHECK("second page", b[512]);
	CHECK("alloc 0 pages", bpf_arena_alloc_pages(&arena, NULL, 0, NUMA_NO_NODE, 0) == NULL);
	CHECK("alloc 11 pages", bpf_arena_alloc_pages(&arena, NULL, 11, NUMA_NO_NODE, 0) == NULL);
	CHECK("alloc flags", bpf_arena_alloc_pages(&arena, NULL, 1, NUMA_NO_NODE, 1) == NULL);
	CHECK("alloc node 0", bpf_arena_alloc_pages(&arena, NULL, 1, 0, 0) != NULL);
	CHECK("alloc node 99", bpf_arena_alloc_pages(&arena, NULL, 1, 99, 0) == NULL);
	bpf_arena_free_pages(&arena, (void __arena *)b, 2);
	CHECK("freed page reads 0", b[512]);
	b[512] = 9;
	CHECK("store to a freed page is lost", b[512]);
	a = bpf_arena_alloc_pages(&arena, (void __arena *)b, 1, NUMA_NO_NODE, 0);
	CHECK("alloc at the address", a == b);
	CHECK("alloc there again", bpf_arena_alloc_pages(&arena, (void __arena *)b, 1, NUMA_NO_NODE, 0) == NULL);
	return 0;
}

SEC("syscall") int t_fill(void *ctx)
{
	int n = 0;

	for (int i = 0; i < 12; i++) {
		char __arena *p = bpf_arena_alloc_pages(&arena, NULL, 1, NUMA_NO_NODE, 0);

		if (!p)
			break;
		p[i] = i;
		n++;
	}
	CHECK("pages of a whole arena", n);
	return 0;
}

struct node {
	struct node __arena *next;
	u64 v;
};

struct node __arena *head;

SEC("syscall") int t_list(void *ctx)
{
	struct node __arena *page = bpf_arena_alloc_pages(&arena, NULL, 1, NUMA_NO_NODE, 0), *n;
	u64 sum = 0, len = 0;

	if (!page)
		return 1;
	for (int i = 0; i < 20; i++) {
		n = &page[i];
		n->v = i * i;
		n->next = head;
		head = n;
	}
	for (n = head; n && len < 100; n = n->next) {
		sum = sum * 3 + n->v;
		len++;
	}
	CHECK("list length", len);
	CHECK("list sum", sum);
	return 0;
}

u64 __arena number = 5;
u32 __arena table[100];
char __arena text[] = "in the arena";

CASE({"name": "t_list", "env_dependent": ["global:head"]});

SEC("syscall") int t_data(void *ctx)
{
	bpf_arena_alloc_pages(&arena, NULL, 0, 0, 0);
	CHECK("arena variable", number);
	number += 6;
	CHECK("arena variable changed", number);
	for (int i = 0; i < 100; i++)
		table[i] = i;
	CHECK("arena table", table[50] + table[99]);
	CHECK("arena text", text[0] | text[11] << 8);
	return 0;
}

SEC("syscall") int t_unallocated(void *ctx)
{
	u64 __arena *p = bpf_arena_alloc_pages(&arena, NULL, 1, NUMA_NO_NODE, 0);

	if (!p)
		return 1;
	*p = 3;
	CHECK("load of a page nobody allocated", p[512 * 3]);
	p[512 * 3] = 5;
	CHECK("and after a store", p[512 * 3]);
	CHECK("load behind the arena", p[512 * 2000]);
	CHECK("small access", ((volatile u8 __arena *)p)[PAGE * 3 + 5]);
	CHECK("goes on", *p);
	return 0;
}

SEC("syscall") int t_free_errors(void *ctx)
{
	char __arena *p = bpf_arena_alloc_pages(&arena, NULL, 3, NUMA_NO_NODE, 0);

	if (!p)
		return 1;
	p[PAGE] = 4;
	bpf_arena_free_pages(&arena, p + 5, 1);
	bpf_arena_free_pages(&arena, p, 0);
	CHECK("page 1 is still there", p[PAGE]);
	bpf_arena_free_pages(&arena, p, 1);
	CHECK("page 1 is there after free of 0", p[PAGE]);
	bpf_arena_free_pages(&arena, p, 1);
	bpf_arena_free_pages(&arena, p + PAGE, 100);
	CHECK("page 1 after free of 100", p[PAGE]);
	CHECK("alloc all after free", bpf_arena_alloc_pages(&arena, NULL, 10, NUMA_NO_NODE, 0) != NULL);
	return 0;
}

SEC("syscall") int t_reserve(void *ctx)
{
	char __arena *p = bpf_arena_alloc_pages(&arena, NULL, 1, NUMA_NO_NODE, 0);

	if (!p || !bpf_arena_reserve_pages)
		return 1;
	CHECK("reserve next", bpf_arena_reserve_pages(&arena, p + PAGE, 2));
	CHECK("reserve again", bpf_arena_reserve_pages(&arena, p + PAGE, 1));
	CHECK("reserve allocated", bpf_arena_reserve_pages(&arena, p, 1));
	CHECK("reserve 0", bpf_arena_reserve_pages(&arena, p + 3 * PAGE, 0));
	CHECK("reserve too many", bpf_arena_reserve_pages(&arena, p, 50));
	CHECK("alloc reserved", bpf_arena_alloc_pages(&arena, p + PAGE, 1, NUMA_NO_NODE, 0) == NULL);
	CHECK("distance after reserve", (u64)bpf_arena_alloc_pages(&arena, NULL, 1, NUMA_NO_NODE, 0) - (u64)p);
	return 0;
}

/* Two runs share the arena. */
SEC("syscall") int arena_push(void *ctx)
{
	struct node __arena *n = bpf_arena_alloc_pages(&arena, NULL, 1, NUMA_NO_NODE, 0);

	if (!n)
		return -1;
	n->v = head ? head->v + 1 : 1;
	n->next = head;
	head = n;
	return n->v;
}
CASE({"name": "arena_two_runs", "runs": [{"prog": "arena_push"}, {"prog": "arena_push"}, {"prog": "arena_push"}], "env_dependent": ["global:head"]});
