package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/intest"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// TestList lists the tests that `bpfrun test` would run.
type TestList struct {
	Schema string       `json:"schema"`
	Exit   int          `json:"exit"`
	Files  []ListedFile `json:"files"`
}

// VersionDocument is the JSON of `version`.
type VersionDocument struct {
	Schema   string `json:"schema"`
	Exit     int    `json:"exit"`
	Version  string `json:"version"`
	Embedded string `json:"embedded"` // the kernel whose types are in the binary
}

// ListedFile is a scenario file, or an object with tests inside.
type ListedFile struct {
	File   string      `json:"file"`
	Object string      `json:"object"`
	Runs   []ListedRun `json:"runs"`
}

// ListedRun is a run of a scenario file, or a test inside an object.
type ListedRun struct {
	Name string `json:"name"`
	Prog string `json:"prog"`
	// Expects is false for a run that checks only that the program does not fault.
	Expects bool `json:"expects"`
}

// AddScenario adds units of a scenario file.
func (l *TestList) AddScenario(f *scenario.File, units []scenario.Unit) {
	out := ListedFile{File: f.Path, Object: f.Object, Runs: []ListedRun{}}
	for _, u := range units {
		for _, run := range u.Runs() {
			out.Runs = append(out.Runs, ListedRun{run.Name, run.Prog, !run.ExpectsNothing()})
		}
	}
	l.Files = append(l.Files, out)
}

// AddTests adds tests inside an object.
func (l *TestList) AddTests(path string, tests []*intest.Test) {
	out := ListedFile{File: path, Object: path, Runs: []ListedRun{}}
	for _, t := range tests {
		out.Runs = append(out.Runs, ListedRun{t.Name, t.Prog(), true})
	}
	l.Files = append(l.Files, out)
}

// WriteTestList writes the list as text.
func WriteTestList(w io.Writer, l *TestList) error {
	var b strings.Builder
	n := 0
	for _, f := range l.Files {
		visible.Fprintf(&b, "%s (%s)\n", f.File, f.Object)
		for _, r := range f.Runs {
			n++
			text := r.Name
			if r.Prog != r.Name {
				text += " (" + r.Prog + ")"
			}
			if !r.Expects {
				text += ", expects nothing"
			}
			visible.Fprintf(&b, "  %s\n", text)
		}
	}
	visible.Fprintf(&b, "%s in %s\n", many(n, "test"), many(len(l.Files), "file"))
	_, err := io.WriteString(w, b.String())
	return err
}

func many(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// slow is the duration from which a test counts as slow.
const slow = 100 * time.Millisecond

// WriteSlowest names up to most of the slowest tests. Fast tests are left out.
func WriteSlowest(w io.Writer, suites []*Suite, most int) error {
	type timed struct {
		s *Suite
		t *TestCase
	}
	var list []timed
	for _, s := range suites {
		for i := range s.Cases {
			if t := &s.Cases[i]; t.Took >= slow {
				list = append(list, timed{s, t})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b timed) int { return int(b.t.Took - a.t.Took) })
	for i, x := range list[:min(len(list), most)] {
		word := "slowest"
		if i > 0 {
			word = "       "
		}
		if _, err := visible.Fprintf(w, "%s %8.2f ms  %s  %s  %s\n", word, float64(x.t.Took)/1e6, x.s.File, x.t.Name, x.s.Target); err != nil {
			return err
		}
	}
	return nil
}

// MergeSeeds merges suites of the same tests with different seeds into one. A test fails if it
// fails with any seed; the suite shows its first failure, and the seeds with which it failed.
func MergeSeeds(suites []*Suite, seeds []uint64) *Suite {
	out := *suites[0]
	out.Cases = nil
	var failed [][]string // seeds, by case
	out.Took = 0
	for i, s := range suites {
		out.Took += s.Took
		if out.Err == nil {
			out.Err = s.Err
		}
		for j, c := range s.Cases {
			if j == len(out.Cases) {
				out.Cases, failed = append(out.Cases, c), append(failed, nil)
			} else {
				took := out.Cases[j].Took + c.Took
				if len(failed[j]) == 0 && len(c.Failures) > 0 {
					out.Cases[j] = c
				}
				out.Cases[j].Took = took
			}
			if len(c.Failures) > 0 {
				failed[j] = append(failed[j], fmt.Sprint(seeds[i]))
			}
		}
	}
	for j, with := range failed {
		if n := len(with); n > 0 {
			text := strings.Join(with[:min(n, 8)], ", ")
			if n > 8 {
				text += ", ..."
			}
			out.Cases[j].Notes = append(slices.Clone(out.Cases[j].Notes), fmt.Sprintf("failed with %d of %d seeds: %s; shown is --seed %s", n, len(suites), text, with[0]))
		}
	}
	return &out
}
