//go:build linux && (amd64 || arm64)

package jit

import "math/rand/v2"

// The helpers of programs with callbacks, besides those of recursive programs.
const (
	helperLoop = 20 + iota // as bpf_loop
	helperEach             // calls r2 with a map, a key, a value and r3 for the elements of an array, until it returns 1
)

// turnsMaker writes random programs whose functions are called by helpers, again and again, and
// which call helpers that do. The context of a callback is four numbers in the stack of the first
// function: the addresses of two objects, how many more helpers may be called that call back, and a
// sum.
type turnsMaker struct {
	loopMaker
	loops, elements int // functions that helperLoop and helperEach call
}

// turnsProgram makes a program from a seed.
func turnsProgram(seed uint64) string {
	m := &turnsMaker{loopMaker: loopMaker{Rand: rand.New(rand.NewPCG(seed, 5))}}
	m.loops, m.elements = 1+m.IntN(3), 1+m.IntN(2)
	m.say("*(u64 *)(r10 - 32) = r1\n*(u64 *)(r10 - 24) = r2\n*(u64 *)(r10 - 16) = r4\n*(u64 *)(r10 - 8) = r3")
	m.say("r7 = r10\nr7 += -32\nr6 = r3\nr8 = 1\nr9 = 2\nr0 = 3")
	loop := m.IntN(3) == 0 // in a loop of the program itself
	if loop {
		m.say("*(u64 *)(r10 - 40) = 0\nhead:")
	}
	for range 1 + m.IntN(3) {
		m.begin()
		if m.IntN(3) == 0 {
			m.piece()
		}
	}
	if loop {
		m.say("r3 = *(u64 *)(r10 - 40)\nr3 += 1\n*(u64 *)(r10 - 40) = r3\nif r3 < %d goto head", m.pick(2, 5, 60))
	}
	m.say("r0 = *(u64 *)(r10 - 8)\nr0 += r8\nr0 += r9\nexit")
	for i := range m.loops {
		m.say("cb%d:\nr6 = r1\nr7 = r2", i)
		m.body()
	}
	for i := range m.elements {
		m.say("el%d:\nr6 = *(u32 *)(r2 + 0)\nr7 = r4\nr8 = r3", i)
		if m.IntN(2) == 0 {
			m.say("r3 = *(u64 *)(r8 + 0)\nr3 += r6\n*(u64 *)(r8 + 0) = r3")
		}
		if m.IntN(6) == 0 {
			m.say("*(u32 *)(r2 + 0) = 77") // the key is the callback's
		}
		m.body()
	}
	m.say("sub:\nr6 = r1\n*(u64 *)(r10 - 8) = r6\nr9 = *(u64 *)(r10 - 8)\nr8 = 7\nr0 = r9\nr0 &= 1\nexit")
	m.say("leaf:\nr0 = r1\nr0 *= 3\nexit")
	return m.out.String()
}

func (m *turnsMaker) pick(v ...int) int { return v[m.IntN(len(v))] }

// begin calls a helper that calls back.
func (m *turnsMaker) begin() {
	if m.IntN(3) == 0 {
		m.say("r1 = 0\nr2 = func(el%d)", m.IntN(m.elements))
	} else {
		m.say("r1 = %d\nr2 = func(cb%d)", m.pick(0, 1, 2, 3, 10, 40, 40, 200, 200, 3000, 8<<20, 8<<20+1), m.IntN(m.loops))
		if m.IntN(8) == 0 { // the upper half counts for nothing
			m.say("r3 = 1\nr3 <<= 33\nr1 |= r3")
		}
	}
	if m.IntN(8) == 0 { // a function that no compiler can know
		m.say("r3 = r6\nr3 &= 1\nif r3 == 0 goto +2\nr2 = func(cb%d)", m.IntN(m.loops))
	}
	m.say("r3 = r7\nr4 = %d\nr5 = 9\ncall %d\nr9 += r0", m.pick(0, 0, 0, 0, 0, 0, 0, 1), m.pick(helperLoop, helperLoop, helperEach))
}

// body is the rest of a callback.
func (m *turnsMaker) body() {
	for range m.IntN(5) {
		over := ""
		if m.IntN(3) == 0 {
			over = m.label()
			m.say("if r6 %s %d goto %s", []string{">", "<", "!=", "=="}[m.IntN(4)], m.pick(0, 1, 2, 5, 30, 150), over)
		}
		m.piece()
		if over != "" {
			m.say("%s:", over)
		}
	}
	switch m.IntN(8) {
	case 0:
		m.say("r0 = 0\nif r6 != %d goto +1\nr0 = %d", m.pick(0, 1, 3, 20, 100), m.pick(1, 1, 2, -1))
	case 1:
		m.say("r0 = r6\nr0 *= %d\nr0 >>= 20\nr0 &= 1", m.pick(7000, 90000))
	case 2:
		m.say("r0 = *(u64 *)(r7 + 24)\nif r0 > %d goto +1\nr0 = 0\nr0 &= 1", m.pick(30, 1000))
	default:
		m.say("r0 = 0")
	}
	m.say("exit")
}

// piece does something with a context in r7 and a number in r6.
func (m *turnsMaker) piece() {
	switch m.IntN(14) {
	case 0, 1, 2:
		m.say("r3 = *(u64 *)(r7 + 24)\nr3 += r6\n*(u64 *)(r7 + 24) = r3")
	case 3:
		m.say("r4 = *(u64 *)(r7 + %d)\nr5 = r6\nr5 &= %d\nr4 += r5\nr5 = *(u8 *)(r4 + 0)\nr9 += r5", m.pick(0, 8), m.pick(7, 31, 255))
	case 4:
		m.say("r4 = *(u64 *)(r7 + %d)\nr5 = r6\nr5 &= %d\nr4 += r5\n*(u8 *)(r4 + 0) = r9", m.pick(0, 8), m.pick(7, 31, 255))
	case 5:
		m.say("*(u64 *)(r10 - 48) = r6\nr3 = *(u64 *)(r10 - 48)\nr8 += r3")
	case 6:
		m.say("r9 *= 3\nr8 = r9\nr8 ^= r6")
	case 7:
		m.say("r3 = 0\nr9 += r3\nr3 += 1\nif r3 < %d goto -3", m.pick(2, 5, 20))
	case 8:
		m.say("r1 = r6\ncall %s\nr8 += r0", []string{"sub", "leaf"}[m.IntN(2)])
	case 9:
		m.say("r1 = r6\nr2 = r6\ncall %d\nr9 += r0", m.pick(helperNothing, helperNothing, helperNothing, helperChurn, helperBounds, helperReadOnly, helperFree))
	case 10:
		over := m.label()
		m.say("r1 = r6\nr2 = r7\nr3 = *(u64 *)(r7 + 16)\nif r3 s<= 0 goto %s\nr3 += -1\n*(u64 *)(r7 + 16) = r3\nr5 = func(cb%d)\nr3 = 0\ncall %d\n%s:", over, m.IntN(m.loops), helperInvoke, over)
	case 11, 12:
		over := m.label()
		m.say("r3 = *(u64 *)(r7 + 16)\nif r3 s<= 0 goto %s\nr3 += -1\n*(u64 *)(r7 + 16) = r3", over)
		m.begin()
		m.say("%s:", over)
	case 13:
		m.say("r3 = r7\nr3 += %d\nr3 = *(u64 *)(r3 + 0)", m.pick(0, 0, 0, 0, 24)) // 24 may be no address, but it is not accessed
		if m.IntN(20) == 0 {
			m.say("r3 = *(u64 *)(r3 + 8)")
		}
	}
}
