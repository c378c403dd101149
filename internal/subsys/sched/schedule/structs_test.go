package schedule

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
)

// TestArgumentsHaveTheFieldsOfTheKernel: what a release's struct lacks is left out, what it has
// must hold the value, and later calls use the same object.
func TestArgumentsHaveTheFieldsOfTheKernel(t *testing.T) {
	m := on(t, "schedfifo", kernel72, machine.Config{})
	d := &driver{Driver: &drive.Driver{M: m}, args: map[string]*object.Object{}}
	o, err := d.structOf("scx_exit_info", map[string]any{"kind": 3, "of_another_release": 7})
	require.NoError(t, err)
	assert.EqualValues(t, 3, o.Num("kind"))
	again, err := d.structOf("scx_exit_info", map[string]any{"exit_code": 9})
	require.NoError(t, err)
	assert.Same(t, o, again)
	assert.Equal(t, [2]uint64{3, 9}, [2]uint64{o.Num("kind"), o.Num("exit_code")})
	_, err = d.structOf("scx_exit_info", map[string]any{"exit_code": "text"})
	assert.ErrorIs(t, err, object.ErrValue)
	_, err = d.structOf("scx_nothing", nil)
	assert.Error(t, err)
}
