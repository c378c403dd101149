package csource

import "fmt"

// element writes uses of an element e, which is not null.
func (g *gen) element(e string) {
	for range 1 + g.rng.IntN(3) {
		switch g.rng.IntN(7) {
		case 0:
			g.line("%s->n += %s;", e, g.num())
		case 1:
			g.line("%s = %s->%s;", g.num(), e, g.of("n", "len", "v[0]", "v[3]", "buf[31]"))
		case 2:
			before, k := g.bound(4)
			g.line("%s", before)
			g.line("%s->v[%s] = %s;", e, k, g.num())
		case 3:
			before, k := g.bound(32)
			g.line("%s", before)
			g.line("%s += %s->buf[%s];", g.num(), e, k)
		case 4:
			g.line("if (%s->len <= %d) bpf_probe_read_kernel(%s->buf, %s->len, (void *)a);", e, 32+g.slip(1), e, e)
		case 5:
			g.line("%s->len = %s; if (%s->len < 24) %s->buf[%s->len + %d] = 1;", e, g.num(), e, e, e, 8+g.slip(1))
		case 6:
			j := g.id("j")
			g.line("for (int %s = 0; %s < %d; %s++) %s += %s->v[%s];", j, j, 4+g.slip(1), j, g.num(), e, j)
		}
	}
}

func (g *gen) lookup() {
	e, k := g.id("e"), g.id("k")
	m := g.of("arr", "arr", "hash", "percpu")
	if m == "hash" {
		g.line("u64 %s = %s;", k, g.num())
	} else {
		g.line("u32 %s = %s;", k, g.of("0", "1", "7", "9", "x", "idx"))
	}
	if m == "hash" && g.chance(0.3) {
		g.line("struct elem %s_v = {.n = x};", e)
		g.line("bpf_map_update_elem(&hash, &%s, &%s_v, %s);", k, e, g.of("BPF_ANY", "BPF_NOEXIST"))
	}
	g.line("struct elem *%s = bpf_map_lookup_elem(&%s, &%s);", e, m, k)
	switch {
	case g.wrong():
		g.element(e)
	case g.chance(0.3) && !g.inSub:
		g.line("if (!%s) return %d;", e, g.fl.lo)
		g.element(e)
	default:
		g.line("if (%s) {", e)
		g.indent++
		g.element(e)
		g.indent--
		g.line("}")
	}
}

func (g *gen) global() {
	before, k := g.bound(16)
	switch g.rng.IntN(6) {
	case 0:
		g.line("%s", before)
		g.line("table[%s] %s %s;", k, g.of("=", "+=", "^="), g.num())
	case 1:
		g.line("%s", before)
		g.line("%s = table[%s];", g.num(), k)
	case 2:
		before, k = g.bound(64)
		g.line("%s", before)
		g.line("text[%s] = %s;", k, g.num())
	case 3:
		g.line("if (idx < %d) table[idx] = %s;", 16+g.slip(1), g.num())
	case 4:
		g.line("for (u32 q = 0; q < ro_small; q++) table[q] += %s;", g.num())
	case 5:
		g.line("signd = %s; if (signd >= 0 && signd < %d) text[signd] = 0;", g.num(), 64+g.slip(1))
	}
}

func (g *gen) stack() {
	s := g.id("s")
	n := []int{8, 16, 24, 40, 64}[g.rng.IntN(5)]
	init := ""
	if !g.wrong() {
		init = " = {}"
	}
	g.line("char %s[%d]%s;", s, n, init)
	before, k := g.bound(n)
	switch g.rng.IntN(4) {
	case 0:
		g.line("%s", before)
		g.line("%s[%s] = x; %s += %s[%d];", s, k, g.num(), s, g.rng.IntN(n))
	case 1:
		g.line("%s", before)
		g.line("%s = %s[%s];", g.num(), s, k)
	case 2:
		g.line("%s", before)
		g.line("bpf_probe_read_kernel(%s, %s%s, (void *)b); keep(%s[0]);", s, k, g.of("", " + 1", ""), s)
	case 3:
		g.line("bpf_get_current_comm(%s, %d); %s ^= *(u32 *)%s;", s, n+g.slip(1), g.num(), s)
	}
}

