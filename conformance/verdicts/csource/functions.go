package csource

import (
	"fmt"
	"strings"
)

// function writes a function before the program; body makes its statements. The variables of
// statements are its own.
func (g *gen) function(head string, body func()) {
	out, indent, depth, inSub, inLoop, ctx, limit := g.out, g.indent, g.depth, g.inSub, g.inLoop, g.ctx, g.limit
	var b strings.Builder
	g.out, g.indent, g.depth, g.inSub, g.inLoop, g.ctx = &b, 1, max(depth, 2), true, false, false
	body()
	fmt.Fprintf(&g.before, "%s\n{\n%s}\n", head, b.String())
	g.out, g.indent, g.depth, g.inSub, g.inLoop, g.ctx, g.limit = out, indent, depth, inSub, inLoop, ctx, min(limit, g.limit)
}

// sub writes a call of a static function.
func (g *gen) sub() {
	f := g.id(g.name + "_sub")
	switch g.rng.IntN(4) {
	case 0:
		g.function("static NOINLINE u64 "+f+"(u64 a, u32 x)", func() {
			g.line("u64 b = x; s64 c = a; u32 y = 3; s32 i = (s32)a;")
			g.statement()
			g.statement()
			g.line("return a + b + (u64)c + x + y + i;")
		})
		g.line("a = %s(b, x);", f)
	case 1: // a bounded result
		g.function("static NOINLINE u32 "+f+"(u32 x)", func() { g.line("if (x > %d) return %d; return x;", 15+g.slip(1), g.rng.IntN(16)) })
		g.line("table[%s(x)] = y;", f)
	case 2: // a pointer to the caller's stack
		v := g.id("v")
		g.function("static NOINLINE int "+f+"(struct elem *e, u32 x)", func() {
			g.line("u64 a = x, b = 1; s64 c = 2; u32 y = 3; s32 i = 4;")
			g.element("e")
			g.line("return a + b + c + y + i;")
		})
		g.line("struct elem %s = {.n = x}; y += %s(&%s, x); x ^= %s.len;", v, f, v, v)
	case 3: // a packet
		if !g.fl.packet || !g.ctx {
			g.arithmetic()
			return
		}
		g.function("static NOINLINE int "+f+"(u8 *d, u8 *end, u32 x)", func() {
			g.line("d += x & %d;", g.mask())
			g.line("if (d + %d > end) return 0;", 4-g.slip(1))
			g.line("return *(u32 *)d;")
		})
		g.line("x = %s((u8 *)(long)ctx->data, (u8 *)(long)ctx->data_end, y);", f)
	}
}

// global2 writes a call of a global function, which is verified by itself.
func (g *gen) global2() {
	f := g.id(g.name + "_glob")
	switch g.rng.IntN(6) {
	case 0:
		g.function("NOINLINE int "+f+"(u64 a, u32 x)", func() {
			g.line("u64 b = x; s64 c = a; u32 y = 3; s32 i = (s32)a;")
			g.statement()
			g.line("return a + b + (u64)c + x + y + i;")
		})
		g.line("i = %s(a, %s);", f, g.num())
	case 1: // memory that may be null
		g.function("NOINLINE int "+f+"(struct elem *e, u32 x)", func() {
			g.line("u64 a = x, b = 1; s64 c = 2; u32 y = 3; s32 i = 4;")
			if !g.wrong() {
				g.line("if (!e) return 1;")
			}
			g.element("e")
			g.line("return a + b + c + y + i;")
		})
		v := g.id("v")
		g.line("struct elem %s = {}; y += %s(%s, x);", v, f, g.of("&"+v, "NULL", "&"+v))
	case 2: // memory that is there
		g.function("NOINLINE int "+f+"(struct elem *e __arg(\"nonnull\"), u32 x)", func() {
			g.line("u64 a = x, b = 1; s64 c = 2; u32 y = 3; s32 i = 4;")
			g.element("e")
			g.line("return a + b + c + y + i;")
		})
		v, k := g.id("v"), g.id("k")
		g.line("u32 %s = x & 7; struct elem *%s = bpf_map_lookup_elem(&arr, &%s); %sy += %s(%s, x);", k, v, k, g.check(v), f, v)
	case 3: // the context
		if !g.ctx || g.fl.ctx == "u64" || g.fl.ctx == "void" {
			g.arithmetic()
			return
		}
		g.function("NOINLINE int "+f+"("+g.fl.ctx+" *ctx __arg(\"ctx\"), u32 x)", func() {
			g.ctx = true
			g.line("u64 a = x, b = 1; s64 c = 2; u32 y = 3; s32 i = 4;")
			g.statement()
			g.line("return a + b + c + y + i;")
		})
		g.line("y += %s(ctx, x);", f)
	case 4: // a dynptr
		d := g.id("d")
		g.function("NOINLINE int "+f+"(const struct bpf_dynptr *p)", func() {
			g.line("u64 v = 0; bpf_dynptr_read(&v, %d, p, %d, 0); return v;", 8+g.slip(1), g.rng.IntN(8))
		})
		g.line("struct bpf_dynptr %s; bpf_dynptr_from_mem(text, 64, 0, &%s); x += %s(&%s);", d, d, f, d)
	case 5: // a task
		if !g.fl.task {
			g.arithmetic()
			return
		}
		t := g.id("t")
		tag, null := "trusted", ""
		if g.chance(0.5) {
			null = " __arg(\"nullable\")"
		}
		g.function("NOINLINE int "+f+"(struct task_struct *t __arg(\""+tag+"\")"+null+")", func() {
			if null != "" && !g.wrong() {
				g.line("if (!t) return 0;")
			}
			g.line("return t->pid;")
		})
		g.line("struct task_struct *%s = bpf_task_from_pid(x); if (%s) { x += %s(%s); bpf_task_release(%s); }", t, t, f, t, t)
	}
}

