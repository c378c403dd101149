package race

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/machine"
)

// TestStoresThatOthersSeeLater: what each kind of processor may do, and no more.
func TestStoresThatOthersSeeLater(t *testing.T) {
	for _, tt := range []struct {
		a, b   string
		memory Memory
		wrong  bool
	}{
		{"send_plain", "receive", Sequential, false},
		{"send_plain", "receive", X86, false},
		{"send_plain", "receive", ARM64, true},
		{"send_ordered", "receive", ARM64, false},
		{"first_there", "second_there", Sequential, false},
		{"first_there", "second_there", X86, true},
		{"first_there", "second_there", ARM64, true},
		{"first_ordered", "second_ordered", X86, false},
		{"first_ordered", "second_ordered", ARM64, false},
	} {
		for _, c := range compilers {
			m := machineOf(t, "testdata/"+c+"/weak.o", 0)
			actors := []Actor{{Program: tt.a, Over: -1}, {Program: tt.b, Over: -1, Input: machine.Input{CPU: 1}}}
			r, err := Run(context.Background(), m, actors, Config{Preemptions: 2, Memory: tt.memory})
			require.NoError(t, err)
			assert.True(t, r.Complete)
			wrong := false
			for _, f := range r.Findings {
				wrong = wrong || !f.Benign
			}
			assert.Equal(t, tt.wrong, wrong, "%s and %s, memory %d, %s: %v", tt.a, tt.b, tt.memory, c, texts(r.Findings))
		}
	}
}

// TestCorrectProgramsAreCorrectOnARM64 too, since what they use orders memory.
func TestCorrectProgramsAreCorrectOnARM64(t *testing.T) {
	m := machineOf(t, "testdata/clang-14/right.o", 0)
	for _, meeting := range Meetings(m, nil, Kernel{}) {
		if interrupts(meeting.Actors) != 0 {
			continue
		}
		r, err := Run(context.Background(), m, meeting.Actors, Config{Preemptions: 1, Memory: ARM64, Most: 500})
		require.NoError(t, err)
		for _, f := range r.Findings {
			assert.True(t, f.Benign, "%s: %s: %s %+v", meeting.Name, f.Kind, f.Text, f.Sides)
		}
	}
}

func TestTooManyActorsForAModelOfMemory(t *testing.T) {
	m := machineOf(t, "testdata/clang-14/lost.o", 0)
	actors := append(twice("plain"), Actor{Program: "plain", Over: -1})
	_, err := Run(context.Background(), m, actors[:2], Config{Preemptions: 1, Memory: ARM64})
	require.NoError(t, err)
	var many *TooManyActorsError
	_, err = Run(context.Background(), m, actors, Config{Preemptions: 1, Memory: ARM64})
	require.ErrorAs(t, err, &many)
	assert.Equal(t, 2, many.Most)
}
