package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// The memory that a pair of programs shares: words, and results of each program.
const (
	words   = 3
	results = 6
	// cells are independent copies of that memory: one call of the kernel runs a program on each.
	cells = 4096
	// cellSize is the size of one in bytes; those of two programs' turns are as far apart.
	cellSize = 128
	// spins is how often a program looks whether the other one has got as far.
	spins = 1000
	// delays is how many steps a program waits at most after that: one sees late that the other is
	// there, and programs are short. The number differs from cell to cell.
	delays = 1023
	// pauses is how many steps there are at most between two accesses.
	pauses = 64
)

// Programs are of tc: for each call with one of XDP the kernel changes its dispatcher and waits, so
// that one program would have ended before the other begins (bpf_prog_change_xdp).

// header is the source before the programs. The kernel runs those that begin with host_, which take
// a cell after the other; race those that do not, on the first one.
const header = `#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct cell { __u64 x[4], r[2][6]; };
struct turn { __u64 n, pad[15]; };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, %d);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct cell);
} cells SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct turn);
} turns SEC(".maps");

char LICENSE[] SEC("license") = "GPL";
`

// pair is two programs that run at the same time.
type pair struct {
	seed   uint64
	bodies [2]string
}

// names of the programs of a pair, for race and for the kernel.
func (p *pair) name(side int) string { return fmt.Sprintf("p%d_%c", p.seed, 'a'+side) }
func (p *pair) host(side int) string { return "host_" + p.name(side) }

// generate makes the pair of a seed: each program has two to four operations.
func generate(seed uint64) *pair {
	r := rand.New(rand.NewPCG(seed, 34)) //nolint:gosec // test programs
	p := &pair{seed: seed}
	for side := range p.bodies {
		var b strings.Builder
		left := results
		for range 2 + r.IntN(3) {
			operation(&b, r, side, &left)
		}
		p.bodies[side] = b.String()
	}
	return p
}

// operation writes one statement. Values are small and differ, so that outcomes tell them apart.
func operation(b *strings.Builder, r *rand.Rand, side int, left *int) {
	x, y, v := r.IntN(words), r.IntN(words), 1+r.IntN(3)+4*side
	result := func() string {
		*left--
		return fmt.Sprintf("c->r[%d][%d]", side, *left)
	}
	line := func(format string, args ...any) { fmt.Fprintf(b, "\t"+format+" PAUSE;\n", args...) }
	switch r.IntN(9) {
	case 0, 1:
		line("c->x[%d] = %d;", x, v)
	case 2, 3:
		line("%s = c->x[%d];", result(), x)
	case 4:
		line("{ __u64 v = c->x[%d]; PAUSE; c->x[%d] = v + %d; }", x, y, v)
	case 5:
		line("__sync_fetch_and_add(&c->x[%d], %d);", x, v)
	case 6:
		line("%s = __sync_fetch_and_add(&c->x[%d], %d);", result(), x, v)
	case 7:
		line("%s = __sync_val_compare_and_swap(&c->x[%d], %d, %d);", result(), x, r.IntN(2)*v, v+8)
	case 8:
		line("if (c->x[%d] == 0) { PAUSE; c->x[%d] = %d; }", x, y, v)
	}
}

// source is the C source of some pairs.
func source(pairs []*pair) string {
	var b strings.Builder
	fmt.Fprintf(&b, header, cells)
	for _, p := range pairs {
		for side, body := range p.bodies {
			fmt.Fprintf(&b, `
#define PAUSE
static __always_inline void body_%[1]s(volatile struct cell *c)
{
%[2]s}
#undef PAUSE
#define PAUSE for (__u32 i = 0; i < %[9]d && i < delay; i++) asm volatile("" ::: "memory")
static __always_inline void host_body_%[1]s(volatile struct cell *c, __u32 delay)
{
%[2]s}
#undef PAUSE
SEC("tc") int %[1]s(struct __sk_buff *ctx)
{
	__u32 key = 0;
	struct cell *c = bpf_map_lookup_elem(&cells, &key);

	if (c)
		body_%[1]s(c);
	return 0;
}
SEC("tc") int host_%[1]s(struct __sk_buff *ctx)
{
	__u32 own = %[3]d, other = %[4]d, key;
	volatile struct turn *me = bpf_map_lookup_elem(&turns, &own), *it = bpf_map_lookup_elem(&turns, &other);
	struct cell *c;
	__u32 delay;
	__u64 n;

	if (!me || !it)
		return 0;
	n = me->n;
	key = n %% %[5]d;
	c = bpf_map_lookup_elem(&cells, &key);
	if (!c)
		return 0;
	me->n = n + 1;
	for (int i = 0; i < %[6]d && it->n <= n; i++)
		;
	delay = (n * %[7]d >> 7) & %[8]d;
	for (int i = 0; i < %[8]d && i < delay; i++)
		asm volatile("" ::: "memory");
	host_body_%[1]s(c, n * %[7]d >> 9 & (%[9]d - 1));
	return 0;
}
`, p.name(side), body, side, 1-side, cells, spins, []int{40503, 60493}[side], delays, pauses)
		}
	}
	return b.String()
}