func (g *gen) atomic() {
	g.line("%s;", g.of("__sync_fetch_and_add(&sum, a)", "x = __sync_fetch_and_add(&table[2], 3)", "a = __sync_val_compare_and_swap(&sum, b, a)",
		"b = __sync_lock_test_and_set(&sum, a)", "__sync_fetch_and_or(&sum, 5)", "a = __sync_fetch_and_xor(&sum, b)"))
}

func (g *gen) probeRead() {
	p := g.id("p")
	g.line("struct { u64 at; u32 v; char s[12]; } %s = {};", p)
	g.line("%s;", g.of(fmt.Sprintf("bpf_probe_read_kernel(&%s, %d, (void *)a)", p, 24+g.slip(1)), fmt.Sprintf("bpf_probe_read_kernel_str(%s.s, %d, (void *)b)", p, 12+8*g.slip(1)),
		fmt.Sprintf("bpf_probe_read_user(&%s.v, sizeof(%s.v), (void *)c)", p, p)))
	g.line("if (%s.v %s %d) %s = %s.at;", p, g.of("<", ">", "=="), g.small(), g.num(), p)
}

// packet writes a check of the packet's length and accesses.
func (g *gen) packet() {
	d, e := g.id("d"), g.id("end")
	g.line("u8 *%s = (u8 *)(long)ctx->data, *%s = (u8 *)(long)ctx->data_end;", d, e)
	n := []int{1, 4, 14, 20, 34, 40, 60}[g.rng.IntN(7)]
	switch g.rng.IntN(6) {
	case 0:
		g.line("if (%s + %d <= %s) {", d, n, e)
		g.line("\t%s = %s[%d]; %s += *(u16 *)(%s + %d);", g.num(), d, g.rng.IntN(n), g.num(), d, max(0, n-2+g.slip(1)))
		g.line("}")
	case 1: // headers
		g.line("struct ethhdr *%s_eth = (void *)%s;", d, d)
		g.line("if ((void *)(%s_eth + 1) <= (void *)%s && %s_eth->h_proto == 8) {", d, e, d)
		g.line("\tstruct iphdr *ip = (void *)(%s_eth + 1);", d)
		if !g.wrong() {
			g.line("\tif ((void *)(ip + 1) <= (void *)%s) {", e)
		} else {
			g.line("\tif ((void *)ip + 16 <= (void *)%s) {", e)
		}
		g.line("\t\tu32 hl = ip->ihl * 4; u8 *l4 = (u8 *)ip + hl;")
		g.line("\t\tx += ip->tot_len;")
		g.line("\t\tif (l4 + %d <= %s) %s = *(u%s *)(l4 + %d);", 4-g.slip(1), e, g.num(), g.of("8", "16"), g.rng.IntN(3))
		g.line("\t}\n\t}")
	case 2: // variable offset
		before, k := g.bound([]int{16, 64, 256, 1000, 40000}[g.rng.IntN(5)])
		g.line("%s", before)
		g.line("%s += %s;", d, k)
		g.line("if (%s + %d %s %s) { %s = *(u32 *)(%s + %d); keep(x); }", d, n+3, g.of("<=", "<"), e, g.num(), d, max(n-1+g.slip(1), 0))
	case 3: // loop
		j := g.id("j")
		g.line("for (int %s = 0; %s < %d; %s++) {", j, j, 2+g.rng.IntN(20), j)
		g.line("\tif (%s + %s + %d > %s) break;", d, j, 1-g.slip(1), e)
		g.line("\ta += %s[%s];", d, j)
		g.line("}")
	case 4:
		if g.fl.skb {
			s := g.id("s")
			g.line("u8 %s[%d];", s, 20)
			g.line("if (bpf_skb_load_bytes(ctx, %s & 0xff, %s, %d) == 0) %s += %s[3];", g.num(), s, 20+g.slip(1), g.num(), s)
			return
		}
		g.line("if (%s + 2 > %s) %s = 1; else %s = %s[1];", d, e, g.num(), g.num(), d)
	case 5: // the packet moves
		if g.fl.name == "egress" {
			return
		}
		g.line("if (%s + 8 <= %s) {", d, e)
		if g.fl.skb {
			g.line("\tbpf_skb_pull_data(ctx, %d);", g.small()&0xff)
		} else {
			g.line("\tbpf_xdp_adjust_head(ctx, %d);", -(g.small() & 0x1f))
		}
		if !g.wrong() {
			g.line("\t%s = (u8 *)(long)ctx->data, %s = (u8 *)(long)ctx->data_end;", d, e)
			g.line("\tif (%s + 8 <= %s)", d, e)
		}
		g.line("\t%s = *(u32 *)(%s + 4);", g.num(), d)
		g.line("}")
	}
}

