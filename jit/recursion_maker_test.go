//go:build linux && (amd64 || arm64)

package jit

import (
	"fmt"
	"math/rand/v2"
)

// The helpers of recursive programs.
const (
	helperInvoke   = 2 + iota // calls r5 back with the same arguments, once or twice
	helperNothing             // only returns
	helperChurn               // frees memory that nobody looks at
	helperBounds              // shortens object r1 of the run to some fourths of it, by r2
	helperReadOnly            // makes it so, or no longer so
	helperFree                // frees it
)

// recursionMaker writes random programs of functions with loops that call each other and
// themselves, as no verifier allows: the same loop then runs for several objects at once, in
// several frames. The program gets three objects in r1, r2 and r5, a number in r3, and how deep
// calls may go in r4; functions get two objects, a number and that.
type recursionMaker struct {
	loopMaker
	functions int
	endless   bool // nothing counts how deep calls go
	mayGoto   bool
	pointers  bool // the object is always taken from the stack, where functions that are called change it
	loses     bool // it is in r1, where calls leave the other one
	tame      bool // nothing goes beyond an object but at its end, so that much is called before

	// Of the function that is written.
	object, index, counter, other int // registers
	stack                         bool
	leaf                          bool // it calls none
}

// What functions were called with is in their stack.
const (
	stackObject = "*(u64 *)(r10 - 8)"
	stackOther  = "*(u64 *)(r10 - 16)"
	stackNumber = "*(u64 *)(r10 - 24)"
	stackDepth  = "*(u64 *)(r10 - 32)"
)

// recursion makes a program from a seed.
func recursion(seed uint64) string {
	m := &recursionMaker{loopMaker: loopMaker{Rand: rand.New(rand.NewPCG(seed, 3))}}
	m.functions, m.endless, m.mayGoto = one(m, 1, 1, 2, 2, 3), m.IntN(6) == 0, m.IntN(8) == 0
	m.tame, m.pointers = m.IntN(3) != 0, m.IntN(8) == 0
	m.loses = !m.pointers && m.IntN(8) == 0
	m.say("*(u64 *)(r10 - 8) = r1\n*(u64 *)(r10 - 16) = r2\n*(u64 *)(r10 - 24) = r3\n*(u64 *)(r10 - 32) = r4\n*(u64 *)(r10 - 40) = r5")
	m.say("r6 = r1\nr7 = r2\nr8 = r3\nr9 = 0\nr0 = 1")
	for range 1 + m.IntN(3) {
		m.begin()
	}
	m.say("exit")
	for i := range m.functions {
		m.function(i)
	}
	return m.out.String()
}

// one picks a value, as pick does.
func one[T any](m *recursionMaker, v ...T) T { return pick(&m.loopMaker, v...) }

// begin calls a function from the program itself, once or in a loop.
func (m *recursionMaker) begin() {
	head := ""
	if m.IntN(4) == 0 {
		head = m.label()
		m.say("r9 = %d\n%s:", 2+m.IntN(6), head)
	}
	m.say("r1 = *(u64 *)(r10 - %d)\nr2 = *(u64 *)(r10 - %d)", one(m, 8, 8, 8, 16, 40), one(m, 16, 16, 16, 8, 40))
	m.say("r3 = %s\nr4 = *(u64 *)(r10 - 32)", one(m, "0", "r8", "r8", "r0"))
	m.say("call f%d", m.IntN(m.functions))
	if head != "" {
		m.say("r9 += -1\nif r9 s> 0 goto %s", head)
	}
}

