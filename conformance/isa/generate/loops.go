package generate

import "github.com/bpfrun/bpfrun/decode"

// counter picks a callee-saved register as the counter of a loop. It returns false if none can be
// spared.
func (p *program) counter() (int, bool) {
	var free []int
	for r := 6; r <= 8; r++ {
		if !p.busy[r] {
			free = append(free, r)
		}
	}
	if len(free) < 2 {
		return 0, false // statements need one, too
	}
	return pick(p, free), true
}

// loopEnd is one way to count to n: the start value, the step, and the test at the end of the loop.
type loopEnd struct {
	start, step int32
	add         decode.Op
	test        decode.Op
	bound       func(n int32) int32
	leave       bool // the test leaves the loop, and an unconditional jump goes back
}

func same(n int32) int32 { return n }
func less(n int32) int32 { return n - 1 }
func zero(int32) int32   { return 0 }

var loopEnds = []loopEnd{
	{1, -1, decode.OpAdd64Imm, decode.OpJne64Imm, zero, false},
	{1, -1, decode.OpAdd32Imm, decode.OpJne32Imm, zero, false},
	{1, -1, decode.OpAdd64Imm, decode.OpJsgt64Imm, zero, false},
	{1, -1, decode.OpAdd64Imm, decode.OpJgt64Imm, zero, false},
	{1, -1, decode.OpAdd32Imm, decode.OpJgt32Imm, zero, false},
	{1, 1, decode.OpSub64Imm, decode.OpJset64Imm, func(int32) int32 { return -1 }, false},
	{0, 1, decode.OpAdd64Imm, decode.OpJlt64Imm, same, false},
	{0, 1, decode.OpAdd64Imm, decode.OpJslt64Imm, same, false},
	{0, 1, decode.OpAdd64Imm, decode.OpJle64Imm, less, false},
	{0, 1, decode.OpAdd64Imm, decode.OpJsle64Imm, less, false},
	{0, 1, decode.OpAdd32Imm, decode.OpJlt32Imm, same, false},
	{0, 1, decode.OpAdd64Imm, decode.OpJne64Imm, same, false},
	{0, 1, decode.OpAdd64Imm, decode.OpJne32Imm, same, false},
	{0, 1, decode.OpAdd64Imm, decode.OpJeq64Imm, same, true},
	{0, 1, decode.OpAdd32Imm, decode.OpJeq32Imm, same, true},
	{0, 1, decode.OpAdd64Imm, decode.OpJgt64Imm, less, true},
	{0, 1, decode.OpAdd32Imm, decode.OpJgt32Imm, less, true},
}

// loop emits a loop of a few iterations.
func (p *program) loop(depth int) {
	c, ok := p.counter()
	if !ok || depth > 2 {
		return
	}
	end := pick(p, loopEnds)
	n := int32(p.between(1, 4))
	if p.gen.cfg.Kernel && p.loops > 0 {
		n = min(n, 2)
	}
	start := int32(0)
	if end.start != 0 {
		start = n
	}
	p.busy[c] = true
	p.emit(decode.OpMov64Imm, c, 0, 0, start)
	top := len(p.insns)
	p.loops++
	p.block(depth+1, p.between(1, 4))
	p.loops--
	p.emit(end.add, c, 0, 0, end.step)
	if end.leave {
		j := p.emit(end.test, c, 0, 0, end.bound(n))
		back := decode.OpJa
		if p.gen.has(decode.OpJa32) && p.chance(30) {
			back = decode.OpJa32
		}
		p.back(back, 0, 0, top, 0)
		p.here(j)
	} else {
		p.back(end.test, c, 0, top, end.bound(n))
	}
	p.busy[c] = false
}

// mayGotoLoop emits a loop with may_goto, which the kernel bounds; a counter ends it earlier.
func (p *program) mayGotoLoop(body func()) {
	c, ok := p.counter()
	if !ok {
		return
	}
	p.busy[c] = true
	p.emit(decode.OpMov64Imm, c, 0, 0, int32(p.between(1, 5)))
	top := len(p.insns)
	may := p.emit(decode.OpMayGoto, 0, 0, 0, 0)
	p.loops++
	body()
	p.loops--
	p.emit(decode.OpAdd64Imm, c, 0, 0, -1)
	p.back(decode.OpJne64Imm, c, 0, top, 0)
	p.here(may)
	p.busy[c] = false
}
