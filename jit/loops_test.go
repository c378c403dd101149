package jit

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
	"github.com/bpfrun/bpfrun/vm"
)

// loopMaker writes random programs of loops that walk over objects, sometimes beyond their ends. r1
// and r2 are objects, r3 a number, r6 to r8 count turns.
type loopMaker struct {
	*rand.Rand
	out    strings.Builder
	labels int
}

func (m *loopMaker) say(format string, args ...any) { fmt.Fprintf(&m.out, format+"\n", args...) }

func (m *loopMaker) label() string {
	m.labels++
	return fmt.Sprintf("l%d", m.labels)
}

func pick[T any](m *loopMaker, v ...T) T { return v[m.IntN(len(v))] }

func (m *loopMaker) program() string {
	m.say("r0 = 1\nr4 = 0\nr5 = 0\nr6 = 0\nr7 = 0\nr8 = 0\nr9 = %d", m.IntN(40))
	m.say("*(u64 *)(r10 - 8) = r1\n*(u64 *)(r10 - 16) = r2\n*(u64 *)(r10 - 24) = r%d", pick(m, 1, 1, 1, 3))
	if m.IntN(4) == 0 {
		m.say("r2 = r10\nr2 += -32")
	}
	for range 1 + m.IntN(3) {
		m.loop(6)
	}
	m.say("exit")
	return m.out.String()
}

// loop writes a loop that counts in register c, and loops in it in the registers after.
func (m *loopMaker) loop(c int) {
	head, exit := m.label(), m.label()
	w := pick(m, "r", "r", "w")
	step := pick(m, 1, 1, 2, 4, 8, 3, -1, -2)
	turns := 1 + m.IntN(24)
	from := pick(m, 0, 0, 1, 5, 4096)
	if step < 0 {
		from += turns * -step
	}
	end := from + step*turns
	test := pick(m, "!=", "!=", "<", "<=", ">", ">=", "s<", "s>")
	switch m.IntN(8) {
	case 0, 2:
		m.say("r%d = r3", c)
	case 1:
		m.say("r%d = %d", c, from-8)
	default:
		m.say("%s%d = %d", w, c, from)
	}
	inverse := map[string]string{"!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<", "s<": "s>=", "s>": "s<="}[test]
	switch m.IntN(12) {
	case 0, 1, 2:
		m.say("goto m%s", head)
	case 3: // two ways in
		m.say("if %s goto %s\n%s%d = %d", m.condition(c), head, w, c, max(0, from-step*m.IntN(8)))
	}
	m.say("%s:", head)
	early := m.IntN(3) == 0
	if early {
		m.say("if %s%d %s %d goto %s", w, c, inverse, end, exit)
	}
	for range 1 + m.IntN(4) {
		m.statement(c)
	}
	m.say("m%s:", head)
	for range m.IntN(3) {
		m.statement(c)
	}
	if c < 8 && m.IntN(3) == 0 {
		m.loop(c + 1)
		m.statement(c)
	}
	m.say("%s%d += %d", w, c, step)
	if m.IntN(8) == 0 { // a turn without the test
		m.say("if r0 & %d goto %s", pick(m, 1, 3, 64), head)
	}
	switch {
	case early && m.IntN(2) == 0:
		m.say("if %s goto %s\n%s\ngoto %s", m.condition(c), head, m.operation(c), head)
	case early:
		m.say("goto %s", head)
	case m.IntN(2) == 0:
		m.say("if %s%d %s %d goto %s", w, c, test, end, head)
	default:
		m.say("if %s%d %s %d goto %s\ngoto %s", w, c, inverse, end, exit, head)
	}
	m.say("%s:", exit)
}

