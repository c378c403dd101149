package race

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/packet"
)

// TestRunsOfASceneMeetWithTheirInputs: each with each, and a mistake that only one of them reaches
// is found with that one, without a search for inputs.
func TestRunsOfASceneMeetWithTheirInputs(t *testing.T) {
	m := machineOf(t, "testdata/clang-19/reach.o", 0)
	input := func(text string) machine.Input {
		frame, err := packet.Parse(text)
		require.NoError(t, err)
		return machine.Input{Packet: frame}
	}
	scene := &Scene{Runs: []Given{{"six", "of_six", input("eth/ip6/udp")}, {"four", "of_six", input("eth/ip/udp")}}}
	var names, found []string
	known := map[string]bool{}
	for _, meeting := range MeetingsOf(m, scene, []string{"of_six"}, Kernel{Version: 6<<16 | 12<<8}) {
		names = append(names, meeting.Name)
		r, err := Explore(context.Background(), m, meeting, Config{Preemptions: 2, Scene: scene})
		require.NoError(t, err)
		for _, f := range r.Findings {
			found = append(found, f.Text)
		}
		again := *r
		r.Drop(known)
		assert.Len(t, r.Findings, len(again.Findings))
		again.Drop(known)
		assert.Empty(t, again.Findings, "%s: known by now", meeting.Name)
	}
	assert.Equal(t, []string{"six and six on two CPUs", "six and four on two CPUs", "four and four on two CPUs"}, names)
	assert.Equal(t, []string{"an update of six is lost: six writes what it computed before six on another CPU changed it"}, found)
}

// TestWrittenRacesAreExploredAsTheyAre: first, from the machine's state after the programs that run
// before.
func TestWrittenRacesAreExploredAsTheyAre(t *testing.T) {
	m := machineOf(t, "testdata/clang-19/reach.o", 0)
	frame, err := packet.Parse("eth/ip6/udp")
	require.NoError(t, err)
	scene := &Scene{Races: []Meeting{{Name: "written", Written: true, Before: []Earlier{{Program: "of_six"}}, Actors: []Actor{
		{Program: "of_six", Over: -1, Input: machine.Input{Packet: frame}}, {Program: "of_six", Over: -1, Input: machine.Input{Packet: frame, CPU: 1}},
	}}}}
	meetings := MeetingsOf(m, scene, []string{"by_rule"}, Kernel{Version: 6<<16 | 12<<8})
	require.Len(t, meetings, 2)
	require.Equal(t, "written", meetings[0].Name)
	r, err := Explore(context.Background(), m, meetings[0], Config{Preemptions: 2, Scene: scene})
	require.NoError(t, err)
	require.NotEmpty(t, r.Findings)
	assert.Equal(t, []string{"of_six"}, r.Findings[0].Before)
	assert.Contains(t, r.Findings[0].Text, "an update of six is lost")
	require.NotEmpty(t, r.Findings[0].Differs)
	assert.Equal(t, "2", r.Findings[0].Differs[0].Here, "one run before")
}
