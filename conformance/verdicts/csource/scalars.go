package csource

import "fmt"

// num is a variable that holds a number.
func (g *gen) num() string { return g.of("a", "b", "c", "x", "y", "i") }

func (g *gen) arithmetic() {
	v, w := g.num(), g.num()
	switch g.rng.IntN(9) {
	case 0:
		g.line("%s %s= %d;", v, g.of("+", "-", "*", "&", "|", "^"), g.small())
	case 1:
		g.line("%s %s= %s;", v, g.of("+", "-", "*", "&", "|", "^"), w)
	case 2:
		g.line("%s %s= %s & %d;", v, g.of("<<", ">>"), w, g.of2(31, 7, 63))
	case 3:
		g.line("%s = (%s)%s;", v, g.of("u8", "u16", "u32", "s16", "s32", "u64"), w)
	case 4:
		g.line("%s = (u64)%s %s %d;", v, w, g.of("/", "%"), 1+g.rng.IntN(100))
	case 5:
		g.line("%s = %s;", v, g.unknown())
	case 6:
		g.line("%s = %s(%s);", v, g.of("__builtin_bswap16", "__builtin_bswap32", "__builtin_bswap64"), w)
	case 7:
		g.line("%s = -%s;", v, w)
	case 8:
		g.line("%s = %s;", v, w)
	}
}

func (g *gen) of2(list ...int) int { return list[g.rng.IntN(len(list))] }

// cond is a condition.
func (g *gen) cond() string {
	v := g.num()
	rel := g.of("<", "<=", ">", ">=", "==", "!=")
	switch g.rng.IntN(6) {
	case 0:
		return fmt.Sprintf("%s %s %s", v, rel, g.num())
	case 1:
		return fmt.Sprintf("(s32)%s %s %d", v, rel, g.small())
	case 2:
		return fmt.Sprintf("%s & %d", v, 1<<g.rng.IntN(16))
	case 3:
		return fmt.Sprintf("(u32)%s %s %d", v, rel, g.small())
	}
	return fmt.Sprintf("%s %s %d", v, rel, g.small())
}

func (g *gen) branch() {
	g.block("if ("+g.cond()+")", 3)
	if g.chance(0.4) {
		g.block("else", 2)
	} else if g.chance(0.15) && g.inLoop {
		g.line("if (%s) %s;", g.cond(), g.of("break", "continue"))
	}
}

// bound leaves an index below n in a variable, by one of the ways in which people do so.
func (g *gen) bound(n int) (before, index string) {
	v := g.num()
	k := g.id("k")
	limit := n + g.slip(1+g.rng.IntN(2))
	switch g.rng.IntN(6) {
	case 0:
		if n&(n-1) != 0 {
			break
		}
		mask := n - 1
		if g.wrong() {
			mask = 2*n - 1
		}
		return fmt.Sprintf("u64 %s = %s & %d;", k, v, mask), k
	case 1:
		return fmt.Sprintf("u32 %s = (u32)%s; if (%s >= %d) %s = 0;", k, v, k, limit, k), k
	case 2:
		return fmt.Sprintf("s32 %s = (s32)%s; if (%s < %d || %s > %d) %s = %d;", k, v, k, -g.slip(1), k, limit-1, k, g.rng.IntN(n)), k
	case 3:
		return fmt.Sprintf("u64 %s = (u64)%s %% %d;", k, v, limit), k
	case 4:
		return fmt.Sprintf("u64 %s = opaque((u64)%s); if (%s > %d) %s = %d;", k, v, k, limit-1, k, n-1), k
	}
	return fmt.Sprintf("u8 %s = opaque((u8)%s); if (%s >= %d) %s &= 1;", k, v, k, limit, k), k
}

