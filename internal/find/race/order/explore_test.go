package order

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var pairs = flag.Int("pairs", 300, "how many generated systems TestOutcomesAreThoseOfAllOrders explores")

// opKind is what an instruction of the model does.
type opKind uint8

const (
	opLoad  opKind = iota // r = memory[at]
	opStore               // memory[at] = r + imm
	opAdd                 // memory[at] += imm, atomically
	opSwap                // swap r and memory[at], atomically
	opSkip                // skip the next instruction if r is odd
	opTake                // take the lock at
	opDrop                // drop it
	opKinds
)

type op struct {
	kind     opKind
	at, size int
	imm      uint8
}

// model is a system of small programs on a few bytes: everything that a step depends on is in it.
type model struct {
	programs [][]op
	memory   [12]uint8
	locks    [2]int // holder + 1
	pc       []int
	r        []uint8
	buf      [1]Touch
}

func (m *model) Actors() int { return len(m.programs) }

func (m *model) Begin() {
	m.memory, m.locks = [12]uint8{}, [2]int{}
	m.pc, m.r = make([]int, len(m.programs)), make([]uint8, len(m.programs))
}

const locksAt = 1 << 20

func (m *model) Next(a int) (State, []Touch) {
	if m.pc[a] >= len(m.programs[a]) {
		return Done, nil
	}
	o := m.programs[a][m.pc[a]]
	t := Touch{Addr: uint64(o.at), Size: uint64(o.size)}
	switch o.kind {
	case opTake, opDrop:
		m.buf[0] = Touch{Addr: locksAt + uint64(o.at%2), Size: 1, Write: true}
		if o.kind == opTake && m.locks[o.at%2] != 0 {
			return Blocked, []Touch{m.buf[0]}
		}
		return Ready, []Touch{m.buf[0]}
	case opSkip:
		return Ready, nil
	case opStore, opAdd, opSwap:
		t.Write = true
	}
	m.buf[0] = t
	return Ready, append([]Touch(nil), t)
}

func (m *model) Step(a int) {
	o := m.programs[a][m.pc[a]]
	m.pc[a]++
	for i := o.at; i < o.at+o.size; i++ {
		switch o.kind {
		case opLoad:
			m.r[a] = m.r[a]*3 + m.memory[i]
		case opStore:
			m.memory[i] = m.r[a] + o.imm
		case opAdd:
			m.memory[i] += o.imm
		case opSwap:
			m.r[a], m.memory[i] = m.memory[i], m.r[a]
		}
	}
	switch o.kind {
	case opSkip:
		if m.r[a]&1 != 0 {
			m.pc[a]++
		}
	case opTake:
		m.locks[o.at%2] = a + 1
	case opDrop:
		if m.locks[o.at%2] == a+1 {
			m.locks[o.at%2] = 0
		}
	}
}

func (m *model) outcome() string { return fmt.Sprint(m.memory, m.r, m.pc, m.locks) }

// clone copies the state of a model.
func (m *model) clone() *model {
	c := *m
	c.pc, c.r = append([]int(nil), m.pc...), append([]uint8(nil), m.r...)
	return &c
}

// brute collects the outcomes of all orders with at most so many preemptions.
func (m *model) brute(at, left int, out map[string]bool) {
	can := []int{}
	for a := range m.programs {
		if s, _ := m.Next(a); s == Ready {
			can = append(can, a)
		}
	}
	if len(can) == 0 {
		out[m.outcome()] = true
		return
	}
	goesOn := false
	for _, a := range can {
		goesOn = goesOn || a == at
	}
	for _, a := range can {
		cost := 0
		if goesOn && a != at {
			cost = 1
		}
		if cost > left {
			continue
		}
		c := m.clone()
		c.Step(a)
		c.brute(a, left-cost, out)
	}
}

// generate makes a system of up to 12 accesses.
func generate(rng *rand.Rand) *model {
	m := &model{}
	actors := 2 + rng.IntN(2)
	most := 12 / actors
	for range actors {
		var p []op
		for range 1 + rng.IntN(most) {
			o := op{kind: opKind(rng.IntN(int(opKinds))), at: 6 + rng.IntN(4), size: 1, imm: uint8(rng.IntN(3))}
			if rng.IntN(3) == 0 && o.kind <= opAdd {
				o.size = 1 + rng.IntN(3)
			}
			p = append(p, o)
		}
		m.programs = append(m.programs, p)
	}
	return m
}

// explored collects the outcomes that an explorer finds.
func explored(t *testing.T, m *model, bound int, wrong mutation) (map[string]bool, Stats) {
	t.Helper()
	out := map[string]bool{}
	e := &Explorer{System: m, Preemptions: bound, without: wrong}
	e.Each = func(Order) bool {
		out[m.outcome()] = true
		return true
	}
	stats, err := e.Run(context.Background())
	require.NoError(t, err)
	require.True(t, stats.Complete)
	return out, stats
}