func (m *loopMaker) statement(c int) {
	over := ""
	if m.IntN(5) == 0 {
		over = m.label()
		m.say("if %s goto %s", m.condition(c), over)
	}
	size := pick(m, "u8", "u8", "u16", "u32", "u64")
	off := pick(m, 0, 0, 0, 1, 7, -1, 8, 32)
	switch m.IntN(16) {
	case 15:
		m.word(c)
	case 14: // moves that may be skipped
		there, r := m.label(), pick(m, "r", "w")
		m.say("if %s goto %s\n%s4 = %s%d\n%s9 = %s%d\n%s:", m.condition(c), there, r, r, pick(m, 0, 5, 9), r, r, pick(m, 0, 5, 4, c), there)
	case 13: // a pointer in the stack that moves
		at := pick(m, 8, 16, 24)
		m.say("r5 = *(u64 *)(r10 - %d)", at)
		m.access(5, size, off)
		m.say("r5 += %d\n*(u64 *)(r10 - %d) = r5", pick(m, 1, 1, 2, -1), at)
	case 0, 1, 2, 3:
		m.say("r5 = r%d\nr5 += r%d", pick(m, 1, 1, 2), c)
		switch m.IntN(8) {
		case 0:
			m.say("r5 += %d", pick(m, 16, -8, 24))
		case 1:
			m.say("r5 -= %d", pick(m, 16, -8, 8))
		case 2:
			m.access(5, size, off)
			m.say("r5 += 1")
		}
		m.access(5, size, off)
	case 4:
		m.say("r5 = r%d\nr5 <<= %d\nr5 += r1", c, 1+m.IntN(3))
		m.access(5, size, off)
	case 5:
		m.say("r5 = r%d\nr5 &= %d\nr4 = r2\nr4 += r5", pick(m, 0, 9, c), pick(m, 7, 15, 31, 63))
		m.access(4, size, off)
	case 6:
		m.say("r5 = *(u64 *)(r10 - %d)\nr5 += r%d", pick(m, 8, 16, 24), c)
		m.access(5, size, off)
	case 7:
		m.access(pick(m, 1, 2), size, off)
	case 8:
		m.say("%s%d += %d", pick(m, "r", "r", "r", "r", "r", "r", "r", "w"), pick(m, 1, 2), pick(m, 1, 1, 2, 4, -1))
	case 9:
		m.say("%s", m.operation(c))
	case 10:
		m.say("r5 = *(u8 *)(r1 + 0)\n%s5 %s %d\nr5 += r2", pick(m, "r", "r", "w"), pick(m, "&=", "%=", ">>=", "-=", "+="), 1+m.IntN(15))
		m.access(5, size, 0)
	case 12: // remainders, in place or not
		r := m.Perm(10)
		for slices.ContainsFunc(r[:4], func(r int) bool { return r < 3 && r != 0 || r >= 6 && r <= 8 }) {
			r = m.Perm(10)
		}
		w := pick(m, "r", "r", "w")
		m.say("%s%d = %s%d\n%s%d /= %s%d\n%s%d *= %s%d", w, r[0], w, r[1], w, r[0], w, r[2], w, r[0], w, r[2])
		if m.IntN(2) == 0 {
			m.say("%s%d -= %s%d", w, r[1], w, r[0])
		} else {
			m.say("%s%d = %s%d\n%s%d -= %s%d", w, r[3], w, r[1], w, r[3], w, r[0])
		}
	case 11: // an operation that may be skipped, with a jump
		there := m.label()
		m.say("if %s goto %s\n%s\ngoto %s\nr0 = 77\n%s:", m.condition(c), there, m.operation(c), there, there)
	}
	if over != "" {
		m.say("%s:", over)
	}
}

// word writes code that makes a number of bytes of memory, or something that looks similar.
func (m *loopMaker) word(c int) {
	n, step := pick(m, 2, 4, 4, 8), pick(m, 1, 1, 1, 2)
	big, down := m.IntN(2) == 0, m.IntN(3) == 0
	w := "r"
	if n < 8 && m.IntN(2) == 0 {
		w = "w"
	}
	base, off := pick(m, 1, 2, 5, 5, 10), pick(m, 0, 0, 1, 16)
	switch base {
	case 5:
		m.say("r5 = r%d\nr5 += r%d", pick(m, 1, 1, 2), c)
	case 10:
		off -= 24
	}
	for i := range n / step {
		at, r := i*step, 9
		if down {
			at = n - step - at
		}
		switch last := i == n/step-1; {
		case i == 0:
			r = 4
		case last && base == 5 && m.IntN(2) == 0: // replaces its address
			r = 5
		}
		m.say("r%d = %s", r, place(base, fmt.Sprintf("u%d", 8*step), off+at))
		shift := at
		if big {
			shift = n - step - at
		}
		if m.IntN(24) == 0 {
			shift = pick(m, 0, 1, 2)
		}
		if shift > 0 {
			m.say("%s%d <<= %d", w, r, 8*shift)
		}
		op := pick(m, "|=", "|=", "|=", "|=", "|=", "|=", "|=", "^=")
		switch {
		case i == 0:
		case r == 5 && m.IntN(2) == 0:
			m.say("%s5 %s %s4\nr4 = r5", w, op, w)
		default:
			m.say("%s4 %s %s%d", w, op, w, r)
		}
		switch m.IntN(20) {
		case 0:
			m.say("%s = r0", place(base, "u8", off+n-1))
		case 1:
			if base == 5 {
				m.say("r5 += 3")
				off -= 3
			}
		case 2:
			m.say("r9 = r4\nr4 = r9")
		}
	}
	m.say("r0 %s r4", pick(m, "+=", "^=", "-="))
}