// loop writes a loop that C bounds.
func (g *gen) loop() {
	j := g.id("j")
	was := g.inLoop
	g.inLoop = true
	defer func() { g.inLoop = was }()
	switch g.rng.IntN(6) {
	case 0:
		g.block(fmt.Sprintf("for (int %s = 0; %s < %d; %s++)", j, j, 2+g.rng.IntN(12), j), 2, fmt.Sprintf("x += %s;", j))
	case 1:
		g.line("_Pragma(\"unroll\")")
		g.block(fmt.Sprintf("for (int %s = 0; %s < %d; %s++)", j, j, 2+g.rng.IntN(4), j), 2)
	case 2:
		g.block(fmt.Sprintf("for (u32 %s = 0; %s < (x & %d); %s++)", j, j, g.mask(), j), 2, fmt.Sprintf("keep(%s);", j))
	case 3:
		g.block(fmt.Sprintf("for (u32 %s = 0; %s < %d && %s < y; %s++)", j, j, 4+g.rng.IntN(20), j, j), 2, fmt.Sprintf("table[%s & 15] += a;", j))
	case 4:
		g.line("int %s = %d;", j, 3+g.rng.IntN(20))
		g.block(fmt.Sprintf("while (--%s > 0)", j), 2, fmt.Sprintf("if (a == %s) break;", j))
	case 5:
		g.line("u64 %s = 0;", j)
		g.block("do", 2, fmt.Sprintf("%s += %d;", j, 1+g.rng.IntN(4)))
		g.line("while (%s < %d);", j, 4+g.rng.IntN(24))
	}
}

// numbers writes a loop over an iterator of numbers.
func (g *gen) numbers() {
	it, p := g.id("it"), g.id("p")
	was := g.inLoop
	g.inLoop = true
	g.line("struct bpf_iter_num %s;", it)
	g.line("int *%s;", p)
	g.line("bpf_iter_num_new(&%s, %d, %s);", it, g.rng.IntN(3), g.of("10", "100", "x", "1000000"))
	head := fmt.Sprintf("while ((%s = bpf_iter_num_next(&%s)))", p, it)
	if g.wrong() {
		g.line("%s = bpf_iter_num_next(&%s); x += *%s;", p, it, p)
	}
	use := []string{fmt.Sprintf("sum += *%s;", p)}
	switch g.rng.IntN(4) {
	case 0:
		use = append(use, fmt.Sprintf("table[*%s & %d]++;", p, 15+16*g.slip(1)))
	case 1:
		use = append(use, fmt.Sprintf("if (*%s < %d && *%s >= 0) text[*%s] = x;", p, 64+g.slip(1), p, p))
	case 2:
		use = append(use, fmt.Sprintf("if (*%s > %d) break;", p, g.small()))
	}
	g.block(head, 2, use...)
	if !g.wrong() {
		g.line("bpf_iter_num_destroy(&%s);", it)
	}
	g.inLoop = was
}

// bits writes a loop over the bits of a number.
func (g *gen) bits() {
	it, p, w := g.id("it"), g.id("p"), g.id("w")
	g.line("struct bpf_iter_bits %s; int *%s; u64 %s = a;", it, p, w)
	g.line("bpf_iter_bits_new(&%s, &%s, %d);", it, w, 1+g.slip(1))
	g.line("while ((%s = bpf_iter_bits_next(&%s))) { if (*%s < 16) table[*%s & 15] += 2; %s}", p, it, p, p, g.of("", "if (x == 3) break; ", "x++; "))
	if !g.wrong() {
		g.line("bpf_iter_bits_destroy(&%s);", it)
	}
}

// mayLoop writes a loop that only may_goto bounds.
func (g *gen) mayLoop() {
	j := g.id("j")
	was := g.inLoop
	g.inLoop = true
	g.line("u64 %s = 0;", j)
	last := []string{fmt.Sprintf("%s++;", j)}
	switch g.rng.IntN(3) {
	case 0:
		last = append(last, fmt.Sprintf("if (%s > %d) break;", j, g.small()))
	case 1:
		last = append(last, fmt.Sprintf("if (%s < 16) table[%s] = %s;", j, j, g.num()))
	}
	if !g.wrong() {
		last = append(last, "may_break;")
	}
	g.block(g.of(fmt.Sprintf("while (%s < %d)", j, 1000), "for (;;)", fmt.Sprintf("while (%s != a)", j)), 1, append(last, fmt.Sprintf("keep(%s);", j))...)
	g.inLoop = was
}