// TestOutcomesAreThoseOfAllOrders: the reduction loses no outcome and invents none. With a bound it
// may find more than the bound promises, since it learns which accesses others affect only by
// exploring.
func TestOutcomesAreThoseOfAllOrders(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	orders, cut := 0, 0
	for i := range *pairs {
		m := generate(rng)
		m.Begin()
		all := map[string]bool{}
		m.clone().brute(-1, Unbounded, all)
		for _, bound := range []int{0, 1, 2, Unbounded} {
			m.Begin()
			want := map[string]bool{}
			m.clone().brute(-1, bound, want)
			got, stats := explored(t, m, bound, none)
			for o := range want {
				require.Contains(t, got, o, "system %d with %d preemptions: %+v", i, bound, m.programs)
			}
			for o := range got {
				require.Contains(t, all, o, "system %d with %d preemptions: %+v", i, bound, m.programs)
			}
			orders, cut = orders+stats.Orders, cut+stats.Cut
		}
	}
	t.Logf("%d orders to their end, %d left early", orders, cut)
}

// TestMistakesInTheReductionAreNoticed: each mutation loses an outcome of some system.
func TestMistakesInTheReductionAreNoticed(t *testing.T) {
	for _, wrong := range []mutation{actorInKey, budgetInKey, relearning, noReaders, noWriters, firstWord} {
		rng := rand.New(rand.NewPCG(3, 4))
		noticed := false
		for range 3000 {
			m := generate(rng)
			for _, bound := range []int{1, 2, Unbounded} {
				right, _ := explored(t, m, bound, none)
				got, _ := explored(t, m, bound, wrong)
				noticed = noticed || !assert.ObjectsAreEqual(right, got)
			}
			if noticed {
				break
			}
		}
		assert.True(t, noticed, "mutation %d is not noticed", wrong)
	}
}

// TestEqualOrdersAreFollowedOnce: actors that touch different bytes have one order.
func TestEqualOrdersAreFollowedOnce(t *testing.T) {
	m := &model{programs: [][]op{{{opAdd, 0, 1, 1}, {opAdd, 0, 1, 1}, {opLoad, 5, 1, 0}}, {{opAdd, 1, 1, 1}, {opAdd, 1, 1, 1}, {opLoad, 5, 1, 0}}}}
	_, stats := explored(t, m, Unbounded, none)
	assert.LessOrEqual(t, stats.Orders+stats.Cut, 2, "once to learn that, and once to follow it")
}

// TestWaitingForEachOtherIsReported: two locks taken in different orders.
func TestWaitingForEachOtherIsReported(t *testing.T) {
	m := &model{programs: [][]op{{{opTake, 0, 1, 0}, {opTake, 1, 1, 0}, {opDrop, 1, 1, 0}, {opDrop, 0, 1, 0}}, {{opTake, 1, 1, 0}, {opTake, 0, 1, 0}, {opDrop, 0, 1, 0}, {opDrop, 1, 1, 0}}}}
	stuck := 0
	e := &Explorer{System: m, Preemptions: 1}
	e.Each = func(o Order) bool {
		if o.Stuck {
			stuck++
		}
		return true
	}
	_, err := e.Run(context.Background())
	require.NoError(t, err)
	assert.NotZero(t, stuck)
}

// TestRandomOrdersAreOrders: each outcome of a random order is one of all orders.
func TestRandomOrdersAreOrders(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 30 {
		m := generate(rng)
		m.Begin()
		want, got := map[string]bool{}, map[string]bool{}
		m.clone().brute(-1, Unbounded, want)
		e := &Explorer{System: m, Each: func(Order) bool { got[m.outcome()] = true; return true }}
		_, err := e.Run(context.Background())
		require.NoError(t, err)
		for range 200 {
			e.Random(rng, 2)
		}
		for o := range got {
			assert.Contains(t, want, o)
		}
	}
}

func TestExploringEndsWhenItIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	e := &Explorer{System: generate(rand.New(rand.NewPCG(7, 8))), Preemptions: Unbounded}
	e.Each = func(Order) bool { cancel(); return true }
	stats, err := e.Run(ctx)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 1, stats.Orders)
	assert.False(t, stats.Complete)
}

// TestRandomOrdersFollowPriorities: without points at which they change, one actor goes first until
// it is done; each has its turn to be first.
func TestRandomOrdersFollowPriorities(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	m := &model{programs: [][]op{{{opAdd, 0, 1, 1}, {opAdd, 0, 1, 1}}, {{opAdd, 0, 1, 1}, {opAdd, 0, 1, 1}}, {{opAdd, 0, 1, 1}, {opAdd, 0, 1, 1}}}}
	first := map[int]int{}
	e := &Explorer{System: m, Each: func(Order) bool { return true }}
	_, err := e.Run(context.Background())
	require.NoError(t, err)
	e.Each = func(o Order) bool {
		first[int(o.Trail[0])]++
		assert.Zero(t, o.Preemptions)
		return true
	}
	for range 60 {
		e.Random(rng, 0)
	}
	for actor := range m.programs {
		assert.Positive(t, first[actor], "actor %d", actor)
	}
}
