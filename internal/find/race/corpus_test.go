package race

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// compilers are the directories of the objects.
var compilers = []string{"clang-14", "clang-16", "clang-19"}

// findings explores all meetings of an object and returns what was found, by the programs of the
// meeting.
func findings(t *testing.T, file string, k Kernel) map[string][]Finding {
	t.Helper()
	return findingsOf(t, machineOf(t, file, uapi.ReleaseOf(k.Version)), k)
}

func findingsOf(t *testing.T, m *machine.Machine, k Kernel) map[string][]Finding {
	t.Helper()
	out := map[string][]Finding{}
	meetings := Meetings(m, nil, k)
	require.NotEmpty(t, meetings)
	for _, meeting := range meetings {
		r, err := Explore(context.Background(), m, meeting, Config{Preemptions: 2})
		require.NoError(t, err, meeting.Name)
		assert.True(t, r.Complete, meeting.Name)
		for _, f := range r.Findings {
			for _, a := range meeting.Actors {
				out[a.Program] = append(out[a.Program], f)
			}
		}
	}
	return out
}

// newest is a preemptible kernel on which programs interrupt each other in every way.
var newest = Kernel{Version: 7 << 16, Preemptible: true}

// TestCorrectProgramsHaveNoFinding: each way of sharing memory correctly, by each compiler.
func TestCorrectProgramsHaveNoFinding(t *testing.T) {
	for _, c := range compilers {
		for program, list := range findings(t, filepath.Join("testdata", c, "right.o"), newest) {
			for _, f := range list {
				assert.True(t, f.Benign, "%s, %s: %s: %s %+v", c, program, f.Kind, f.Text, f.Sides)
			}
		}
	}
}

// TestThereAreEnoughCorrectPrograms counts the programs of that test.
func TestThereAreEnoughCorrectPrograms(t *testing.T) {
	text, err := os.ReadFile("testdata/src/right.bpf.c")
	require.NoError(t, err)
	assert.GreaterOrEqual(t, strings.Count(string(text), "\nSEC(\""), 35)
}

// TestMistakesAreFound: each program with one has a finding, by each compiler.
func TestMistakesAreFound(t *testing.T) {
	mistakes := map[string]struct {
		kind finding.Kind
		text string
		todo string // of the first advice; empty for any
	}{
		"lost_update":       {finding.NotSerialisable, "an update of counted is lost", ""},
		"check_then_act":    {finding.NotSerialisable, "because of what it looked up", "add the element with BPF_NOEXIST"},
		"over_limit":        {finding.NotSerialisable, "acts on inside", ""},
		"double_allocation": {finding.NotSerialisable, "an update of next_port is lost", ""},
		"torn_copy":         {finding.NotSerialisable, "from before and after a change", ""},
		"torn_update":       {finding.NotSerialisable, "is a mixture of what", ""},
		"lock_released":     {finding.NotSerialisable, "an update of tokens.packets is lost", ""},
		"with_lock":         {finding.NotSerialisable, "an update of half_locked.bytes is lost", ""},
		"scratch_switch":    {finding.NotSerialisable, "changes scratch_map[0] while", ""},
		"guard_switch":      {finding.NotSerialisable, "changes guard_map[0] while", ""},
		"deadlock_switch":   {finding.Deadlock, "wait for each other", ""},
		"use_deleted":       {finding.UseAfterDelete, "uses moved[7] after move_element deleted it and its memory became moved[8]", ""},
		"take_then_read":    {finding.UseAfterDelete, "uses taken[7] after it deleted it", ""},
		"take_alike":        {finding.UseAfterDelete, "uses alike[7] after it deleted it", "before bpf_map_delete_elem"},
		"takes_two":         {finding.NotSerialisable, "changes next_number because of what it looked up", "look the element up again"},
		"soon_unlink":       {finding.NotSerialisable, "changes soon_map[0] while", ""},
		"double_free":       {finding.NotSerialisable, "because of what it looked up", ""},
	}
	for _, c := range compilers {
		got := findings(t, filepath.Join("testdata", c, "wrong.o"), newest)
		for program, want := range mistakes {
			found := false
			for _, f := range got[program] {
				found = found || f.Kind == want.kind && !f.Benign && strings.Contains(f.Text, want.text) && strings.Contains(f.Advice[0], want.todo)
			}
			assert.True(t, found, "%s: %s: %v", c, program, texts(got[program]))
		}
	}
}

func texts(list []Finding) []string {
	var out []string
	for _, f := range list {
		out = append(out, string(f.Kind)+": "+f.Text)
	}
	return out
}
