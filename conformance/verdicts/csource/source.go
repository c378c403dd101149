package csource

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Header is the file csource.h, which every source includes.
//
//go:embed csource.h
var Header string

// flavour is a kind of program: its section, its context, and what it may do.
type flavour struct {
	name, section, ctx string
	weight             int
	packet             bool   // the context has data and data_end
	skb, xdp           bool   // which functions for packets there are
	task               bool   // kernel functions for tasks are permitted
	sleepable          bool   // may not use the maps with locks and timers
	trusted            string // an expression of a trusted pointer to a task
	lo, hi             int    // range of the return value
}

var flavours = []flavour{
	{name: "tc", section: "tc", ctx: "struct __sk_buff", weight: 6, packet: true, skb: true, task: true, lo: -1, hi: 7},
	{name: "xdp", section: "xdp", ctx: "struct xdp_md", weight: 4, packet: true, xdp: true, task: true, lo: 0, hi: 4},
	{name: "egress", section: "cgroup_skb/egress", ctx: "struct __sk_buff", weight: 1, packet: true, skb: true, lo: 0, hi: 1},
	{name: "filter", section: "socket", ctx: "struct __sk_buff", weight: 1, lo: 0, hi: 100},
	{name: "probe", section: "kprobe/do_nanosleep", ctx: "void", weight: 2, lo: 0, hi: 0},
	{name: "raw", section: "raw_tp/sched_switch", ctx: "struct bpf_raw_tracepoint_args", weight: 2, lo: 0, hi: 0},
	{name: "btf", section: "tp_btf/sched_wakeup", ctx: "u64", weight: 4, task: true, trusted: "(struct task_struct *)ctx[0]", lo: 0, hi: 0},
	{name: "iter", section: "iter/task", ctx: "struct bpf_iter__task", weight: 2, task: true, trusted: "ctx->task", lo: 0, hi: 1},
	{name: "call", section: "syscall", ctx: "struct elem", weight: 3, task: true, sleepable: true, lo: 0, hi: 9},
}

// gen builds one program.
type gen struct {
	rng    *rand.Rand
	fl     *flavour
	name   string
	before strings.Builder // functions that the program calls
	out    *strings.Builder
	indent int
	n      int     // number of names given so far
	sloppy float64 // probability of a mistake where one is possible
	depth  int
	limit  int // statements left
	inSub  bool
	inLoop bool
	ctx    bool // the context is at hand
}

// Source returns the text of source number n of the series that seed determines, with so many
// programs.
func Source(seed, n uint64, programs int) string {
	rng := rand.New(rand.NewPCG(seed, n))
	var b strings.Builder
	b.WriteString("#include \"csource.h\"\n")
	for i := range programs {
		g := &gen{rng: rng, fl: pickFlavour(rng), ctx: true}
		g.name = fmt.Sprintf("%s_%d_%d", g.fl.name, n, i)
		g.sloppy = [...]float64{0, 0, 0.03, 0.1, 0.3}[rng.IntN(5)]
		b.WriteString(g.program())
	}
	return b.String()
}

func pickFlavour(rng *rand.Rand) *flavour {
	total := 0
	for i := range flavours {
		total += flavours[i].weight
	}
	n := rng.IntN(total)
	for i := range flavours {
		if n -= flavours[i].weight; n < 0 {
			return &flavours[i]
		}
	}
	return nil
}

// program returns the text of a program and of the functions that it calls.
func (g *gen) program() string {
	var body strings.Builder
	g.out, g.indent, g.limit = &body, 1, 2+g.rng.IntN(10)
	g.locals()
	for g.limit > 0 {
		g.statement()
	}
	g.line("sum += a + b + (u64)c + x + y + (u64)i;")
	switch {
	case g.chance(0.25):
		g.line("return %d + (x & %d) %% %d;", g.fl.lo, g.mask(), g.fl.hi-g.fl.lo+1+g.slip(1))
	case g.chance(0.2):
		g.line("return x > %d ? %d : %d;", g.small(), g.fl.lo-g.slip(1), g.fl.hi)
	default:
		g.line("return %d;", g.fl.lo+g.rng.IntN(g.fl.hi-g.fl.lo+1))
	}
	return fmt.Sprintf("%s\nSEC(\"?%s\") int %s(%s *ctx)\n{\n%s}\n", g.before.String(), g.fl.section, g.name, g.fl.ctx, body.String())
}

