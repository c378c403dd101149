package machine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// TestRecordsHaveTheTypesOfDWARF: compilers leave the struct of a record out of BTF when no map,
// function or variable leads to it.
func TestRecordsHaveTheTypesOfDWARF(t *testing.T) {
	obj, err := loader.Open("../../testdata/objects/clang-14/records.o")
	require.NoError(t, err)
	_, inBTF := obj.BTF.Find(btf.KindStruct, "opened")
	require.False(t, inBTF)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	l, err := obj.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{})
	require.NoError(t, err)
	m, err := machine.New(l, machine.Config{Seed: 1})
	require.NoError(t, err)
	defer m.Close()
	res, err := m.Run(context.Background(), "on_openat", machine.Input{})
	require.NoError(t, err)
	require.Len(t, res.Events, 1)
	e := res.Events[0]
	types := m.EventTypes().Spec()
	assert.Equal(t, "struct opened", types.TypeString(e.Type))
	assert.Regexp(t, `^\{ids = \d+, place = \{cpu = 0, pad = 0\}, comm = "bash-45"\}$`, types.FormatString(e.Type, e.Data))
	assert.Same(t, obj.BTF, types.Base(), "the ids of the object's BTF stay")
}
