package race

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// calledInSteps lets programs of the test object meet as a simulation calls them: each call is a
// program, the number of its socket and its step.
func calledInSteps(t *testing.T, m *machine.Machine, only []string, calls ...[3]any) *Overlaps {
	t.Helper()
	first := m.HookSocket("of_socket", machine.Input{})
	second, err := m.Kernel().Twin(first)
	require.NoError(t, err)
	another(second, 1)
	frame, err := packet.Parse("eth/ip/tcp/'?A34'")
	require.NoError(t, err)
	def, ok := m.MapByName("left")
	require.True(t, ok)
	require.Zero(t, def.Update(0, []byte{0, 0, 0, 0}, []byte{5, 0, 0, 0, 0, 0, 0, 0}, 0))
	o := NewOverlaps(m, newest, only, func() (Config, bool) { return Config{Preemptions: 2}, true })
	for _, c := range calls {
		op := Operation{Name: c[0].(string) + " of " + []string{"first", "second"}[c[1].(int)], Program: c[0].(string), Step: c[2].(int)}
		sk := []*object.Object{first, second}[c[1].(int)]
		op.Input.Packet, op.Input.Net.Socket, op.About = frame, sk, []uint64{sk.Addr()}
		require.NoError(t, o.Called(context.Background(), op))
		res, err := m.Run(context.Background(), op.Program, op.Input)
		require.NoError(t, err)
		require.True(t, res.Ran && res.Fault == nil)
	}
	return o
}

// TestStepsOfASimulationMeet: those of different sockets, on two CPUs and in the middle of each
// other. One socket's never do, and neither does what one step causes.
func TestStepsOfASimulationMeet(t *testing.T) {
	for _, tt := range []struct {
		name  string
		only  []string
		calls [][3]any
		want  []string // the meetings
		found string   // "" for nothing
	}{
		{"two sockets", nil, [][3]any{{"spend", 0, 1}, {"spend", 1, 2}}, []string{
			"spend of first and spend of second on two CPUs",
			"spend of second in the middle of spend of first, in an interrupt",
			"spend of first in the middle of spend of second, in an interrupt",
		}, "an update of left[0] is lost"},
		{"atomic operations", nil, [][3]any{{"spend_right", 0, 1}, {"spend_right", 1, 2}}, []string{
			"spend_right of first and spend_right of second on two CPUs",
			"spend_right of second in the middle of spend_right of first, in an interrupt",
			"spend_right of first in the middle of spend_right of second, in an interrupt",
		}, ""},
		{"one socket", nil, [][3]any{{"spend", 0, 1}, {"spend", 0, 2}}, nil, ""},
		{"one step", nil, [][3]any{{"spend", 0, 1}, {"spend", 1, 1}}, nil, ""},
		{"nothing shared", nil, [][3]any{{"cut", 0, 1}, {"spend", 1, 2}}, nil, ""},
		{"other programs", []string{"note"}, [][3]any{{"spend", 0, 1}, {"spend", 1, 2}}, nil, ""},
		{"after what came first on its socket", nil, [][3]any{{"spend", 0, 1}, {"cut", 1, 2}, {"spend", 1, 3}}, []string{
			"spend of first and spend of second on two CPUs",
			"spend of second in the middle of spend of first, in an interrupt",
			"spend of first in the middle of spend of second, in an interrupt",
		}, "an update of left[0] is lost"},
		{"before what came first on its socket", nil, [][3]any{{"spend", 0, 1}, {"cut", 1, 2}, {"cut", 0, 3}, {"spend", 1, 3}}, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, c := range compilers {
				m := machineOf(t, filepath.Join("testdata", c, "sockets.o"), uapi.ReleaseOf(newest.Version))
				o := calledInSteps(t, m, tt.only, tt.calls...)
				var names, found []string
				for i := range o.Meetings {
					names = append(names, o.Meetings[i].Name)
					found = append(found, texts(o.Reports[i].Findings)...)
				}
				assert.Equal(t, tt.want, names, c)
				if tt.found == "" {
					assert.Empty(t, found, c)
					continue
				}
				assert.True(t, slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, tt.found) }), "%s: %v", c, found)
			}
		})
	}
}

// TestAFindingHasTheCallsBefore: those of the simulation, and then what its own step did.
func TestAFindingHasTheCallsBefore(t *testing.T) {
	m := machineOf(t, "testdata/clang-19/sockets.o", 0)
	o := calledInSteps(t, m, nil, [3]any{"note_right", 0, 1}, [3]any{"spend", 0, 2}, [3]any{"cut", 1, 3}, [3]any{"spend", 1, 3})
	require.NotEmpty(t, o.Reports)
	require.NotEmpty(t, o.Reports[0].Findings)
	var before []string
	var cpus []int
	for _, e := range o.Reports[0].Findings[0].Earlier {
		before, cpus = append(before, e.Program), append(cpus, e.Input.CPU)
	}
	assert.Equal(t, []string{"note_right", "cut"}, before)
	assert.Equal(t, []int{0, 1}, cpus, "on the second one's CPU")
}
