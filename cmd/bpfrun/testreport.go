package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/app/testrun"
	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// testReport holds the options for reporting test results.
type testReport struct {
	table   report.TableOptions
	took    time.Duration
	seeds   int
	stopped bool // by --fail-fast
}

// testResults are the results of all jobs.
type testResults struct {
	suites                  []*report.Suite
	docs                    report.Documents
	targets, names, objects map[string]bool
}

// reportJobs prints the results of the jobs and the mistakes of the files that could not run, and
// writes the requested reports.
func (c *testCommand) reportJobs(jobs []*testrun.Job, bad *testrun.Mistakes, r testReport) error {
	res := collectResults(jobs, bad, r.seeds)
	mistakes := bad.Err()
	c.code = res.docs.Exit
	if !c.json && len(res.targets) > 0 {
		for _, s := range slices.Collect(byFile(res.suites)) {
			if err := report.WriteSuites(c.stdout, s, r.table); err != nil {
				return err
			}
		}
	}
	covered, err := c.collected.totals()
	if err != nil {
		return err
	}
	for kind, write := range map[string]func(io.Writer) error{
		"html":   func(w io.Writer) error { return report.WriteTestsHTML(w, res.suites, res.docs.Results, covered...) },
		"junit":  func(w io.Writer) error { return report.WriteJUnit(w, res.suites, covered...) },
		"md":     func(w io.Writer) error { return report.WriteTestsMarkdown(w, res.suites, covered...) },
		"github": func(w io.Writer) error { return report.WriteTestAnnotations(w, res.suites) },
	} {
		if err := c.reports.write(kind, write); err != nil {
			return err
		}
	}
	if len(res.targets) == 0 && mistakes != nil {
		return mistaken(bad)
	}
	if c.json {
		return errors.Join(report.WriteJSON(c.stdout, res.docs), c.collected.finish(c.console, c.stderr))
	}
	if err := c.summary(res, r); err != nil {
		return err
	}
	if err := c.collected.finish(c.console, c.stdout); err != nil {
		return err
	}
	if mistakes != nil {
		return mistaken(bad)
	}
	return nil
}

// mistaken returns the error of the files that did not run.
func mistaken(bad *testrun.Mistakes) error {
	if code := bad.Exit(); code != exitcode.Usage {
		return codeError{code, bad.Err()}
	}
	return usageError{bad.Err()}
}

// byFile yields the runs of suites that belong to one file.
func byFile(suites []*report.Suite) func(yield func([]*report.Suite) bool) {
	return func(yield func([]*report.Suite) bool) {
		for len(suites) > 0 {
			n := 1
			for n < len(suites) && suites[n].File == suites[0].File {
				n++
			}
			if !yield(suites[:n]) {
				return
			}
			suites = suites[n:]
		}
	}
}

// collectResults merges the seeds of a file on a target, and adds what kept files from running.
func collectResults(jobs []*testrun.Job, bad *testrun.Mistakes, seeds int) *testResults {
	res := &testResults{
		docs:    report.Documents{Schema: report.Schema, Results: []*report.RunDocument{}},
		targets: map[string]bool{}, names: map[string]bool{}, objects: map[string]bool{},
	}
	for group := range slices.Chunk(jobs, seeds) { // the seeds of one file on one target
		var parts []*report.Suite
		var ran []uint64
		for _, j := range group {
			if j.Err != nil {
				bad.Add(j.Path, j.Err)
			}
			if !j.Ran || j.Err != nil {
				continue
			}
			parts, ran = append(parts, &j.Suite), append(ran, j.Seed)
			res.docs.Exit = exitcode.Worse(res.docs.Exit, j.Suite.Exit)
			res.docs.Results = append(res.docs.Results, j.Doc)
		}
		if len(parts) == 0 {
			continue
		}
		suite := parts[0]
		if seeds > 1 {
			suite = report.MergeSeeds(parts, ran)
		}
		res.suites = append(res.suites, suite)
		res.targets[suite.Target] = true
		if group[0].Scenario != nil {
			res.names[suite.File] = true
		} else {
			res.objects[suite.File] = true
		}
	}
	for _, path := range bad.Paths() {
		err := bad.Of(path)
		res.names[path] = true
		res.suites = append(res.suites, &report.Suite{File: path, Err: err, Exit: exitUsage})
		res.docs.Exit = exitcode.Worse(res.docs.Exit, exitUsage)
		res.docs.Results = append(res.docs.Results, &report.RunDocument{
			Schema: report.Schema, Exit: exitUsage, Error: report.NewError(err), Scenario: path, Programs: []report.Program{},
		})
	}
	return res
}

// summary writes the slowest tests and the last line.
func (c *testCommand) summary(res *testResults, r testReport) error {
	if !c.quiet {
		if err := report.WriteSlowest(c.stdout, res.suites, 3); err != nil {
			return err
		}
	}
	var what []string
	if len(res.names) > 0 || len(res.objects) == 0 {
		what = append(what, count(len(res.names), "scenario file"))
	}
	if len(res.objects) > 0 {
		what = append(what, count(len(res.objects), "object"))
	}
	on := count(len(res.targets), "kernel")
	if r.seeds > 1 {
		on += " with " + count(r.seeds, "seed")
	}
	if r.stopped {
		on += ", stopped at the first failure"
	}
	_, err := visible.Fprintf(c.stdout, "%s on %s: %s in %.2f s\n", strings.Join(what, ", "), on, report.Count(res.suites), r.took.Seconds())
	return err
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
