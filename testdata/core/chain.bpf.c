// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Pointers: each arrow of BPF_CORE_READ is a record of its own; a subprogram and a second section share a type's candidates.
#include "core.h"

struct node { struct node *next; int value; } ACCESS;
struct holder { int pad; struct node *head; } ACCESS;

static __attribute__((noinline)) int value_of(struct node *n)
{
	return BPF_CORE_READ(n, value);
}

PROBE(records)
{
	struct holder *h = IN;

	out[0] = BPF_CORE_READ(h, head, next, value);
	return 0;
}

PROBE(sub) { return value_of(IN); }

SEC("raw_tp/sys_exit")
int elsewhere(void *ctx)
{
	out[1] = value_of(IN);
	return 0;
}
