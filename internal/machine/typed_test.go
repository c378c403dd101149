package machine_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
)

// TestRecordsHaveTheStructTheirStoresMake: a struct of the right size is not enough. What programs
// store decides, or the definition of the map whose value is sent.
func TestRecordsHaveTheStructTheirStoresMake(t *testing.T) {
	m := compose(t, load(t, "../../testdata/objects/clang-14/silent.o", target(t, embedded.Name)), machine.Config{})
	for prog, want := range map[string]string{
		"ok_sends_number": "", "ok_sends_value": "struct pool", "ok_sends_padded": "struct padded", "ok_sends_numbers": "", "warn_padding_in_record": "struct padded",
	} {
		res := run(t, m, prog)
		require.Equal(t, machine.StatusOK, res.Status, "%v", res.Fault)
		require.Len(t, res.Events, 1, prog)
		got := ""
		if e := res.Events[0]; e.Type != 0 {
			got = m.EventTypes().Spec().TypeString(e.Type)
		}
		assert.Equal(t, want, got, prog)
	}
	assert.NotZero(t, m.EventTypes().Find("ring", 16))
	assert.Zero(t, m.EventTypes().Find("ring", 99))
}

// TestTypesOfTheKernelAreNoRecords: objects hold the types of a kernel whose memory they read.
func TestTypesOfTheKernelAreNoRecords(t *testing.T) {
	l := load(t, "../../testdata/objects/clang-14/silent.o", target(t, embedded.Name))
	padded, ok := l.Object.BTF.FindID(btf.KindStruct, "padded")
	require.True(t, ok)
	types := func() *btf.Spec { return l.Object.BTF }
	assert.Equal(t, padded, machine.NewEventTypes(types, l.Target.BTF, nil, l.Programs).Find("ring", 16))
	assert.Zero(t, machine.NewEventTypes(types, l.Target.BTF, []btf.ID{padded}, l.Programs).Find("ring", 16), "fields of it are relocated")
	assert.Zero(t, machine.NewEventTypes(types, l.Object.BTF, nil, l.Programs).Find("ring", 16), "the target has it")
	assert.Zero(t, machine.NewEventTypes(func() *btf.Spec { return nil }, l.Target.BTF, nil, l.Programs).Find("ring", 16))
}