// function writes one. Its object, index and counter are in registers, in some that a call changes
// now and then, or those of its caller.
func (m *recursionMaker) function(i int) {
	r := m.Perm(4)
	m.object, m.index, m.counter, m.other = 6+r[0], 6+r[1], 6+r[2], 6+r[3]
	end := m.label()
	m.say("f%d:", i)
	if m.IntN(10) == 0 {
		m.say("if r4 s< 0 goto %s", end)
	}
	m.stack = m.pointers || m.loses || m.IntN(6) != 0
	m.leaf = !m.stack && m.IntN(2) == 0
	if m.stack {
		m.say("*(u64 *)(r10 - 8) = r1\n*(u64 *)(r10 - 16) = r2\n*(u64 *)(r10 - 24) = r3\n*(u64 *)(r10 - 32) = r4")
	}
	switch k := m.IntN(12); { // registers in which calls leave something else
	case m.loses:
		m.object = 1
	case k == 0:
		m.object = 2
	case k == 1:
		m.index = 3
	}
	m.set(m.object, 1)
	if m.stack {
		m.set(m.other, 2)
	} else {
		m.set(m.other, 4)
	}
	m.say("r0 = %d", m.IntN(3))
	if !m.wild(4) {
		m.say("r%d = %s", m.counter, one(m, "0", "0", "r3", "7"))
	}
	switch {
	case m.index == 3 || m.wild(4):
	case m.loses:
		m.say("r%d = 0", m.index)
	default:
		m.say("r%d = %s", m.index, one(m, "r3", "r3", "r3", "0"))
	}
	if m.IntN(5) == 0 {
		m.call()
	}
	for range 1 + m.IntN(2) {
		m.turns(true)
		if m.IntN(5) == 0 {
			m.call()
		}
	}
	if m.wild(2) {
		m.access(m.address(), m.size(), 0)
	}
	switch {
	case m.pointers:
		m.say("r5 = r%d\nr5 += %d\n*(u64 *)(r%d + 0) = r5", m.object, one(m, 0, 8, 30, 100), m.other)
	case m.loses:
		m.say("r1 = %s", stackOther)
	}
	if m.wild(8) { // into a function, with the stack and what returns from here
		m.say("r0 += 1\nif r0 %s goto %s", one(m, "& 1", "s> 40"), fmt.Sprintf("f%d", m.IntN(m.functions)))
	}
	m.say("%s:", end)
	if i+1 == m.functions || !m.wild(12) { // or continue in the next one
		m.say("exit")
	}
}

// wild decides whether a program that is not tame does something, once in n times.
func (m *recursionMaker) wild(n int) bool { return !m.tame && m.IntN(n) == 0 }

// set makes a register what the function was called with, unless the function uses what its caller
// has in it.
func (m *recursionMaker) set(r, from int) {
	if r != from && !m.wild(6) {
		m.say("r%d = r%d", r, from)
	}
}

// turns writes a loop.
func (m *recursionMaker) turns(outer bool) {
	head, exit := m.label(), m.label()
	c, step, n := m.counter, 1, one(m, 5, 12, 40, 40, 80, 80, 200)
	if !outer {
		n = 1 + m.IntN(8)
	}
	switch m.IntN(5) {
	case 0: // the counter is the index
		c = m.index
		n = one(m, n, 1+m.IntN(300))
		if m.IntN(2) == 0 {
			m.say("r%d = 0", c)
		}
	case 1: // a number that calls may change
		if outer && m.index != 3 {
			c = 3
		}
		m.say("r%d = 0", c)
	default:
		m.say("r%d = %d", c, one(m, 0, 0, 0, 0, 0, n-3))
	}
	m.say("%s:", head)
	for range 1 + m.IntN(3) {
		m.statement(c, outer, exit)
	}
	if outer && m.IntN(5) == 0 && (m.stack || m.wild(2)) {
		old := m.counter
		m.counter = m.other
		m.turns(false)
		m.counter = old
	}
	if outer && m.IntN(6) != 0 {
		m.say("if r%d %s goto n%s", c, one(m, "!= 1", "!= 2", "!= 3", "!= 6", "!= 18", "& 3", "& 7", "< 5"), head)
		m.call()
		if m.IntN(3) == 0 {
			m.access(m.address(), "u8", 0)
		}
		m.say("n%s:", head)
	}
	for range m.IntN(3) {
		m.statement(c, outer, exit)
	}
	if c != m.index {
		m.say("r%d += %s", m.index, one(m, "1", "1", "1", "1", "2", "8", "r0\nr0 &= 7\nr0 |= 1"))
	}
	m.say("r%d += %d", c, step)
	m.say("if r%d %s %d goto %s", c, one(m, "<", "<", "s<", "!=", "<="), n, head)
	m.say("%s:", exit)
}

// access loads from a place or stores to it. Programs with pointers in the stack only load, so that
// nothing but calls changes them.
func (m *recursionMaker) access(base int, size string, off int) {
	if m.pointers {
		m.say("r4 = *(%s *)(r%d + 0)\nr0 += r4", size, base)
		return
	}
	m.loopMaker.access(base, size, off)
}

func (m *recursionMaker) size() string { return one(m, "u8", "u8", "u8", "u16", "u32", "u64") }