// condition is one that may hold or not, operation something that changes registers or the stack.
func (m *loopMaker) condition(c int) string {
	return pick(m, "r0 & 1", "r9 < 3", "w0 s> 9", "r4 == 0", "w9 != w0", "r9 > r0", fmt.Sprintf("r%d > 7", c), fmt.Sprintf("w%d s<= 3", c))
}

func (m *loopMaker) operation(c int) string {
	return pick(m, "r0 += r9", "w9 += 1", "r9 ^= r0", "w9 >>= 1", "r4 = r9\nr9 = r0", "*(u64 *)(r10 - 24) = r2", "*(u32 *)(r10 - 20) = 0",
		"w0 *= 3", "r9 &= 31", "r9 = -1", "w9 = -1", "r0 = r9", "w0 -= w9", "r9 |= r0", fmt.Sprintf("w9 = w%d", c))
}

func (m *loopMaker) access(base int, size string, off int) {
	at := place(base, size, off)
	switch m.IntN(3) {
	case 0:
		m.say("%s = r9", at)
	default:
		m.say("r4 = %s\nr0 += r4", at)
	}
}

// place is memory as an operand.
func place(base int, size string, off int) string {
	s := fmt.Sprintf("*(%s *)(r%d %+d)", size, base, off)
	return strings.NewReplacer("+", "+ ", "-", "- ").Replace(s)
}

// loopRig runs programs on native code and on the interpreter, on equal memories.
type loopRig struct {
	native, plain *rig
	objects       [2][]*mem.Region
}

func newLoopRig(t testing.TB, eager int) *loopRig {
	r := &loopRig{native: newRig(t), plain: newRig(t)}
	r.plain.thread.SetEngine(nil)
	r.native.engine.SetEager(eager)
	usual := sampled
	t.Cleanup(func() { sampled = usual })
	sampled = eager * 10
	for i, side := range []*rig{r.native, r.plain} {
		for _, size := range []uint64{24, 40, 64, 129, 256, 5000, 9000} {
			o, err := side.mem.Alloc(size, mem.Region{Name: "object", ReadOnly: size == 40})
			require.NoError(t, err)
			r.objects[i] = append(r.objects[i], o)
		}
	}
	return r
}

// run runs a program on both with the same objects and compares everything.
func (r *loopRig) run(t testing.TB, img *vm.Image, a, b int, shift uint64, r3, limit uint64) {
	for i, side := range []*rig{r.native, r.plain} {
		o := r.objects[i]
		for _, x := range o {
			for j := range side.mem.Bytes(x) {
				side.mem.Bytes(x)[j] = byte(j*7 + 3)
			}
		}
		side.thread.Start(img, o[a].Base+shift, o[b].Base, r3)
		side.thread.Run(limit)
	}
	n, p := r.native.thread, r.plain.thread
	require.Equal(t, p.Status(), n.Status(), "%v %v", p.Fault(), n.Fault())
	require.Empty(t, n.Snapshot().Diff(p.Snapshot()))
	if p.Fault() != nil {
		require.Equal(t, p.Fault().Error(), n.Fault().Error())
	}
	for j := range r.objects[0] {
		require.Equal(t, r.plain.mem.Bytes(r.objects[1][j]), r.native.mem.Bytes(r.objects[0][j]))
	}
}

// checkLoops makes a program from a seed and runs it some times, so that guards meet the same
// objects and others.
func checkLoops(t testing.TB, r *loopRig, seed uint64) (insns, native uint64) {
	m := &loopMaker{Rand: rand.New(rand.NewPCG(seed, 1))}
	text := m.program()
	defer func() {
		if t.Failed() {
			t.Logf("seed %d:\n%s", seed, text)
		}
	}()
	img := lower(t, text, nil)
	before := r.native.engine.Executed()
	run := func(a, b int, shift, r3, limit uint64) {
		r.run(t, img, a, b, shift, r3, limit)
		insns += r.native.thread.Insns()
	}
	numbers := []uint64{0, 1, 17, ^uint64(0), 1<<32 + 3, 1<<32 - 6}
	for range 12 {
		a, b := pick(m, 5, 6, m.IntN(7)), pick(m, 5, 6, 1, m.IntN(7))
		shift := uint64(pick(m, 0, 0, 8, 200, m.IntN(64)))
		run(a, b, shift, pick(m, numbers...), pick(m, uint64(20000), 20000, uint64(m.IntN(3000))))
	}
	// Somewhere here the last byte touched is the object's last, and then the one after.
	object, r3 := pick(m, 2, 3, 5), pick(m, numbers...)
	first := m.IntN(int(r.objects[0][object].Size))
	for i := range 24 {
		run(object, 6, uint64(first+i), r3, 5000)
	}
	return insns, r.native.engine.Executed() - before
}

