package kernel

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// lying is a kernel whose types claim what cannot be.
func lying(t *testing.T) (k *Kernel, nothing btf.ID) {
	t.Helper()
	b := btf.NewBuilder(nil)
	u8, u32 := b.Int("unsigned char", 1, 0), b.Int("unsigned int", 4, 0)
	nothing = b.Int("nothing", 0, 0)
	b.Struct("trace_event_raw_huge", 32<<20, btf.Member{Name: "b", Type: b.Array(u8, u32, 32<<20)})
	b.Struct("task_struct", 4096, btf.Member{Name: "pid", Type: u32}, btf.Member{Name: "endless", Type: b.Array(u8, u32, 1<<32-1), BitOffset: 32})
	b.Struct("whale", 1<<20+1, btf.Member{Name: "b", Type: u8})
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	return newKernel(t, targetBTF{"lies", spec, object.NewTypes()}), nothing
}

func TestRecordsHaveABound(t *testing.T) {
	k, _ := lying(t)
	_, err := k.NewContext(hook.ContextSpec{ProgType: uapi.ProgTypeTracepoint, AttachTo: "sub/huge"})
	var wrong *object.TypeError
	require.ErrorAs(t, err, &wrong)
	assert.Equal(t, "trace_event_raw_huge", wrong.Type)
}

func TestObjectsHaveABound(t *testing.T) {
	k, _ := lying(t)
	_, err := k.NewObjectNamed("w", "whale")
	assert.True(t, errors.Is(err, object.ErrNoMemory), "%v", err)
}

func TestTypesWithoutSize(t *testing.T) {
	k, nothing := lying(t)
	for _, name := range []string{"", "len", "start_time"} {
		assert.Zero(t, k.DefaultScalar("arg", name, k.BTF(), nothing, 0))
	}
}

func TestAnyKnownEndsWithTheObject(t *testing.T) {
	k, _ := lying(t)
	o, err := k.NewObjectNamed("t", "task_struct")
	require.NoError(t, err)
	assert.False(t, k.AnyKnown(o.Addr()+4, 1<<40))
	require.NoError(t, o.Set("pid", 7))
	assert.False(t, k.AnyKnown(o.Addr()+4, 1<<40))
	assert.True(t, k.AnyKnown(o.Addr(), 1<<40))
	assert.True(t, k.AnyKnown(o.Addr()+3, 1))
	assert.False(t, k.AnyKnown(0x10, 8))
}