func (g *gen) ringbuf() {
	r := g.id("r")
	g.line("struct elem *%s = bpf_ringbuf_reserve(&ring, %s, 0);", r, g.of("sizeof(struct elem)", "sizeof(struct elem) + 8", "sizeof(struct elem)"))
	if g.wrong() {
		g.line("%s->n = 1;", r)
	}
	g.line("if (%s) {", r)
	g.indent++
	g.element(r)
	end := fmt.Sprintf("%s(%s, 0);", g.of("bpf_ringbuf_submit", "bpf_ringbuf_discard"), r)
	switch {
	case g.wrong():
		g.line("if (x == 3) %s", end)
	case g.chance(0.3):
		g.line("if (%s) bpf_ringbuf_submit(%s, 0); else bpf_ringbuf_discard(%s, 0);", g.cond(), r, r)
	default:
		g.line("%s", end)
	}
	g.indent--
	g.line("}")
}

func (g *gen) dynptr() {
	d := g.id("d")
	g.line("struct bpf_dynptr %s;", d)
	if g.chance(0.4) { // of the ring buffer
		g.line("if (bpf_ringbuf_reserve_dynptr(&ring, %s, 0, &%s) == 0 || 1) {", g.of("32", "x & 0xff", "y"), d)
		g.indent++
		g.useDynptr(d)
		g.indent--
		g.line("}")
		if !g.wrong() {
			g.line("bpf_ringbuf_%s_dynptr(&%s, 0);", g.of("submit", "discard"), d)
		}
		return
	}
	g.line("bpf_dynptr_from_mem(%s, %d, 0, &%s);", g.of("text", "table"), 64+g.slip(1), d)
	g.useDynptr(d)
}

func (g *gen) useDynptr(d string) {
	for range 1 + g.rng.IntN(2) {
		s := g.id("s")
		switch g.rng.IntN(6) {
		case 0:
			g.line("u64 %s = 0; bpf_dynptr_read(&%s, %d, &%s, %d, 0); a += %s;", s, s, 8+g.slip(1), d, g.rng.IntN(8), s)
		case 1:
			g.line("u32 %s = x; bpf_dynptr_write(&%s, %d, &%s, %d, 0);", s, d, g.rng.IntN(9), s, 4+g.slip(1))
		case 2:
			g.line("u8 *%s = bpf_dynptr_data(&%s, %d, %d); %s%s[%d] = 1;", s, d, g.rng.IntN(4), 8, g.check(s), s, 7+g.slip(1))
		case 3:
			g.line("bpf_dynptr_adjust(&%s, %d, %s); y += bpf_dynptr_size(&%s);", d, g.rng.IntN(4), g.of("8", "x", "16"), d)
		case 4:
			g.line("struct bpf_dynptr %s; bpf_dynptr_clone(&%s, &%s); x ^= bpf_dynptr_is_null(&%s);", s, d, s, s)
		case 5:
			g.line("char %s_b[16]; char *%s = bpf_dynptr_slice(&%s, %d, %s, 16); %sx += %s[%d];", s, s, d, g.rng.IntN(4), g.of(s+"_b", s+"_b", "NULL"), g.check(s), s, 15+g.slip(1))
		}
	}
}