// TestLoops compares loops on native code, which leaves checks out of them, with the interpreter.
// BPFRUN_LOOPS is the number of programs.
func TestLoops(t *testing.T) {
	n := testsize.Pick[uint64](1500, 120, 120)
	if v, err := strconv.ParseUint(os.Getenv("BPFRUN_LOOPS"), 10, 64); err == nil {
		n = v
	}
	const each = 40 // engines do not keep the code of more than some hundred
	for from := uint64(0); from < n; from += each {
		t.Run(fmt.Sprint(from), func(t *testing.T) {
			var insns, native uint64
			r := newLoopRig(t, int(from/each%3)*20)
			for seed := from; seed < min(from+each, n); seed++ {
				i, e := checkLoops(t, r, seed)
				insns, native = insns+i, native+e
			}
			require.Greater(t, native, insns/2)
		})
	}
}

// FuzzLoops is TestLoops for any seed.
func FuzzLoops(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { checkLoops(t, newLoopRig(t, int(seed%3)*20), seed) })
}

// TestLoopAtTheEnd: after the end of a program are copies of its loops, which nothing may fall
// into.
func TestLoopAtTheEnd(t *testing.T) { eachTier(t, testLoopAtTheEnd) }

func testLoopAtTheEnd(t *testing.T) {
	for _, text := range []string{
		"r0 = 0\nr3 = 0\nl: r2 = *(u8 *)(r1 + 0)\nr0 += r2\nr1 += 1\nr3 += 1\nif r3 != 16 goto l",
		"r0 = 0\nr3 = 0\nl: r2 = *(u8 *)(r1 + 0)\nr0 += r2\nr1 += 1\nr3 += 1\nif r3 != 16 goto l\ncall f\ngoto e\nf: exit\ne: call f",
	} {
		r, plain := newRig(t), newRig(t)
		plain.thread.SetEngine(nil)
		img := lower(t, text, nil)
		for _, rig := range []*rig{r, plain} {
			a, err := rig.mem.Alloc(64, mem.Region{Name: "a"})
			require.NoError(t, err)
			rig.thread.Start(img, a.Base)
			require.Equal(t, vm.Faulted, rig.thread.Run(1<<20))
		}
		require.Equal(t, plain.thread.Fault().Kind, r.thread.Fault().Kind)
		require.Empty(t, r.thread.Snapshot().Diff(plain.thread.Snapshot()))
		require.NotZero(t, r.engine.Executed())
	}
}

// TestCallsChangeWhatLoopsUse: the function that a loop calls leaves another, smaller object where
// the loop has its own.
func TestCallsChangeWhatLoopsUse(t *testing.T) {
	for _, tt := range []struct{ name, starts, uses, changes string }{
		{"in a register", "r3 = r2", "r4 = r3", "r3 = r1"},
		{"in the stack", "*(u64 *)(r10 - 8) = r2", "r4 = *(u64 *)(r10 - 8)", "*(u64 *)(r8 - 8) = r1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newLoopRig(t, 0)
			img := lower(t, "r8 = r10\nr9 = 0\n"+tt.starts+"\nl: "+tt.uses+"\nr0 = *(u8 *)(r4 + 30)\nif r9 != 4 goto n\ncall f\nn: r9 += 1\nif r9 != 40 goto l\nexit\n"+
				"f: "+tt.changes+"\nexit", nil)
			for range 4 {
				// The second object has 9000 bytes, the first 24.
				r.run(t, img, 0, 6, 0, 0, 1<<20)
				require.Equal(t, vm.Faulted, r.native.thread.Status())
				require.NotZero(t, r.native.engine.Executed())
			}
		})
	}
}

// TestLoopsThatCallThemselves: while a function waits in a loop, the same loop runs for another,
// larger object, and what it found out about that must not be taken for the first one's.
func TestLoopsThatCallThemselves(t *testing.T) {
	const text = `
	r0 = 1
	call f
	exit
f:	r6 = r1
	r7 = r2
	r8 = r3
	r9 = 0
	r0 = 1
l:	r4 = r6
	r4 += r8
	r5 = *(u8 *)(r4 + 0)
	r0 = 1
	if r9 != 2 goto n
	if r6 == r7 goto n
	r1 = r7
	r2 = r7
	r3 = 0
	call f
n:	r8 += r0
	r0 &= 7
	r0 |= 1
	r9 += 1
	if r9 < 200 goto l
	exit`
	r := newLoopRig(t, 0)
	img := lower(t, text, nil)
	for range 4 {
		// The first object has 24 bytes, the second 9000.
		r.run(t, img, 0, 6, 0, 0, 1<<20)
		require.Equal(t, vm.Faulted, r.native.thread.Status())
	}
}
