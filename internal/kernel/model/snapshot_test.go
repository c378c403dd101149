package model

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/kernel/window"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/testing/snaptest"
)

func TestModelRestoresEveryField(t *testing.T) {
	mm, err := mem.New(mem.Config{})
	require.NoError(t, err)
	defer mm.Close()
	s := object.New(object.Config{Mem: mm, Types: object.NewTypes(), CPUs: 2})
	u, err := window.NewUser(s)
	require.NoError(t, err)
	m := NewModel(s, u)
	objects := make([]*object.Object, 8)
	for i := range objects {
		objects[i], err = s.NewBytes(strconv.Itoa(i), []byte{0})
		require.NoError(t, err)
	}
	of := func(n int) *object.Object { return objects[n] }
	snaptest.Check(t, m, map[string]snaptest.Field{
		"cpu": snaptest.Number(&m.cpu),
		"current": {Set: func(n int) { m.current[0] = of(n) }, Get: func() any {
			return m.current[0].Role()
		}},
		"made":         snaptest.UndoMap(&m.made, of, []*object.Object{of(0)}),
		"areas":        snaptest.UndoMap(&m.areas, of, []*object.Object{of(0)}),
		"cgroupByPath": snaptest.UndoMap(&m.cgroupByPath, strconv.Itoa, of(0)),
		"xattrs":       snaptest.UndoMap(&m.xattrs, func(n int) XattrKey { return XattrKey{"/f", strconv.Itoa(n)} }, "value"),
	}, func() func() {
		c := m.Snapshot()
		return func() { m.Restore(c) }
	})
}
