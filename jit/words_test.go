package jit

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/testsize"
)

// wordMaker writes loops of one block that make numbers of bytes of memory, or nearly do. r1 is the
// object, r2 another, r5 an address in the first; values are in r0, r3, r4, r7 and r8.
type wordMaker struct {
	*loopMaker
}

func (m *wordMaker) value() int { return pick(m.loopMaker, 0, 3, 4, 7, 8) }

// once is true in one of n cases.
func (m *wordMaker) once(n int) bool { return m.IntN(n) == 0 }

func (m *wordMaker) program() string {
	m.say("r0 = 1\nr3 = 3\nr4 = 4\nr7 = 7\nr8 = 8\nr6 = 0\nr5 = r1\nl:")
	for range 2 + m.IntN(5) {
		m.number()
	}
	m.say("r6 += 1\nif r6 != 5 goto l")
	for _, r := range []int{3, 4, 5, 7, 8} {
		m.say("r0 += r%d", r)
	}
	m.say("exit")
	return m.out.String()
}

// disturb writes what may stand between the parts of a number.
func (m *wordMaker) disturb(base, off int) {
	switch m.IntN(14) {
	case 0:
		m.say("%s = r%d", place(base, "u8", off+m.IntN(8)), m.value())
	case 1:
		m.say("r%d = r%d", m.value(), m.value())
	case 2:
		m.say("r%d = r%d", pick(m.loopMaker, 0, 3, 5), pick(m.loopMaker, 1, 5))
	case 3:
		m.say("r5 += %d", pick(m.loopMaker, 1, -1, 4))
	case 4:
		m.say("r%d ^= r%d", m.value(), m.value())
	case 5:
		m.say("r%d = %d", m.value(), m.IntN(1000))
	case 6:
		m.say("r%d = %s", m.value(), place(2, "u8", m.IntN(16)))
	}
}

func (m *wordMaker) number() {
	n, step := pick(m.loopMaker, 2, 4, 4, 8), pick(m.loopMaker, 1, 1, 1, 2)
	big, down, w := m.once(2), m.once(2), "r"
	if n < 8 && m.once(2) {
		w = "w"
	}
	base, off, sum, next := pick(m.loopMaker, 1, 5, 5), m.IntN(12), m.value(), m.value()
	if m.once(2) {
		m.say("r5 = r1\nr5 += %d", m.IntN(8))
	}
	if m.once(3) {
		base = pick(m.loopMaker, 3, 5, 7)
		m.say("r%d = r%d\nr%d += %d", base, pick(m.loopMaker, 1, 5), base, m.IntN(5))
	}
	if base == sum {
		sum = 0
	}
	for i := range n / step {
		at, r := i*step, next
		if down {
			at = n - step - at
		}
		switch last := i == n/step-1; {
		case i == 0:
			r = sum
		case last && base != 1 && m.once(2): // replaces its address
			r = base
		}
		m.say("r%d = %s", r, place(base, fmt.Sprintf("u%d", 8*step), off+at))
		m.disturb(base, off)
		bits := 8 * at
		if big {
			bits = 8 * (n - step - at)
		}
		if m.once(16) {
			bits = m.IntN(24)
		}
		if bits > 0 {
			m.say("%s%d <<= %d", w, r, bits)
		}
		m.disturb(base, off)
		if op := pick(m.loopMaker, "|=", "|=", "|=", "|=", "|=", "^=", "+="); i > 0 {
			if m.once(3) {
				sum, r = r, sum
			}
			m.say("%s%d %s %s%d", w, sum, op, w, r)
		}
		if next == sum {
			next = m.value()
		}
	}
	if m.once(2) {
		m.say("r%d += r%d", m.value(), sum)
	}
	if m.once(2) {
		m.say("r5 = r1")
	}
	if base != 1 && base != 5 && m.once(2) {
		m.say("r%d = %d", base, m.IntN(9))
	}
}

// checkWords runs a program from a seed on both engines.
func checkWords(t testing.TB, r *loopRig, seed uint64) {
	m := &wordMaker{&loopMaker{Rand: rand.New(rand.NewPCG(seed, 2))}}
	text := m.program()
	defer func() {
		if t.Failed() {
			t.Logf("seed %d:\n%s", seed, text)
		}
	}()
	img := lower(t, text, nil)
	for i := range 6 {
		a := pick(m.loopMaker, 3, 4, 5)
		shift := uint64(m.IntN(40))
		limit := uint64(1 << 20)
		if i == 5 {
			limit = uint64(m.IntN(200))
		}
		r.run(t, img, a, 6, shift, m.Uint64(), limit)
	}
}

// TestNumbersOfBytes compares code that makes numbers of bytes with the interpreter.
func TestNumbersOfBytes(t *testing.T) {
	n := testsize.Pick[uint64](6000, 1200, 1200)
	const each = 100
	for from := uint64(0); from < n; from += each {
		r := newLoopRig(t, int(from/each%2)*20)
		for seed := from; seed < from+each; seed++ {
			checkWords(t, r, seed)
		}
		require.NotZero(t, r.native.engine.Executed())
	}
}

// TestAddressesOfCopies: copies of loops take addresses from registers that have them, not from
// others.
func TestAddressesOfCopies(t *testing.T) {
	for _, tt := range []struct{ name, text string }{
		{"register that nobody sets", "r6 = 0\nl: r0 = r1\nr5 = r1\nr5 += 4\nr5 = *(u8 *)(r5 + 1)\nr0 = 7\nr3 += r5\nr1 += 1\nr6 += 1\nif r6 != 20 goto l\nr0 += r3\nexit"},
		{"holder that moved", "r6 = 0\nl: r1 += 3\nr5 = r1\nr5 += 4\nr1 += 2\nr5 = *(u8 *)(r5 + 1)\nr3 += r5\nr6 += 1\nif r6 != 20 goto l\nr0 = r3\nexit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newLoopRig(t, 0)
			img := lower(t, tt.text, nil)
			for range 4 {
				r.run(t, img, 5, 6, 0, 0, 1<<20)
			}
			require.NotZero(t, r.native.engine.Executed())
		})
	}
}