// callback writes a call of bpf_loop or bpf_for_each_map_elem.
func (g *gen) callback() {
	f, c := g.id(g.name+"_cb"), g.id("c")
	result := g.of("0", "0", "1", "a > 5")
	if g.wrong() {
		result = "2"
	}
	if g.chance(0.6) {
		g.function("static long "+f+"(u32 at, struct elem *e)", func() {
			g.line("u64 a = e->v[0], b = at; s64 c = 2; u32 x = e->n, y = 3; s32 i = 4;")
			g.statement()
			switch g.rng.IntN(3) {
			case 0:
				g.line("if (at < %d) table[at] += x;", 16+g.slip(1))
			case 1:
				g.element("e")
			}
			g.line("e->v[1] += a + b + c + x + y + i;")
			g.line("return %s;", result)
		})
		g.line("struct elem %s = {.n = x};", c)
		g.line("bpf_loop(%s, %s, &%s, 0);", g.of("8", "100", "x", "a & 31", "1 << 20"), f, c)
		g.line("x += %s.n; a ^= %s.v[1];", c, c)
		return
	}
	g.function("static long "+f+"(void *map, u32 *key, struct elem *v, u64 *ctx)", func() {
		g.line("u64 a = *ctx, b = *key; s64 c = 2; u32 x = v->n, y = 3; s32 i = 4;")
		g.element("v")
		g.line("*ctx += a + b + c + x + y + i;")
		g.line("return %s;", result)
	})
	g.line("u64 %s = a; bpf_for_each_map_elem(&%s, %s, &%s, 0); b += %s;", c, g.of("arr", "percpu", "arr"), f, c, c)
}

// timer writes the start of a timer.
func (g *gen) timer() {
	f, t, k := g.id(g.name+"_timer"), g.id("t"), g.id("k")
	g.function("static int "+f+"(void *map, u32 *key, struct timed *v)", func() {
		g.line("u64 a = v->n, b = *key; s64 c = 2; u32 x = 1, y = 3; s32 i = 4;")
		g.statement()
		g.line("v->n = a + b + c + x + y + i;")
		g.line("return %d;", g.slip(1))
	})
	g.line("u32 %s = 1; struct timed *%s = bpf_map_lookup_elem(&timers, &%s);", k, t, k)
	g.line("%s{ bpf_timer_init(&%s->timer, &timers, %s); bpf_timer_set_callback(&%s->timer, %s); bpf_timer_start(&%s->timer, 1000, 0); }", g.check(t), t, g.of("1", "7"), t, f, t)
}

// tail2 writes a tail call.
func (g *gen) tail2() {
	if g.chance(0.7) || !g.ctx || g.fl.sleepable {
		g.arithmetic()
		return
	}
	g.line("bpf_tail_call(ctx, &progs, %s);", g.of("0", "1", "x", "9"))
}

// throw writes an exception.
func (g *gen) throw() {
	switch g.rng.IntN(3) {
	case 0:
		g.line("if (%s) bpf_throw(%d);", g.cond(), g.of2(0, 0, 1, 2, 100))
	case 1:
		g.line("if (x >= %d) bpf_throw(0); table[x] = y;", 16+g.slip(1))
	case 2:
		f := g.id(g.name + "_throws")
		g.function("static NOINLINE u64 "+f+"(u64 a)", func() { g.line("if (a > 7) bpf_throw(%d); return a;", g.of2(0, 1)) })
		g.line("table[%s(a)] += 1;", f)
	}
}
