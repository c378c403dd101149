package window

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/clock"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/testing/snaptest"
)

// newSpace makes a space without types.
func newSpace(t *testing.T) *object.Space {
	t.Helper()
	m, err := mem.New(mem.Config{})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return object.New(object.Config{Mem: m, Types: object.NewTypes(), CPUs: 2})
}

func TestUserRestoresEveryField(t *testing.T) {
	u, err := NewUser(newSpace(t))
	require.NoError(t, err)
	snaptest.Check(t, u, map[string]snaptest.Field{
		"heap":    snaptest.Number(&u.heap),
		"above":   snaptest.Number(&u.above),
		"strings": snaptest.UndoMap(&u.strings, strconv.Itoa, 7),
	}, func() func() {
		c := u.Snapshot()
		return func() { u.Restore(c) }
	})
}

func TestPerCPURestoresEveryField(t *testing.T) {
	p, err := NewPerCPU(newSpace(t))
	require.NoError(t, err)
	snaptest.Check(t, p, map[string]snaptest.Field{
		"vars":      snaptest.Slice(&p.vars, func(n int) percpuVar { return percpuVar{off: uint64(n)} }),
		"next":      snaptest.Number(&p.next),
		"instances": snaptest.UndoMap(&p.instances, func(n int) percpuKey { return percpuKey{v: n} }, &object.Object{}),
	}, func() func() {
		c := p.Snapshot()
		return func() { p.Restore(c) }
	})
}

func TestSymbolsRestoreEveryField(t *testing.T) {
	s := newSpace(t)
	p, err := NewPerCPU(s)
	require.NoError(t, err)
	c := clock.New(clock.Config{})
	y, err := NewSymbols(s, p, &c, nil)
	require.NoError(t, err)
	snaptest.Check(t, y, map[string]snaptest.Field{
		"extra":  snaptest.Slice(&y.extra, strconv.Itoa),
		"byName": snaptest.UndoMap(&y.byName, strconv.Itoa, 7),
	}, func() func() {
		c := y.Snapshot()
		return func() { y.Restore(c) }
	})
}
