package race

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/helpers/deferred"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// fails returns a finding of a kind about a text that is a failure; "" is any.
func fails(list []Finding, kind finding.Kind, text string) bool {
	return slices.ContainsFunc(list, func(f Finding) bool {
		return !f.Benign && (kind == "" || f.Kind == kind) && strings.Contains(f.Text, text)
	})
}

// TestCallbacksMeetPrograms: those that arm them and others, on two CPUs and in the middle of each
// other.
func TestCallbacksMeetPrograms(t *testing.T) {
	mistakes := map[string]struct {
		kind finding.Kind
		text string
	}{
		"counts":        {finding.NotSerialisable, "an update of ticked is lost"},
		"repeat_resets": {finding.NotSerialisable, "before repeats changed it"},
		"refresh":       {finding.NotSerialisable, "because of what it looked up before expire changed it"},
		"work_begins":   {finding.NotSerialisable, "work_packet changes scratch[0] while work uses it"},
	}
	for _, c := range compilers {
		got := findings(t, filepath.Join("testdata", c, "later.o"), Kernel{Version: 6<<16 | 12<<8, Preemptible: true})
		for program, want := range mistakes {
			assert.True(t, fails(got[program], want.kind, want.text), "%s: %s: %v", c, program, texts(got[program]))
		}
		for program, list := range got {
			assert.False(t, strings.HasSuffix(program, "_right") && fails(list, "", ""), "%s: %s: %v", c, program, texts(list))
		}
	}
}

// TestCallbacksByRelease: what waits for a callback that is running.
func TestCallbacksByRelease(t *testing.T) {
	for _, c := range compilers {
		for release, want := range map[uapi.Release][2]bool{ // whether "move" and "crosses" have findings
			uapi.R(5, 15): {false, true}, uapi.R(6, 9): {false, true}, uapi.R(6, 10): {false, false}, uapi.R(7, 0): {true, false},
		} {
			m := machineOf(t, filepath.Join("testdata", c, "later.o"), release)
			var got [2][]Finding
			for i, programs := range [][]string{{"moving_begins", "move"}, {"crosses"}} {
				for _, meeting := range Meetings(m, programs, Kernel{Version: uint32(release) << 8}) {
					r, err := Explore(context.Background(), m, meeting, Config{Preemptions: 2})
					require.NoError(t, err)
					got[i] = append(got[i], r.Findings...)
				}
			}
			const moved = "touch_moved uses moving[7] after move deleted it and its memory became moving[8]"
			assert.Equal(t, want[0], fails(got[0], finding.UseAfterDelete, moved), "%s, Linux %v: %v", c, release, texts(got[0]))
			assert.Equal(t, want[1], fails(got[1], finding.Deadlock, ""), "%s, Linux %v: %v", c, release, texts(got[1]))
		}
	}
}

// TestTaskWorkMeetsPrograms: what a task does when it returns to user space.
func TestTaskWorkMeetsPrograms(t *testing.T) {
	spec, err := testbtf.Load("../../../testdata/btf/linux-7.2.13-amd64.btf.xz") // no earlier one has it
	require.NoError(t, err)
	for _, c := range compilers {
		m := machineOn(t, filepath.Join("testdata", c, "taskwork.o"), loader.NewTarget("7.2", spec))
		assert.Equal(t, []Callback{{"schedules", "resumed", deferred.TaskWork}, {"schedules_right", "resumed_right", deferred.TaskWork}}, Callbacks(m))
		got := findingsOf(t, m, Kernel{Version: m.Linked().Target.Version, Preemptible: true})
		assert.True(t, fails(got["schedules"], finding.NotSerialisable, "an update of works[0].count is lost"), "%s: %v", c, texts(got["schedules"]))
		assert.False(t, fails(got["schedules_right"], "", ""), "%s: %v", c, texts(got["schedules_right"]))
	}
}

// TestAnOrderWithACallbackIsRepeated: its beginning is part of the turns, and so are those of two
// that wait for each other.
func TestAnOrderWithACallbackIsRepeated(t *testing.T) {
	for _, programs := range [][]string{{"counts"}, {"crosses"}} {
		m := machineOf(t, "testdata/clang-19/later.o", uapi.R(6, 6))
		n := 0
		start := m.Snapshot()
		for _, meeting := range Meetings(m, programs, Kernel{Version: 6<<16 | 6<<8}) {
			m.Restore(start)
			if !slices.ContainsFunc(meeting.Actors, func(a Actor) bool { return a.Callback != nil }) {
				continue
			}
			armed, err := Arm(context.Background(), m, meeting.Actors)
			require.NoError(t, err)
			if !armed {
				continue
			}
			r, err := Run(context.Background(), m, meeting.Actors, Config{Preemptions: 2})
			require.NoError(t, err)
			for _, f := range r.Findings {
				if f.Benign {
					continue
				}
				again, err := Replay(context.Background(), m, meeting.Actors, f.Turns, nil)
				require.NoError(t, err, "%s", meeting.Name)
				require.Len(t, again.Findings, 1, "%s: %v", meeting.Name, f.Turns)
				assert.Equal(t, f.Text, again.Findings[0].Text)
				n++
			}
		}
		assert.NotZero(t, n, "%v", programs)
	}
}

// TestWhoDeletesATimerWaits: by release, and by whether a timer's callback deletes.
func TestWhoDeletesATimerWaits(t *testing.T) {
	timer := &Callback{Kind: deferred.Timer}
	for _, tt := range []struct {
		name                    string
		deletes                 Actor
		freesInWork, freesLater bool
		want                    bool
	}{
		{"a program before Linux 6.10", Actor{Over: -1}, false, false, true},
		{"a callback before Linux 6.10", Actor{Over: -1, Callback: timer}, false, false, true},
		{"a program", Actor{Over: -1}, true, false, true},
		{"a callback", Actor{Over: -1, Callback: timer}, true, false, false},
		{"a callback of work", Actor{Over: -1, Callback: &Callback{Kind: deferred.Work}}, true, false, true},
		{"what interrupts the callback before Linux 6.10", Actor{Over: 1, Enters: ByInterrupt}, false, false, false},
		{"what interrupts the callback", Actor{Over: 1, Enters: ByNMI}, true, false, false},
		{"a program from Linux 7.0 on", Actor{Over: -1}, true, true, false},
	} {
		s := &system{actors: []Actor{tt.deletes, {Over: -1, Callback: timer}}, now: make([]progress, 2), freesInWork: tt.freesInWork, freesLater: tt.freesLater}
		s.now[0].next.frees, s.now[0].next.freed = 100, 8
		s.now[1].fires = 104
		assert.Equal(t, tt.want, s.awaits(0), tt.name)
	}
}