// address makes one of something in an object and returns its register.
func (m *recursionMaker) address() int {
	if m.pointers {
		m.say("r5 = %s\nr5 += r%d", stackObject, m.index)
		return 5
	}
	k := m.IntN(8)
	switch {
	case !m.stack && k == 0:
		k = 7
	case m.tame && k > 0:
		k += 4
	}
	switch k {
	case 0: // the other object, which is in the stack
		m.say("r5 = %s\nr5 += r%d", one(m, stackOther, stackOther, stackObject), m.index)
	case 1:
		m.say("r5 = r%d\nr5 += r%d", m.index, m.object)
	case 2:
		m.say("r5 = r%d\nr5 += r%d\nr5 += %d", m.object, m.index, one(m, 1, 8, -8))
	case 3, 4:
		m.say("r5 = r%d\nr5 += r%d", one(m, m.other, m.object, m.object), m.counter)
	default:
		m.say("r5 = r%d\nr5 += r%d", m.object, m.index)
	}
	return 5
}

func (m *recursionMaker) statement(c int, outer bool, exit string) {
	over := ""
	if m.IntN(6) == 0 {
		over = m.label()
		m.say("if %s goto %s", one(m, "r0 & 1", fmt.Sprintf("r%d > 4", c), "w0 s> 99"), over)
	}
	switch k := m.IntN(24); {
	case m.tame && k < 12:
		m.access(m.address(), one(m, "u8", "u8", "u16"), 0)
	case k < 11:
		m.access(m.address(), m.size(), one(m, 0, 0, 0, 0, 0, 1, 8, -1))
	case k < 13:
		m.access(m.object, m.size(), one(m, 0, 8, 16, 17, 23, 30, 60))
	case k == 13 && !m.tame:
		m.say("r%d += %d", one(m, m.object, m.object, m.other), one(m, 1, 1, 2, -1))
	case k < 16:
		m.say("%s", one(m, "r0 &= 255", "r0 ^= r3", "r0 |= 1", "w0 += 1", "r3 += 1", fmt.Sprintf("r0 += r%d", m.other)))
	case k == 16 && m.stack:
		m.say("*(u64 *)(r10 - %d) = r0\nr0 = *(u64 *)(r10 - %d)", 8*(5+m.IntN(3)), 8*(5+m.IntN(3)))
	case k == 17 && m.mayGoto:
		m.say("may_goto %s", exit)
	case k == 18 && outer:
		m.call()
	case k == 19:
		m.say("r1 = r%d\ncall %d", one(m, c, m.index), helperNothing)
	case k == 20 && m.IntN(2) == 0: // what was known of memory has to be looked at again, or no longer holds
		there := m.label()
		m.say("if r%d != %d goto %s\nr1 = %d\nr2 = %d\ncall %d\n%s:", c, m.IntN(8), there, m.IntN(3), m.IntN(5),
			one(m, helperChurn, helperChurn, helperChurn, helperBounds, helperReadOnly, helperFree), there)
	case k == 21 && m.stack && outer && m.IntN(2) == 0: // a pointer in the stack
		m.say("r5 = %s\nr5 += 1\n%s = r5", stackOther, stackOther)
	case k == 22 && !m.tame: // or in that of the caller
		m.say("*(u64 *)(r%d + 0) = r%d", m.other, m.object)
	}
	if over != "" {
		m.say("%s:", over)
	}
}

// call calls a function, mostly unless it is too deep, sometimes through a helper that calls back.
func (m *recursionMaker) call() {
	if m.leaf {
		return
	}
	over := ""
	number := one(m, "0", "0", fmt.Sprintf("r%d", m.index), stackNumber, "1", "16")
	first, second := m.argument(), m.argument()
	if m.loses { // r1 stays as it is
		first, second = "r1", stackOther
	}
	if m.stack {
		m.say("r4 = %s", stackDepth)
	} else {
		m.say("r4 = r%d", m.other)
		number = one(m, "0", "1", fmt.Sprintf("r%d", m.index))
	}
	if !m.endless {
		over = m.label()
		m.say("if r4 s<= 0 goto %s\nr4 += -1", over)
	}
	m.say("r3 = %s", number)
	if first != "r1" {
		m.say("r1 = %s", first)
	}
	m.say("r2 = %s", second)
	switch {
	case m.pointers:
		m.say("r2 = r10\nr2 += -8")
	case m.stack && m.wild(3): // the stack of the function that calls, or a pointer there
		m.say("r2 = r10\nr2 += %d", one(m, -64, -16, -8))
	}
	f := m.IntN(m.functions)
	if m.IntN(8) == 0 {
		m.say("r5 = func(f%d)\ncall %d", f, helperInvoke)
	} else {
		m.say("call f%d", f)
	}
	if over != "" {
		m.say("%s:", over)
	}
}

// argument is one of the objects of the function.
func (m *recursionMaker) argument() string {
	object := fmt.Sprintf("r%d", m.object)
	if !m.stack {
		return object
	}
	return one(m, object, stackOther, stackOther, stackOther, stackObject)
}
