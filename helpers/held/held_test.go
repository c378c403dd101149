package held

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/vm"
)

// TestKindsAreKeptApart: an object and the lock at its start have one address.
func TestKindsAreKeptApart(t *testing.T) {
	var l Ledger
	l.Take(Reference, 0x1000, "object")
	l.Take(SpinLock, 0x1000, "")
	assert.True(t, l.Locked())
	require.True(t, l.Give(SpinLock, 0x1000))
	assert.False(t, l.Locked())
	assert.False(t, l.Give(SpinLock, 0x1000), "unlocked already")
	assert.Equal(t, []Thing{{Kind: Reference, Addr: 0x1000, Name: "object"}}, l.Things())
	assert.False(t, l.Give(Reference, 0x1001))
	assert.True(t, l.Give(Reference, 0x1000))
	assert.Empty(t, l.Things())
}

// What was given back last at an address is told with the place, for the last few things.
func TestGivenThingsAreRemembered(t *testing.T) {
	pc := 0
	l := Ledger{Here: func() (*vm.Image, int) { return nil, pc }}
	give := func(addr uint64, at int) {
		l.Take(Record, addr, "")
		pc = at
		require.True(t, l.Give(Record, addr))
	}
	_, ok := l.Given(0x10)
	assert.False(t, ok)
	give(0x10, 3)
	give(0x20, 5)
	give(0x10, 9)
	last, ok := l.Given(0x10)
	require.True(t, ok)
	assert.Equal(t, Thing{Kind: Record, Addr: 0x10, PC: 9}, last)
	copied := l.Clone()
	for i := range Remembered {
		give(uint64(0x100+i), i)
		found, ok := l.Given(uint64(0x100 + i))
		require.True(t, ok)
		assert.Equal(t, i, found.PC)
	}
	_, ok = l.Given(0x10)
	assert.False(t, ok, "only the last are remembered")
	_, ok = copied.Given(0x20)
	assert.True(t, ok)
	l.Reset()
	_, ok = l.Given(0x100)
	assert.False(t, ok)
}

// TestEnginesTakeLocks: what an engine did with the only lock is recorded at once; a lock is not
// remembered when it is released, since its memory stays.
func TestEnginesTakeLocks(t *testing.T) {
	var l Ledger
	l.Take(Reference, 0x10, "task")
	assert.Zero(t, l.OnlyLock())
	l.SetLock(0x20, nil, 4)
	assert.EqualValues(t, 0x20, l.OnlyLock())
	assert.Equal(t, []Thing{{Kind: Reference, Addr: 0x10, Name: "task"}, {Kind: SpinLock, Addr: 0x20, PC: 4}}, l.Things())
	l.SetLock(0x30, nil, 9)
	assert.EqualValues(t, 0x30, l.OnlyLock())
	l.Take(SpinLock, 0x40, "")
	assert.Zero(t, l.OnlyLock(), "there are two")
	assert.True(t, l.Give(SpinLock, 0x40))
	l.SetLock(0, nil, 0)
	assert.False(t, l.Locked())
	assert.Len(t, l.Things(), 1)
	_, ok := l.Given(0x40)
	assert.False(t, ok)
}

func TestSectionsNest(t *testing.T) {
	var l Ledger
	assert.False(t, l.Leave(RCU))
	l.Take(RCU, 0, "")
	l.Take(Preempt, 0, "")
	l.Take(RCU, 0, "")
	assert.True(t, l.Leave(RCU))
	assert.Equal(t, []Thing{{Kind: RCU}, {Kind: Preempt}}, l.Things(), "the inner one")
	assert.True(t, l.Leave(RCU))
	assert.False(t, l.Leave(RCU))
}

func TestLedgersAreIndependent(t *testing.T) {
	at := func() (*vm.Image, int) { return nil, 7 }
	a := Ledger{Here: at}
	a.Take(SpinLock, 1, "")
	b := a.Clone()
	b.Take(Reference, 2, "task")
	all := a.Join(&b, &Ledger{})
	assert.Len(t, a.Things(), 1)
	assert.Equal(t, 7, a.Things()[0].PC)
	assert.Len(t, all.Things(), 3)
	require.True(t, all.Give(SpinLock, 1))
	assert.True(t, all.Locked(), "that of the other")
	require.True(t, all.Give(SpinLock, 1))
	assert.False(t, all.Locked())
	a.Reset()
	assert.False(t, a.Locked())
	assert.Empty(t, a.Things())
	assert.Len(t, b.Things(), 2)
}

func TestMessages(t *testing.T) {
	for _, c := range []struct {
		thing               Thing
		by, leaked, notHeld string
	}{
		{Thing{Reference, 0x10, "task", nil, 0}, "bpf_task_release", "the program exited while holding task 0x10", "bpf_task_release of 0x10, for which this program holds no reference"},
		{Thing{Record, 0x10, "", nil, 0}, "bpf_ringbuf_submit", "the program exited while holding ring buffer record 0x10", "bpf_ringbuf_submit of 0x10, which is not a reserved ring buffer record"},
		{Thing{RecordDynptr, 0x10, "", nil, 0}, "f", "the program exited while holding ring buffer dynptr 0x10", "f of 0x10, which is not a reserved ring buffer dynptr"},
		{Thing{SpinLock, 0x10, "", nil, 0}, "bpf_spin_unlock", "the program exited while holding spin lock 0x10", "bpf_spin_unlock of 0x10, which this program has not locked"},
		{Thing{RCU, 0, "", nil, 0}, "bpf_rcu_read_unlock", "the program exited inside an RCU read section", "bpf_rcu_read_unlock outside of an RCU read section"},
		{Thing{Preempt, 0, "", nil, 0}, "f", "the program exited inside a section with preemption disabled", "f outside of a section with preemption disabled"},
		{Thing{IRQ, 0x10, "", nil, 0}, "f", "the program exited inside a section with interrupts disabled", "f from 0x10, which holds no saved flags"},
	} {
		assert.Equal(t, c.leaked, c.thing.Leaked())
		assert.Equal(t, c.notHeld, (&NotHeld{By: c.by, Kind: c.thing.Kind, Addr: c.thing.Addr}).Error())
	}
}
