package machine_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/machine"
)

func TestEventTypes(t *testing.T) {
	b := btf.NewBuilder(nil)
	u32, u64 := b.Int("u32", 4, 0), b.Int("u64", 8, 0)
	list := b.Struct("list_head", 16, btf.Member{Name: "next", Type: u64}, btf.Member{Name: "prev", Type: u64, BitOffset: 64})
	own := b.Struct("file", 24, btf.Member{Name: "our_own", Type: u32})
	alone := b.Struct("stat", 16, btf.Member{Name: "ours", Type: u32})
	ambiguous := b.Struct("one", 40, btf.Member{Name: "a", Type: u32})
	event := b.Struct("exec_event", 40, btf.Member{Name: "b", Type: u32})
	b.Struct("first", 8, btf.Member{Name: "c", Type: u32})
	b.Struct("second", 8, btf.Member{Name: "d", Type: u32})
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	kernel, err := embedded.Spec()
	require.NoError(t, err)

	e := machine.NewEventTypes(func() *btf.Spec { return spec }, kernel, nil)
	assert.Equal(t, alone, e.Find(16), "list_head is the kernel's")
	assert.Equal(t, own, e.Find(24), "the kernel's struct of that name is another one")
	assert.Equal(t, event, e.Find(40), "its name speaks of events, that of %d does not", ambiguous)
	assert.Zero(t, e.Find(8), "two fit")
	assert.Zero(t, e.Find(99), "none fits")
	holder := b.Struct("a_struct_of_another_kernel", 48, btf.Member{Name: "in", Type: b.Ptr(b.Array(own, u32, 2))})
	more, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	e = machine.NewEventTypes(func() *btf.Spec { return more }, kernel, []btf.ID{holder})
	assert.Zero(t, e.Find(48), "fields of it are relocated")
	assert.Zero(t, e.Find(24), "it leads to this one")
	assert.Equal(t, event, e.Find(40))
	assert.Zero(t, machine.NewEventTypes(func() *btf.Spec { return spec }, nil, nil).Find(16), "without a target list_head (%d) fits too", list)
	assert.Zero(t, machine.NewEventTypes(func() *btf.Spec { return nil }, kernel, nil).Find(16))
}