// locals declares the variables that all statements use.
func (g *gen) locals() {
	g.line("u64 a = %s, b = %s;", g.unknown(), g.unknown())
	g.line("s64 c = (s64)%s;", g.unknown())
	g.line("u32 x = %s, y = %d;", g.unknown(), g.rng.IntN(100))
	g.line("s32 i = (s32)%s;", g.unknown())
	g.line("")
}

// unknown is an expression of a number that the verifier does not know.
func (g *gen) unknown() string {
	list := []string{"bpf_ktime_get_ns()", "sum", "idx", "(u64)signd", "table[3]", "ro_small", "ro_mask", "bpf_get_prandom_u32()", "opaque((u64)7)"}
	if g.ctx && g.fl.packet && g.fl.skb {
		list = append(list, "ctx->len", "ctx->mark", "ctx->protocol")
	}
	return list[g.rng.IntN(len(list))]
}

func (g *gen) line(format string, args ...any) {
	fmt.Fprintf(g.out, "%s%s\n", strings.Repeat("\t", g.indent), fmt.Sprintf(format, args...))
}

// block writes a compound statement with up to n statements in it.
func (g *gen) block(head string, n int, last ...string) {
	g.line("%s {", head)
	g.indent++
	g.depth++
	for range 1 + g.rng.IntN(n) {
		g.statement()
	}
	for _, l := range last {
		g.line("%s", l)
	}
	g.depth--
	g.indent--
	g.line("}")
}

func (g *gen) chance(p float64) bool { return g.rng.Float64() < p }

// wrong says whether to make a mistake.
func (g *gen) wrong() bool { return g.chance(g.sloppy) }

// slip is 0, or the size of a mistake.
func (g *gen) slip(n int) int {
	if g.wrong() {
		return n
	}
	return 0
}

func (g *gen) id(prefix string) string {
	g.n++
	return fmt.Sprintf("%s%d", prefix, g.n)
}

func (g *gen) of(list ...string) string { return list[g.rng.IntN(len(list))] }

// small is a number that code compares with, or adds.
func (g *gen) small() int {
	if g.chance(0.1) {
		return int(int32(g.rng.Uint32()) >> g.rng.IntN(31))
	}
	return [...]int{0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 31, 32, 40, 63, 64, 100, 127, 128, 255, 256, 1000, 4096}[g.rng.IntN(22)]
}

func (g *gen) mask() int { return 1<<(1+g.rng.IntN(6)) - 1 }

// statement writes one statement of any kind.
func (g *gen) statement() {
	g.limit--
	kinds := []func(){g.arithmetic, g.arithmetic, g.arithmetic, g.branch, g.lookup, g.lookup, g.global, g.stack}
	if g.depth < 3 {
		kinds = append(kinds, g.branch, g.loop, g.loop, g.numbers, g.callback, g.mayLoop)
	}
	kinds = append(kinds, g.ringbuf, g.dynptr, g.atomic, g.probeRead, g.bits)
	if g.ctx && g.fl.packet {
		kinds = append(kinds, g.packet, g.packet, g.packet, g.packetDynptr)
	}
	if !g.inSub {
		kinds = append(kinds, g.sub, g.global2, g.tail2)
	}
	if !g.fl.sleepable && g.fl.trusted == "" && g.fl.name != "probe" && g.fl.name != "raw" && g.fl.name != "filter" {
		kinds = append(kinds, g.lock, g.timer)
	}
	if g.fl.task {
		kinds = append(kinds, g.task, g.kptr, g.object, g.sections)
		if !g.fl.packet || g.wrong() {
			kinds = append(kinds, g.cpus)
		}
		if !g.inLoop {
			kinds = append(kinds, g.tasks)
		}
		if !g.inSub && !g.inLoop && g.fl.skb {
			kinds = append(kinds, g.list, g.tree)
		}
		if g.fl.trusted != "" && g.ctx {
			kinds = append(kinds, g.walk, g.walk)
		}
	}
	if g.fl.sleepable {
		kinds = append(kinds, g.arenaUse, g.arenaUse)
	}
	if g.fl.skb && !g.inSub {
		kinds = append(kinds, g.throw)
	}
	kinds[g.rng.IntN(len(kinds))]()
}
