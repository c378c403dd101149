package report

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/find/race"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
)

// TestAMistakeOfSeveralRacesIsToldOnce: with the names of the others.
func TestAMistakeOfSeveralRacesIsToldOnce(t *testing.T) {
	actors := []race.Actor{{Program: "a", Over: -1}, {Program: "a", Over: -1}}
	found := func(line string, change func(*race.Finding)) race.Finding {
		f := race.Finding{
			Kind: finding.NotSerialisable, Actors: actors, Text: "an update of n is lost", Advice: []string{"one operation"},
			Sides: []race.Side{{Actor: 0, Program: "a", Source: line, What: "reads n = 0"}, {Actor: 1, Program: "a", Source: "a.c:2:1", What: "writes n = 1"}},
		}
		if change != nil {
			change(&f)
		}
		return f
	}
	d := &RaceDocument{}
	add := func(name string, list ...race.Finding) []int {
		return d.Add(race.Meeting{Name: name, Actors: actors}, &race.Report{Actors: actors, Complete: true, Findings: list})
	}
	assert.Equal(t, []int{0, 1}, add("on two CPUs", found("a.c:1:1", nil), found("a.c:9:1", func(f *race.Finding) { f.Assumes = []string{"tasks"} })))
	assert.Equal(t, []int{-1}, add("nested", found("a.c:1:1", nil)))
	assert.Equal(t, []int{-1}, add("nested", found("a.c:1:1", nil)))
	assert.Equal(t, []int{2, 3, 4, 5}, add("others",
		found("a.c:1:1", func(f *race.Finding) { f.Advice = []string{"a lock"} }),
		found("a.c:1:1", func(f *race.Finding) { f.Kind, f.Text = finding.Invariant, "n counts: 1" }),
		found("a.c:1:1", func(f *race.Finding) { f.Kind, f.Text = finding.Invariant, "m counts: 1" }),
		found("a.c:9:1", nil)), "what else is to be done, what does not hold, or less is assumed")
	assert.Equal(t, []string{"nested"}, d.Findings[0].Also)
	assert.Len(t, d.Races, 4)
	var b bytes.Buffer
	assert.NoError(t, WriteRace(&b, d, TableOptions{}))
	assert.Contains(t, b.String(), "  Also:   nested\n")
	assert.Contains(t, b.String(), "6 findings")
}
