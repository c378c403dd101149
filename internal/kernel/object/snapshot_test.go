package object

import (
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/testing/snaptest"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// newSpace makes a space without types.
func newSpace(t *testing.T) *Space {
	t.Helper()
	m, err := mem.New(mem.Config{})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return New(Config{Mem: m, Types: NewTypes()})
}

func TestSpaceRestoresEveryField(t *testing.T) {
	s := newSpace(t)
	o, err := s.NewBytes("kept", []byte{1})
	require.NoError(t, err)
	snaptest.Check(t, s, map[string]snaptest.Field{
		"mode":    snaptest.Number(&s.mode),
		"prog":    snaptest.Value(&s.prog, func(n int) uapi.ProgType { return uapi.ProgType(n) }),
		"noLoads": {Set: func(n int) { s.noLoads = n == 1 }, Get: func() any { return s.noLoads }},
		"failed":  snaptest.Value(&s.failed, func(n int) error { return errors.New(strconv.Itoa(n)) }),
		"objects": {Set: func(n int) {
			_, err := s.NewBytes(fmt.Sprint("object ", n), []byte{2})
			require.NoError(t, err)
		}, Get: func() any { return len(s.Objects()) }},
		"byRole": snaptest.UndoMap(&s.byRole, strconv.Itoa, o),
	}, func() func() {
		c := s.Snapshot()
		return func() { s.Restore(c) }
	})
}

func TestObjectsRestoreEveryField(t *testing.T) {
	s := newSpace(t)
	o, err := s.MakeBytes("object", 8, nil)
	require.NoError(t, err)
	// Every row goes through touch, as all code that changes an object does: a snapshot shares the
	// state until then.
	row := func(set func(n int, st *state), get func() any) snaptest.Field {
		return snaptest.Field{Set: func(n int) { set(n, o.touch()) }, Get: get}
	}
	snaptest.Check(t, o.st, map[string]snaptest.Field{
		"data":      row(func(n int, st *state) { st.data[0] = byte(n) }, func() any { return o.Bytes() }),
		"flags":     row(func(n int, st *state) { st.flags[0] = byteState(n) }, func() any { return append([]byteState(nil), o.st.flags...) }),
		"members":   row(func(n int, st *state) { st.members = append(st.members, member{path: fmt.Sprint(n)}) }, func() any { return append([]member(nil), o.st.members...) }),
		"populated": row(func(n int, st *state) { st.populated = n == 1 }, func() any { return o.st.populated }),
	}, func() func() {
		c := s.Snapshot()
		return func() { s.Restore(c) }
	})
}

func TestSnapshotsKeepTheReceiverOfAccesses(t *testing.T) {
	s := newSpace(t)
	c := s.Snapshot()
	s.SetSink(func(*Access) {})
	s.Restore(c)
	assert.NotNil(t, s.sink, "the receiver belongs to whoever runs, not to the state")
}