// check is a test for null before a statement.
func (g *gen) check(p string) string {
	if g.wrong() {
		return ""
	}
	return "if (" + p + ") "
}

func (g *gen) packetDynptr() {
	d := g.id("d")
	g.line("struct bpf_dynptr %s;", d)
	if g.fl.skb {
		g.line("bpf_dynptr_from_skb(ctx, 0, &%s);", d)
	} else {
		g.line("bpf_dynptr_from_xdp(ctx, 0, &%s);", d)
	}
	s := g.id("s")
	switch g.rng.IntN(3) {
	case 0:
		g.line("u8 %s_b[20] = {}; struct iphdr *%s = bpf_dynptr_slice(&%s, 14, %s_b, 20);", s, s, d, s)
		g.line("%sx += %s->protocol;", g.check(s), s)
	case 1:
		g.line("u8 %s_b[20] = {}; u8 *%s = bpf_dynptr_slice_rdwr(&%s, %s, %s_b, %d);", s, s, d, g.of("0", "14", "x"), s, 20+g.slip(1))
		g.line("%s%s[%d] = 3;", g.check(s), s, 19+g.slip(1))
	case 2:
		g.line("u64 %s = 0; bpf_dynptr_read(&%s, %d, &%s, %s, 0); b += %s;", s, s, 8, d, g.of("0", "x", "14"), s)
	}
}

func (g *gen) lock() {
	if g.inLoop && g.chance(0.5) {
		g.arithmetic()
		return
	}
	l, k := g.id("l"), g.id("k")
	g.line("u32 %s = %d; struct locked *%s = bpf_map_lookup_elem(&locks, &%s);", k, g.rng.IntN(2), l, k)
	g.line("if (%s) {", l)
	g.indent++
	g.line("bpf_spin_lock(&%s->lock);", l)
	g.line("%s->n++; %s->total += %s;", l, l, g.num())
	if g.wrong() {
		g.line("%s;", g.of("a += bpf_ktime_get_ns()", "if (x == 2) return 0", "bpf_spin_lock(&"+l+"->lock)", "bpf_get_current_comm(text, 16)"))
	}
	if g.chance(0.3) {
		g.line("if (%s->n > %d) %s->n = 0;", l, g.small(), l)
	}
	if !g.wrong() {
		g.line("bpf_spin_unlock(&%s->lock);", l)
	}
	g.indent--
	g.line("}")
}

// arenaUse writes uses of an arena's memory.
func (g *gen) arenaUse() {
	p := g.id("p")
	g.line("struct acell __arena *%s = bpf_arena_alloc_pages(&arena, NULL, %s, -1, 0);", p, g.of("1", "2", "x & 3"))
	if g.chance(0.5) {
		g.line("if (!%s) return %d;", p, g.fl.lo)
	}
	before, k := g.bound(6)
	switch g.rng.IntN(4) {
	case 0:
		g.line("%s->n = a; b += %s->n;", p, p)
	case 1:
		g.line("%s", before)
		g.line("%s->v[%s] += x; %s->next = %s;", p, k, p, p)
	case 2:
		j := g.id("j")
		g.line("for (int %s = 0; %s < 10; %s++) { %s->v[0] += %s; if (!%s->next) break; %s = %s->next; }", j, j, j, p, j, p, p, p)
	case 3:
		g.line("%s;", g.of("__sync_fetch_and_add(&"+p+"->n, a)", p+" = (void __arena *)(a)", p+"++"))
		g.line("x = %s->v[1];", p)
	}
	g.line("bpf_arena_free_pages(&arena, (void __arena *)%s, 1);", p)
}
